// SPDX-License-Identifier: Apache-2.0
// min_hop: balanced shortest ways. Serves every connected pair with the fewest hops. Where some
// order of the switches allows a shortest way for every pair (trees of two levels, lines, stars)
// the ways follow it and are free of credit loops; elsewhere only the verifier can tell.
#pragma once

#include "routing/plan/engine.h"

namespace fabricd::routing {

class MinHop final : public RoutingEngine {
 public:
  std::string_view name() const override { return kMinHopEngine; }
  [[nodiscard]] absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const override;
};

}  // namespace fabricd::routing
