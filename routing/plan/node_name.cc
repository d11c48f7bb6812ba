// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/node_name.h"

#include <fmt/format.h>

namespace fabricd::routing {

std::string NodeName(const fabric::Node& node) {
  return fmt::format("{} ({})", node.description.empty() ? "unnamed" : node.description,
                     node.guid());
}
std::string NodeName(const fabric::FabricSnapshot& snapshot, NodeIndex index) {
  const fabric::Node* node = snapshot.node(index);
  return node ? NodeName(*node) : fmt::format("a node that is gone (index {})", index);
}

}  // namespace fabricd::routing
