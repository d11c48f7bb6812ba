// SPDX-License-Identifier: Apache-2.0
// Tried when the plan of least change does not serve all pairs: another order of the switches that
// the tables can be moved to without cutting off any pair (docs/ROUTING.md argues when there is
// one). A full plan, which may interrupt pairs for a moment, comes only after this.
//
// Several orders are tried (other_orders.h), those first that forbid the least of what packets do.
// For each the entries that the order forbids and those that are broken are made by it; where
// push_plan.h can write that, it is the result. Where entries stand in the way they stay as they
// are, and what is broken is mended by channel dependencies (channel_repair.h): a plan without an
// order.
//
// Pure. The same input gives the same bytes whatever the number of threads. Bounded: orders, and
// the work of the push of each.
#pragma once

#include <memory>

#include "routing/plan/usable.h"
#include "routing/repair/replan.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

// How the tables that switches hold (ReplanInput::applied; null: those of the plan before) take
// `after`. REQUIRES: applied or before.
PushPlan OrderOver(const ReplanInput& input, const RouteState& after);

struct HitlessResult {
  std::shared_ptr<const RouteState> after;  // Null: none was found, or there is nothing to mend.
  uint64_t paths_interrupted = 0;           // By its push (PushPlan); the fewest that were found.
};
// What comes back is proved and serves all pairs.
HitlessResult RepairHitlessly(const ReplanInput& input, const UsableFabric& usable);

}  // namespace fabricd::routing
