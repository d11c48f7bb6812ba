// SPDX-License-Identifier: Apache-2.0
// up_down: every way rises and then falls in one order of the switches, so no credit loop is
// possible on a single lane, whatever the fabric. All pairs of a connected fabric are served,
// switches included. The order is found (order.h), or follows roots given in the options.
#pragma once

#include "routing/plan/engine.h"

namespace fabricd::routing {

class UpDown final : public RoutingEngine {
 public:
  std::string_view name() const override { return kUpDownEngine; }
  [[nodiscard]] absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const override;
};

}  // namespace fabricd::routing
