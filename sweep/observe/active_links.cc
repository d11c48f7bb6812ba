// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/active_links.h"

#include <utility>

namespace fabricd::sweep {

void ActiveLinks::Update(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
  const auto before = std::exchange(snapshot_, std::move(snapshot));
  static const fabric::FabricSnapshot kNothing;
  std::set<NodeIndex> nodes;  // And their neighbours, because a link has two ends.
  snapshot_->ForEachNotShared(before ? *before : kNothing, [&](NodeIndex index) {
    nodes.insert(index);
    for (const fabric::FabricSnapshot* one : {before.get(), snapshot_.get()}) {
      const fabric::Node* node = one == nullptr ? nullptr : one->node(index);
      if (node == nullptr) continue;
      for (const fabric::Port& port : node->ports)
        if (!port.peer.IsNone()) nodes.insert(port.peer.node);
    }
  });
  for (NodeIndex index : nodes) LookAt(index);
}

void ActiveLinks::LookAt(NodeIndex index) {
  inactive_.erase(inactive_.lower_bound({index, PortNum(0)}),
                  inactive_.upper_bound({index, PortNum(255)}));
  const fabric::Node* node = snapshot_->node(index);
  if (node == nullptr) return;
  for (const auto& [ref, port] : node->LinkPorts()) {
    const fabric::Port* peer = port.peer.IsNone() ? nullptr : snapshot_->port(port.peer);
    if (port.IsUp() && peer != nullptr && peer->IsUp() &&
        port.info.port_state != wire::PortState::kActive)
      inactive_.insert(ref);
  }
}

}  // namespace fabricd::sweep
