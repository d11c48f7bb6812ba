// SPDX-License-Identifier: Apache-2.0
// RouteState: a plan with the fabric it was made for.
#pragma once

#include <memory>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

// Kept from one plan to the next. Copies share.
struct RouteState {
  LinkMap links;
  std::shared_ptr<const RoutingPlan> plan;
  // The ideal plan of the fabric before it lost what it lacks now, faults and intents alike, to
  // which routes are to come back. Null: this one is.
  std::shared_ptr<const RouteState> home = nullptr;
};
// Looks at the whole fabric: for the plans of engines. REQUIRES: the plan was made for this
// snapshot and these LIDs, and proved.
RouteState MakeRouteState(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                          std::shared_ptr<const RoutingPlan> plan);

}  // namespace fabricd::routing
