// SPDX-License-Identifier: Apache-2.0
// fat_tree: for trees of any number of levels and any radix, with parallel cables, uneven leaves,
// hosts above the leaves, and whatever is missing or dead. Ways rise and then fall, so one lane
// never deadlocks; every pair that such a way can serve is served, switches included. Intact, the
// tree carries any shift of the hosts without two flows on a link; damaged, only what lost its
// cable goes another way, and loads are balanced (balance.h). Nothing has to be told of roots.
#pragma once

#include "routing/plan/engine.h"

namespace fabricd::routing {

class FatTree final : public RoutingEngine {
 public:
  std::string_view name() const override { return kFatTreeEngine; }
  // kFailedPrecondition: no tree. Too many cables join switches of one rank or pass one over, or
  // hosts have no way by rank to each other; the message names some.
  [[nodiscard]] absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const override;
};

}  // namespace fabricd::routing
