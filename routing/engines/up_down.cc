// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/up_down.h"

#include <algorithm>

#include "common/status.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {
namespace {

std::vector<uint32_t> RootsIn(const SwitchGraph& graph, const fabric::FabricSnapshot& snapshot,
                              const std::vector<Guid>& wanted) {
  std::vector<uint32_t> roots;
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (std::find(wanted.begin(), wanted.end(), snapshot.node(graph.node[s])->guid()) !=
        wanted.end())
      roots.push_back(s);
  return roots;
}

void NoteMissingRoots(const RoutingInput& input, PlanBuilder& builder) {
  for (Guid guid : input.options.roots) {
    const fabric::Node* node = input.snapshot.FindNode(guid);
    if (!node || !node->IsSwitch())
      builder.AddNote(fmt::format("root {} is not a switch of this fabric", guid));
  }
}

}  // namespace

absl::StatusOr<RoutingPlan> UpDown::Compute(const RoutingInput& input) const {
  PlanBuilder builder(input, name());
  NoteMissingRoots(input, builder);
  for (const SwitchGraph& graph : builder.graphs()) {
    const std::vector<uint32_t> roots = RootsIn(graph, input.snapshot, input.options.roots);
    const Levels levels = roots.empty() ? builder.FindLevels(graph) : LevelsFromRoots(graph, roots);
    const ChosenOrder chosen = builder.ChooseOrder(graph, levels, !roots.empty());
    const std::string apex = NodeName(input.snapshot, graph.node[chosen.apex]);
    if (UnservedPairs(graph, chosen.costs) > 0)
      return FailedPrecondition("some ways up to switch {} and down again take more than {} hops",
                                apex, HopCosts::kMostHops);
    if (graph.size() > 1)
      builder.AddNote(
          fmt::format("{} switches in {} order, {} on top", graph.size(), chosen.kind, apex));
    WrittenTables& tables = builder.AddTables(graph, levels, chosen.order, chosen.costs);
    builder.BalanceTables(tables, levels, chosen.order, chosen.costs);
  }
  return builder.Finish();
}

}  // namespace fabricd::routing
