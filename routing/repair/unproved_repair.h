// SPDX-License-Identifier: Apache-2.0
// Repair of tables that nobody has proved: of two plans, each in part, or what switches hold
// after a push that was cut short. What they do not serve is repaired, and all of it is proved.
#pragma once

#include <optional>
#include <vector>

#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "routing/plan/route_state.h"
#include "routing/plan/usable.h"
#include "routing/repair/replan.h"

namespace fabricd::routing {

// By source, then destination: the pairs that a path could serve and that no entry serves, without
// exempt ones. Looks at each entry once.
std::vector<ExemptPair> UnservedPairs(const LinkMap& links, const RoutingPlan& plan);

// `links`: of the usable fabric. Where the plan has an order, its entries follow it. nullopt: there
// is no repair that serves all pairs.
std::optional<RouteState> RepairUnproved(const ReplanInput& input, const UsableFabric& usable,
                                         const LinkMap& links, RoutingPlan plan);

}  // namespace fabricd::routing
