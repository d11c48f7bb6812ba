// SPDX-License-Identifier: Apache-2.0
// Repair of tables that were never proved: parts of two plans, or what switches hold after a push
// that was cut short. Pairs that are not served are repaired, and the whole plan is proved.
#pragma once

#include <optional>

#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "routing/plan/route_state.h"
#include "routing/plan/usable.h"
#include "routing/repair/replan.h"

namespace fabricd::routing {

// `links`: of the usable fabric. Where the plan has an order, its entries follow it. nullopt: there
// is no repair that serves all pairs, or more than a million are not served.
std::optional<RouteState> RepairUnproved(const ReplanInput& input, const UsableFabric& usable,
                                         const LinkMap& links, RoutingPlan plan);

}  // namespace fabricd::routing
