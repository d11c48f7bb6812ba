// SPDX-License-Identifier: Apache-2.0
// The tables that a predecessor has left, as a plan. A manager that starts again, or takes over
// with the state of another, has no plan before its first one, and the ideal plan may not be what
// its predecessor had kept: paths that work would be moved, or interrupted, on a fabric that
// has not changed. So what the switches hold becomes the plan before.
#pragma once

#include <memory>

#include "routing/plan/route_state.h"
#include "routing/plan/usable.h"
#include "routing/repair/replan.h"

namespace fabricd::routing {

// The tables of ReplanInput::applied. Entries towards LIDs that cannot be reached stay where they
// can do no harm (RoutingPlan::stale). Where the tables do not serve all pairs of the usable
// fabric, the plan is one for the fabric as observed if they serve that, and else they are repaired
// (repair.h): something was lost, or a push was cut short. The order of the switches is that
// of the ideal plan, or another one that the tables follow; where none is found there is none.
// Null: several VLs, Sets whose result is not known, or nothing that can be proved. REQUIRES:
// input.ideal, input.applied.
std::shared_ptr<const RouteState> MakeHeldPlan(const ReplanInput& input,
                                               const UsableFabric& usable);

}  // namespace fabricd::routing
