// SPDX-License-Identifier: Apache-2.0
// routing/engines/layered: the engine for any connected graph, on one VL or more.
//
// layered: shortest, balanced ways on any connected graph, spread over as many lanes as it takes
// that none of them can deadlock (lane_paths.h). A tree needs one. Where the options or the fabric
// have fewer lanes than shortest ways need, ways are grown within the lanes that there are
// (escape_paths.h), at the price of load. The notes say how many lanes would be needed.
//
// More than one lane is safe only for clients that take their SL from the SA (DESIGN §7).
#pragma once

#include "routing/plan/engine.h"

namespace fabricd::routing {

class Layered final : public RoutingEngine {
 public:
  std::string_view name() const override { return kLayeredEngine; }
  [[nodiscard]] absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const override;
};

}  // namespace fabricd::routing
