// SPDX-License-Identifier: Apache-2.0
#include "sweep/gone_nodes.h"

#include <fmt/format.h>

#include "fabric/names.h"

namespace fabricd::sweep {

void GoneNodes::Note(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& after) {
  before.ForEachNotShared(after, [&](NodeIndex index) {
    const fabric::Node* was = before.node(index);
    if (after.node(index) != nullptr)
      gone_.erase(index);
    else if (was != nullptr)
      gone_[index] = {was->guid(), fabric::DisplayName(*was)};
  });
}

Guid GoneNodes::GuidOf(NodeIndex node, const fabric::FabricSnapshot& now) const {
  if (const fabric::Node* found = now.node(node)) return found->guid();
  const auto gone = gone_.find(node);
  return gone == gone_.end() ? Guid() : gone->second.guid;
}

std::string GoneNodes::NameOf(PortRef port, const fabric::FabricSnapshot& now) const {
  std::string name = fmt::format("node index {}", port.node);
  if (const fabric::Node* node = now.node(port.node))
    name = fabric::DisplayName(*node);
  else if (const auto gone = gone_.find(port.node); gone != gone_.end())
    name = gone->second.name;
  return port.port == PortNum(0) ? name : fmt::format("{}/{}", name, port.port);
}

}  // namespace fabricd::sweep
