// SPDX-License-Identifier: Apache-2.0
// What-if questions: changes to the fabric and to how it is routed, worked out on a published view
// and not carried out. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>

#include "policy/hold.h"
#include "routing/repair/consequences.h"
#include "sweep/interface/view.h"

namespace fabricd::query {

struct WhatIf {
  struct AddedNode {
    std::string name;
    wire::NodeType type = wire::NodeType::kSwitch;
    uint8_t ports = 1;
  };
  // A port of a node of the view, or of added_nodes[added].
  struct AddedEnd {
    NodeIndex node = NodeIndex::None();
    size_t added = 0;
    PortNum port;  // 0: the first that is free.
  };

  std::vector<PortRef> failed_links;  // One end each.
  std::vector<NodeIndex> failed_nodes;
  uint32_t failed_at_random = 0;  // Cables between switches.
  uint64_t seed = 0;
  std::vector<policy::HoldTarget> drained;
  std::vector<AddedNode> added_nodes;
  std::vector<std::pair<AddedEnd, AddedEnd>> added_links;
  // How to route, in place of the view's own options.
  std::optional<routing::RoutingOptions> routing;
};

struct WhatIfAnswer {
  // Of the change that is made at once. None with other options: then nothing hurries.
  std::optional<routing::Consequences> first;
  routing::Consequences settled;  // Of the plan that the engines choose, counted from now.
  uint32_t failed_links = 0, failed_nodes = 0, added_links = 0, added_nodes = 0;
};

// kInvalidArgument: a port that is not there, not free, or has no number; more cables are to fail
// than there are; no LID is left. kUnavailable: the view has no plan for its own fabric.
absl::StatusOr<WhatIfAnswer> Answer(const sweep::FabricView& view, const WhatIf& question);

}  // namespace fabricd::query
