// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/min_hop.h"

#include <algorithm>
#include <optional>

#include "common/status.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {

namespace {

// An order in which every pair has a way of the fewest hops that rises and then falls: without one,
// the ways between all switches together nearly always make credit loops (on trees of three levels
// they cannot but do: those between two spines of one pod turn at its leaves, in every pod).
std::optional<ChosenOrder> FindOrder(const SwitchGraph& graph, const Levels& levels,
                                     const HopCosts& shortest, PlanBuilder& builder) {
  if (!levels.IsStrict()) return std::nullopt;
  ChosenOrder chosen = builder.ChooseOrder(graph, levels);
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (!std::equal(shortest.TotalRow(s), shortest.TotalRow(s) + graph.size(),
                    chosen.costs.TotalRow(s)))
      return std::nullopt;
  return chosen;
}

}  // namespace

absl::StatusOr<RoutingPlan> MinHop::Compute(const RoutingInput& input) const {
  PlanBuilder builder(input, name());
  for (const SwitchGraph& graph : builder.graphs()) {
    const HopCosts costs = ShortestCosts(graph, {}, builder.parallel());
    if (UnservedPairs(graph, costs) > 0)
      return FailedPrecondition(
          "some ways between switch {} and the {} connected to it take more than {} hops",
          NodeName(input.snapshot, graph.node[0]), graph.size() - 1, HopCosts::kMostHops);
    const Levels levels = builder.FindLevels(graph);
    if (const auto chosen = FindOrder(graph, levels, costs, builder)) {
      WrittenTables& tables = builder.AddTables(graph, levels, chosen->order, chosen->costs);
      builder.BalanceTables(tables, levels, chosen->order, chosen->costs);
      continue;
    }
    builder.AddNote(
        fmt::format("{} switches have no order in which shortest ways rise and then fall: they may "
                    "make credit loops",
                    graph.size()));
    builder.AddTables(graph, levels, {}, costs);
  }
  return builder.Finish();
}

}  // namespace fabricd::routing
