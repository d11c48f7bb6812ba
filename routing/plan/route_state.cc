// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/route_state.h"

#include <utility>

namespace fabricd::routing {

RouteState MakeRouteState(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                          std::shared_ptr<const RoutingPlan> plan) {
  return {LinkMap(snapshot, lids), std::move(plan)};
}

}  // namespace fabricd::routing
