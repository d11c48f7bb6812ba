// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/fat_tree.h"

#include <string>

#include <fmt/format.h>

#include "common/status.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {
namespace {

// With more than one cable in so many inside a rank or past one, ranks do not describe the fabric.
constexpr size_t kOneIn = 4;
constexpr size_t kNamed = 3;
// Pairs of hosts that ranks may leave unserved in a tree.
constexpr uint64_t kBearableOneIn = 10;

// Some of the cables that do not lead to a neighbouring rank, by name.
std::string OddCables(const SwitchGraph& graph, const Levels& levels,
                      const fabric::FabricSnapshot& snapshot) {
  std::string names;
  size_t named = 0;
  for (uint32_t s = 0; s < graph.size(); ++s)
    for (uint32_t i = 0; i < graph.degree(s) && named < kNamed; ++i) {
      const uint32_t head = graph.neighbor(s, i).head;
      const uint32_t low = levels.rank[s], high = levels.rank[head];
      // Each pair from its lower end.
      if (high < low || high == low + 1 || (high == low && head < s)) continue;
      names += fmt::format("{}{} - {}", named++ ? ", " : "", NodeName(snapshot, graph.node[s]),
                           NodeName(snapshot, graph.node[head]));
    }
  return names;
}

// Pairs of hosts, by their switches, that the costs leave without a way.
struct Unserved {
  uint64_t pairs = 0;
  uint32_t from = 0, to = 0;  // The first pair of switches.
};
Unserved FindUnserved(const SwitchGraph& graph, const HopCosts& costs) {
  Unserved unserved;
  for (uint32_t s = 0; s < graph.size(); ++s)
    for (uint32_t d = 0; d < graph.size() && graph.hosts[s] > 0; ++d) {
      if (graph.hosts[d] == 0 || costs.TotalRow(s)[d] != HopCosts::kNoWay) continue;
      if (unserved.pairs == 0) unserved = {0, s, d};
      unserved.pairs += uint64_t{graph.hosts[s]} * graph.hosts[d];
    }
  return unserved;
}

absl::Status CheckIsTree(const SwitchGraph& graph, const Levels& levels, const ChosenOrder& chosen,
                         const fabric::FabricSnapshot& snapshot, Parallel& parallel) {
  const size_t odd = levels.same_rank_links + size_t{levels.skip_links};
  const size_t cables = graph.cables.size() / 2;  // Each is in the lists of both ends.
  if (odd * kOneIn > cables)
    return FailedPrecondition(
        "no tree: {} of {} cables between switches join two of one rank or pass a rank over ({})",
        odd, cables, OddCables(graph, levels, snapshot));
  uint64_t hosts = 0, above = 0;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    hosts += graph.hosts[s];
    above += levels.rank[s] > 0 ? graph.hosts[s] : 0;
  }
  if (above * kOneIn <= hosts && chosen.kind != "root") return {};
  // Many hosts above the leaves, or an order by distance from one switch that serves what ranks do
  // not: as it is with grids. A tree that lost much has a few such pairs.
  const HopCosts by_rank = OrderedCosts(graph, LevelOrder(levels), {}, parallel);
  const Unserved unserved = FindUnserved(graph, by_rank);
  const uint64_t bearable = levels.IsStrict() ? hosts * hosts / kBearableOneIn : 0;
  if (unserved.pairs <= bearable) return {};
  return FailedPrecondition(
      "no tree: {} pairs of hosts have no way up and down by rank, such as those on {} and on {}",
      unserved.pairs, NodeName(snapshot, graph.node[unserved.from]),
      NodeName(snapshot, graph.node[unserved.to]));
}

}  // namespace

absl::StatusOr<RoutingPlan> FatTree::Compute(const RoutingInput& input) const {
  PlanBuilder builder(input, name());
  for (const SwitchGraph& graph : builder.graphs()) {
    const Levels levels = builder.FindLevels(graph);
    const ChosenOrder chosen = builder.ChooseOrder(graph, levels);
    const absl::Status tree =
        CheckIsTree(graph, levels, chosen, input.snapshot, builder.parallel());
    if (!tree.ok()) return tree;
    const std::string apex = NodeName(input.snapshot, graph.node[chosen.apex]);
    if (UnservedPairs(graph, chosen.costs) > 0)
      return FailedPrecondition("some ways up to switch {} and down again take more than {} hops",
                                apex, HopCosts::kMostHops);
    if (graph.size() > 1)
      builder.AddNote(fmt::format("{} switches in {} levels, {} order with {} on top", graph.size(),
                                  levels.top + 1, chosen.kind, apex));
    WrittenTables& tables = builder.AddTables(graph, levels, chosen.order, chosen.costs);
    builder.BalanceTables(tables, levels, chosen.order, chosen.costs);
  }
  return builder.Finish();
}

}  // namespace fabricd::routing
