// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/gone_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "fabric/names.h"
#include "fabric/port_name.h"

namespace fabricd::sweep {

namespace {

std::vector<policy::HeldPort> PeersOf(const fabric::Node& node,
                                      const fabric::FabricSnapshot& snapshot) {
  std::vector<policy::HeldPort> peers;
  for (const fabric::Port& port : node.ports)
    if (const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node))
      peers.push_back({peer->guid(), port.peer.port});
  return peers;
}

}  // namespace

std::vector<GoneNodes::Change> GoneNodes::Note(const fabric::FabricSnapshot& before,
                                               const fabric::FabricSnapshot& after, Instant now) {
  std::vector<Change> changes;
  before.ForEachNotShared(after, [&](NodeIndex index) {
    const fabric::Node* was = before.node(index);
    if (const fabric::Node* is = after.node(index)) {
      gone_.erase(index);
      if (was == nullptr)
        changes.push_back({index, Change::What::kAppeared});
      else if (was->unresponsive != is->unresponsive)
        changes.push_back(
            {index, is->unresponsive ? Change::What::kUnresponsive : Change::What::kResponds});
    } else if (was != nullptr) {
      gone_[index] = {fabric::DisplayName(*was),
                      {was->guid(), was->IsSwitch(), was->description, PeersOf(*was, before), now}};
      changes.push_back({index, Change::What::kVanished});
    }
  });
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.node < b.node; });
  return changes;
}

std::vector<policy::GoneNode> GoneNodes::List() const {
  std::vector<policy::GoneNode> list;
  for (const auto& [index, gone] : gone_) list.push_back(gone.node);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return list;
}

Guid GoneNodes::GuidOf(NodeIndex node, const fabric::FabricSnapshot& now) const {
  if (const fabric::Node* found = now.node(node)) return found->guid();
  const auto gone = gone_.find(node);
  return gone == gone_.end() ? Guid() : gone->second.node.node;
}

std::string GoneNodes::NameOf(PortRef port, const fabric::FabricSnapshot& now) const {
  std::string name = fmt::format("node index {}", port.node);
  if (const fabric::Node* node = now.node(port.node))
    name = fabric::DisplayName(*node);
  else if (const auto gone = gone_.find(port.node); gone != gone_.end())
    name = gone->second.name;
  return fabric::EndName(name, port.port);
}

}  // namespace fabricd::sweep
