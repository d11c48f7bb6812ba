// SPDX-License-Identifier: Apache-2.0
// routing/engines: the engines, and the chain that tries them in turn.
//
// rail: routing of rail-optimised trees. As fat_tree, but all HCAs of a host share one node index,
// so each rail is spread over its links alike, whatever the other rails lack (rail_numbers.h).
#pragma once

#include "routing/plan/engine.h"

namespace fabricd::routing {

class Rail : public RoutingEngine {
 public:
  std::string_view name() const override { return kRailEngine; }
  // Fails where no two hosts have HCAs on the same two switches or more (fabric/rails.h).
  absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const override;
};

}  // namespace fabricd::routing
