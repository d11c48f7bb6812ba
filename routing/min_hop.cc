// SPDX-License-Identifier: Apache-2.0
#include "routing/min_hop.h"

#include "common/status.h"
#include "routing/hop_costs.h"
#include "routing/levels.h"
#include "routing/node_name.h"
#include "routing/plan_builder.h"

namespace fabricd::routing {

absl::StatusOr<RoutingPlan> MinHop::Compute(const RoutingInput& input) const {
  PlanBuilder builder(input, name());
  for (const SwitchGraph& graph : builder.graphs()) {
    const HopCosts costs = ShortestCosts(graph, {}, builder.parallel());
    if (UnservedPairs(graph, costs) > 0)
      return FailedPrecondition(
          "some ways between switch {} and the {} connected to it take more than {} hops",
          NodeName(input.snapshot, graph.node[0]), graph.size() - 1, HopCosts::kMostHops);
    builder.AddTables(graph, FindLevels(graph), {}, costs);
  }
  return builder.Finish();
}

}  // namespace fabricd::routing
