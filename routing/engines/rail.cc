// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/rail.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "fabric/hosts.h"
#include "fabric/rails.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/engines/core/slots.h"
#include "routing/engines/rail_numbers.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {
namespace {

constexpr size_t kMisplacedInNotes = 20;

void AddNotes(const fabric::Rails& rails, const fabric::FabricSnapshot& snapshot,
              PlanBuilder& builder) {
  size_t fewest = rails.hosts.size(), most = 0;
  for (const fabric::RailUnit& unit : rails.units) {
    fewest = std::min(fewest, unit.hosts.size());
    most = std::max(most, unit.hosts.size());
  }
  builder.AddNote(fmt::format(
      "{} rails ({} to {}) in {} scalable units of {} hosts", rails.names.size(),
      rails.names.front(), rails.names.back(), rails.units.size(),
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most)));
  const size_t shown = std::min(rails.misplaced.size(), kMisplacedInNotes);
  for (size_t i = 0; i < shown; ++i)
    builder.AddNote("misplaced cable: " + fabric::Describe(rails.misplaced[i], rails, snapshot));
  if (shown < rails.misplaced.size())
    builder.AddNote(fmt::format("{} more misplaced cables", rails.misplaced.size() - shown));
}

}  // namespace

absl::StatusOr<RoutingPlan> Rail::Compute(const RoutingInput& input) const {
  const fabric::Rails rails = fabric::FindRails(
      input.snapshot, fabric::FindHosts(input.snapshot, input.options.host_patterns));
  if (rails.empty()) return FailedPrecondition("no rails: {}", rails.why_none);
  PlanBuilder builder(input, name());
  AddNotes(rails, input.snapshot, builder);
  std::vector<Levels> levels;
  std::vector<RailNumbers::Component> components;
  for (const SwitchGraph& graph : builder.graphs()) {
    levels.push_back(builder.FindLevels(graph));
    const Slots slots = builder.FindSlots(graph, levels.back());
    std::vector<uint32_t> up_links;
    for (const SlotClass& of : slots.of) up_links.push_back(of.places());
    components.push_back({&graph, std::move(up_links), TopologicalOrder(graph, levels.back())});
  }
  const RailNumbers numbers(input.snapshot, rails, components);
  for (size_t i = 0; i < components.size(); ++i) {
    const SwitchGraph& graph = *components[i].graph;
    const ChosenOrder chosen = builder.ChooseOrder(graph, levels[i]);
    if (UnservedPairs(graph, chosen.costs) > 0)
      return FailedPrecondition("some ways up to switch {} and down again take more than {} hops",
                                NodeName(input.snapshot, graph.node[chosen.apex]),
                                HopCosts::kMostHops);
    WrittenTables& tables =
        builder.AddTables(graph, levels[i], numbers.Number(i), chosen.order, chosen.costs);
    // What no cable lost keeps its place even where hosts are missing: the load is uneven then, but
    // moving others would let rails meet.
    const bool damaged = std::any_of(tables.moved.begin(), tables.moved.end(),
                                     [](const std::vector<Lid>& moved) { return !moved.empty(); });
    if (damaged) builder.BalanceTables(tables, levels[i], chosen.order, chosen.costs);
  }
  return builder.Finish();
}

}  // namespace fabricd::routing
