// SPDX-License-Identifier: Apache-2.0
#include "fabric/snapshot.h"

#include <tuple>

namespace fabricd::fabric {

const Node* FabricSnapshot::FindNode(Guid node_guid) const {
  const NodeIndex index = FindIndex(node_guid);
  return index.IsNone() ? nullptr : node(index);
}

NodeIndex FabricSnapshot::FindIndex(Guid node_guid) const {
  if (!index_by_guid_) return NodeIndex::None();
  const auto it = index_by_guid_->find(node_guid);
  return it == index_by_guid_->end() ? NodeIndex::None() : it->second;
}

PortRef FabricSnapshot::FindPort(Guid port_guid) const {
  if (!port_by_guid_ || !port_guid) return {};
  const auto it = port_by_guid_->find(port_guid);
  if (it == port_by_guid_->end()) return {};
  // The map is only ever added to, so it may name a port that is gone or has another GUID by now.
  const Port* found = port(it->second);
  return found && found->guid == port_guid ? it->second : PortRef{};
}

bool SameNodes(const FabricSnapshot& a, const FabricSnapshot& b) {
  const auto identity = [](const Node& node) {
    return std::tie(node.info.node_guid, node.info.system_image_guid, node.info.node_type,
                    node.info.num_ports, node.description);
  };
  bool same = a.node_index_end() == b.node_index_end();
  a.ForEachNotShared(b, [&](NodeIndex index) {
    const Node* of_a = a.node(index);
    const Node* of_b = b.node(index);
    same = same && of_a && of_b && identity(*of_a) == identity(*of_b);
  });
  return same;
}

bool HasUnknownNeighbours(const FabricSnapshot& snapshot) {
  bool has = false;
  snapshot.ForEachNode([&](const Node& node) {
    for (const auto& [ref, port] : node.LinkPorts())
      has = has || (node.IsSwitch() && port.LeadsToUnknown());
  });
  return has;
}

}  // namespace fabricd::fabric
