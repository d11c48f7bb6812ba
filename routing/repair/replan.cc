// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/replan.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"
#include "routing/graph/graph.h"
#include "routing/plan/parallel.h"
#include "routing/quality/link_load.h"
#include "routing/repair/held_plan.h"
#include "routing/repair/hitless_repair.h"
#include "routing/repair/ideal_plan.h"
#include "routing/repair/stale_lids.h"
#include "routing/transition/common_order.h"
#include "routing/transition/trees_fit.h"

namespace fabricd::routing {
namespace {

// How many times lower the highest load must be for a plan with another order to be settled for.
constexpr double kWorthAnotherOrder = 1.25;

std::shared_ptr<const RouteState> HomeOf(const std::shared_ptr<const RouteState>& state) {
  return state && state->home ? state->home : state;
}

// Whether there is a plan to mend whose engine is still wanted.
bool MayMend(const ReplanInput& input, const std::shared_ptr<const RouteState>& before) {
  const auto& chain = input.options.chain;
  return before && std::find(chain.begin(), chain.end(), before->plan->engine) != chain.end();
}

// From `before`. Null: there is none.
std::shared_ptr<const RouteState> LeastChangeOf(const std::shared_ptr<const RouteState>& before,
                                                const ReplanInput& input,
                                                const UsableFabric& usable, bool urgent) {
  if (!MayMend(input, before)) return nullptr;
  RepairOptions options = RepairOptionsFor(input, usable);
  options.urgent = urgent;
  options.applied = input.applied;
  auto repair = RepairPlan(*before, *usable.snapshot, *usable.lids, options);
  if (!repair.ok()) return nullptr;
  repair->after.home = HomeOf(before);
  return std::make_shared<const RouteState>(std::move(repair->after));
}
// The links that there are, whether or not they may be used.
LinkMap Observed(const ReplanInput& input, const RouteState& after) {
  if (input.intent.empty()) return after.links;
  LinkChanges unused;
  return after.links.Next(input.snapshot, input.lids, unused);
}

// Of ports that no route may lead to, be they there or not; sorted.
std::vector<Lid> IsolatedLids(const ReplanInput& input) {
  std::vector<Lid> lids;
  for (PortRef port : input.intent.isolated) {
    const fabric::LidRange range = input.lids.Of(port);
    for (uint32_t i = 0; range.base && i < range.count(); ++i)
      lids.push_back(Lid(static_cast<uint16_t>(range.base.value() + i)));
  }
  std::sort(lids.begin(), lids.end());
  return lids;
}

// Whether the links keep their directions, or get back those that a least change has turned.
bool KeepsOrder(const RouteState& before, const RouteState& after) {
  if (HaveCommonOrder(before, after)) return true;
  if (before.plan->unturned_order.empty()) return false;
  auto plan = std::make_shared<RoutingPlan>(*before.plan);
  plan->order = std::move(plan->unturned_order);
  return HaveCommonOrder({before.links, std::move(plan)}, after);
}

bool IsLoadedFarMore(const ReplanInput& input, const UsableFabric& usable, const RoutingPlan& plan,
                     const RoutingPlan& other) {
  Parallel parallel(input.options.threads);
  for (const SwitchGraph& graph : BuildGraphs(*usable.snapshot, *usable.lids))
    if (AllToAllLoad(graph, plan, parallel).max >
        kWorthAnotherOrder * AllToAllLoad(graph, other, parallel).max)
      return true;
  return false;
}

// Whether what was there before faults and intents can be taken again, once they have ended,
// without taking any way away for a moment.
bool LeadsHome(const ReplanInput& input, const RouteState& state) {
  if (!state.home || HaveCommonOrder(state, *state.home)) return true;
  const AppliedTables held = TablesOf(*state.plan);
  const RouteState& home = *state.home;
  return OrderPush({home.links, held, state.plan.get(), *home.plan, input.options.threads}).hitless;
}

// Whether the tables are those of the plan before, with nothing on its way.
bool Hold(const AppliedTables& tables, const RoutingPlan& plan) {
  if (!tables.unsure.empty()) return false;
  for (size_t i = 0; i < plan.rows.size(); ++i)
    if (plan.rows[i] && !(i < tables.rows.size() && tables.rows[i] == *plan.rows[i])) return false;
  return true;
}

// The least change, or else one that moves more and interrupts fewer paths, none if possible: of
// what was there before all faults and intents, from where the path back is free, or by another
// order. A least change keeps what the plan before has proved; that says nothing of tables that are
// still those of another plan, nor of switches that are closed, which forward by old tables.
std::shared_ptr<const RouteState> Mend(const ReplanInput& input, const UsableFabric& usable,
                                       bool urgent) {
  if (!MayMend(input, input.before)) return nullptr;
  HitlessResult best;
  best.after = LeastChangeOf(input.before, input, usable, urgent);
  // What is whole may turn the order.
  if (!best.after && urgent) best.after = LeastChangeOf(input.before, input, usable, false);
  const bool is_clear =
      usable.closed.empty() && (!input.applied || Hold(*input.applied, *input.before->plan));
  if (best.after && is_clear) return best.after;
  if (best.after) best.paths_interrupted = OrderOver(input, *best.after).paths_interrupted;
  const auto is_found = [&] { return best.after && best.paths_interrupted == 0; };
  const auto offer = [&](HitlessResult other) {
    const bool fewer = !best.after || other.paths_interrupted < best.paths_interrupted;
    if (other.after && fewer) best = std::move(other);
  };
  if (!is_found() && input.before->home) {
    auto from_home = LeastChangeOf(input.before->home, input, usable, false);
    const uint64_t paths = from_home ? OrderOver(input, *from_home).paths_interrupted : 0;
    offer({std::move(from_home), paths});
  }
  if (!is_found()) offer(RepairHitlessly(input, usable));
  return std::move(best.after);
}

// Quality is not worth a way that is gone for a moment: what serves all stays. Nor is it worth
// another order from which there is no free way back, unless there is much of it. Where both
// interrupt paths, as when what must be left stands in the way, it is the fewer that count.
// REQUIRES: result.push.
void KeepUnlessHitless(const ReplanInput& input, const UsableFabric& usable, ReplanResult& result) {
  const PushPlan& push = *result.push;
  if (push.hitless && (KeepsOrder(*input.before, *result.after) || LeadsHome(input, *result.after)))
    return;
  auto least = Mend(input, usable, false);
  if (!least || !least->plan->pending.empty()) return;
  PushPlan push_of_least = OrderOver(input, *least);
  if (push_of_least.paths_interrupted > 0 &&
      push_of_least.paths_interrupted >= push.paths_interrupted)
    return;
  if (input.trees && !HasRoomForTrees(*usable.snapshot, *usable.lids, *least->plan)) return;
  if (push.hitless && IsLoadedFarMore(input, usable, *least->plan, *result.after->plan)) return;
  result.after = std::move(least);
  result.reached = ReplanGoal::kWhole;
  result.put_off = push.hitless ? "the ideal one needs another order and spreads load little better"
                                : push.why_not;
  result.push = std::move(push_of_least);
}

std::shared_ptr<const RouteState> StateOf(const IdealPlan& ideal, const ReplanInput& input,
                                          const UsableFabric& usable) {
  RouteState after = *ideal.wanted;
  // Once all is there that there was, what is ideal for that is where routes come back to.
  const auto home = HomeOf(input.before);
  if (home && ideal.whole && !HasAllLinks(ideal.whole->links, home->links))
    after.home = home;
  else if (ideal.whole != ideal.wanted)
    after.home = ideal.whole;
  if (input.before)
    KeepStaleLids(*input.before->plan, Observed(input, after), usable.cut, IsolatedLids(input),
                  after);
  if (input.applied && fabric::HasUnknownNeighbours(input.snapshot))
    KeepHeldLids(*input.applied, Observed(input, after), usable.cut, IsolatedLids(input), after);
  return std::make_shared<const RouteState>(std::move(after));
}

// What remembers the plan before may be out of reach of the tables where what a fresh start gives
// is not. REQUIRES: result.push.
void TryWithoutMemory(const ReplanInput& input, const UsableFabric& usable, ReplanResult& result) {
  if (result.push->hitless || input.ideal) return;
  ReplanInput fresh = input;
  fresh.before = nullptr;
  const IdealPlan ideal = FindIdealPlan(fresh, usable);
  if (!ideal.wanted) return;
  auto other = StateOf(ideal, input, usable);
  PushPlan push = OrderOver(input, *other);
  if (!push.hitless) return;
  result.after = std::move(other);
  result.push = std::move(push);
}

void Compute(const ReplanInput& input, const UsableFabric& usable, ReplanResult& result) {
  if (input.goal <= ReplanGoal::kWhole) {
    result.after = Mend(input, usable, input.goal == ReplanGoal::kUrgent);
    const bool waits = result.after && !result.after->plan->pending.empty();
    result.reached = waits ? ReplanGoal::kUrgent : ReplanGoal::kWhole;
    if (result.after) return;
  }
  result.reached = ReplanGoal::kIdeal;
  IdealPlan ideal =
      input.ideal ? IdealPlan{input.ideal, HomeOf(input.ideal), {}} : FindIdealPlan(input, usable);
  result.steps = std::move(ideal.steps);
  if (!ideal.wanted) {
    if (input.goal > ReplanGoal::kWhole) result.after = Mend(input, usable, false);
    return;
  }
  result.after = StateOf(ideal, input, usable);
  if (!input.before || !input.applied || input.goal != ReplanGoal::kIdealIfHitless) return;
  result.push = OrderOver(input, *result.after);
  TryWithoutMemory(input, usable, result);
  KeepUnlessHitless(input, usable, result);
}

// The tables of a predecessor as the plan before.
ReplanInput WithHeldPlan(const ReplanInput& input) {
  ReplanInput adopting = input;
  if (input.ideal && input.applied && !input.before && input.goal != ReplanGoal::kIdeal)
    adopting.before = MakeHeldPlan(input, MakeUsable(input.snapshot, input.lids, input.intent));
  return adopting;
}

ReplanResult ReplanAsWanted(const ReplanInput& input) {
  const UsableFabric usable = MakeUsable(input.snapshot, input.lids, input.intent);
  ReplanResult result;
  result.needed_links = usable.needed_links;
  result.needed_switches = usable.needed_switches;
  Compute(input, usable, result);
  if (!input.applied || !input.wants_push || !result.after)
    result.push.reset();
  else if (!result.push)
    result.push = OrderOver(input, *result.after);
  return result;
}

bool IsRow(const Row& row, const std::shared_ptr<const Row>& other) {
  if (!other) return false;
  Row same_size = row;
  same_size.Resize(other->size(), kNoRoute);
  return same_size == *other;
}

// Switches that do not respond, whose table the plan would change. An adopted plan may have been
// repaired, so the plan is compared with what they hold.
std::vector<NodeIndex> UnwritableChanges(const ReplanInput& input, const ReplanResult& result) {
  std::vector<NodeIndex> switches;
  if (!input.before || !result.after) return switches;
  if (result.after == input.before && !result.adopted) return switches;
  const RoutingPlan &before = *input.before->plan, &after = *result.after->plan;
  input.snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !node.unresponsive || !after.HasRow(node.index)) return;
    const size_t row = node.index.value();
    bool same = false;
    if (result.adopted)
      same = row < input.applied->rows.size() && IsRow(input.applied->rows[row], after.rows[row]);
    else
      same = before.HasRow(node.index) &&
             (before.rows[row] == after.rows[row] || *before.rows[row] == *after.rows[row]);
    if (!same) switches.push_back(node.index);
  });
  return switches;
}

}  // namespace

// A table that cannot be written stays as it is, and paths that would need other entries lead
// around its switch. Where nothing else connects, the switch gets its entries when it responds
// again.
ReplanResult Replan(const ReplanInput& wanted) {
  const ReplanInput input = WithHeldPlan(wanted);
  ReplanResult result = ReplanAsWanted(input);
  if (!wanted.before) result.adopted = input.before;
  const std::vector<NodeIndex> unwritable = UnwritableChanges(input, result);
  if (unwritable.empty()) return result;
  fabric::Intent intent = input.intent;
  intent.avoided_switches.insert(intent.avoided_switches.end(), unwritable.begin(),
                                 unwritable.end());
  SortUnique(intent.avoided_switches);
  ReplanResult around =
      ReplanAsWanted({input.snapshot, input.lids, intent, input.options, input.before, input.goal,
                      input.applied, input.wants_push, input.trees});
  if (!around.after) return result;
  around.adopted = std::move(result.adopted);
  around.needed_links = std::move(result.needed_links);
  around.needed_switches = std::move(result.needed_switches);
  return around;
}

RepairOptions RepairOptionsFor(const ReplanInput& input, const UsableFabric& usable) {
  RepairOptions options;
  options.urgent = false;
  options.threads = input.options.threads;
  options.cut = usable.cut;
  options.observed = &input.snapshot;
  options.trees = input.trees;
  return options;
}

}  // namespace fabricd::routing
