// SPDX-License-Identifier: Apache-2.0
// Faults and drains after which the order of the old plan, or its channel dependencies, serve some
// pair no more: no pair that still has its path may lose it.
#include "routing/repair/hitless_repair.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/graph/fitted_order.h"
#include "routing/repair/consequences.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;

RoutingOptions OneThread(const std::string& engine) {
  RoutingOptions options;
  options.chain = {engine};
  options.threads = 1;
  return options;
}

void CutSome(FaultyFabric& faulty, Rng& rng, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    faulty.Cut(faulty.cables()[rng.Below(faulty.cables().size())]);
}

ReplanResult WholeOver(const AppliedTables& held, const TestFabric& fabric, const Intent& intent,
                       const RoutingOptions& options, std::shared_ptr<const RouteState> before) {
  ReplanInput input{*fabric.snapshot, fabric.lids,       intent,
                    options,          std::move(before), ReplanGoal::kWhole};
  input.applied = &held;
  return Replan(input);
}

// Until nothing is pending. Each plan is expected to serve what it says and to be written without
// taking a working entry away.
std::shared_ptr<const RouteState> Answer(const TestFabric& fabric, const Intent& intent,
                                         const RoutingOptions& options,
                                         std::shared_ptr<const RouteState> before) {
  for (ReplanGoal goal : {ReplanGoal::kUrgent, ReplanGoal::kWhole}) {
    const AppliedTables held = TablesOf(*before->plan);
    ReplanInput input{*fabric.snapshot, fabric.lids, intent, options, before, goal};
    input.applied = &held;
    const ReplanResult result = Replan(input);
    if (!result.after || !result.push) {
      ADD_FAILURE() << "no plan";
      return before;
    }
    EXPECT_NE(result.reached, ReplanGoal::kIdeal);
    EXPECT_TRUE(result.push->hitless) << result.push->why_not;
    EXPECT_EQ(result.push->paths_interrupted, 0u);
    const UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
    const VerifyReport report = Verify(*usable.snapshot, *usable.lids, *result.after->plan);
    EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
    before = result.after;
  }
  EXPECT_TRUE(before->plan->pending.empty());
  return before;
}

TEST(HitlessRepair, ThreeLostCablesOfATorusInterruptNoPair) {
  const RoutingOptions options = OneThread("layered");
  const TestFabric intact = MakeTorus({5, 5}, 1).Build();
  const Intent none;
  const auto before = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(before, nullptr);
  ASSERT_TRUE(before->plan->order.empty());
  size_t other_orders = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(intact, seed);
    Rng rng(seed);
    CutSome(faulty, rng, 3);
    faulty.Apply();
    const auto after = Answer(faulty.now(), none, options, before);
    other_orders += !after->plan->order.empty();
  }
  EXPECT_GT(other_orders, 5u);
}

TEST(HitlessRepair, LostCablesOfATreeInterruptNoPair) {
  const RoutingOptions options = OneThread("fat_tree");
  const TestFabric intact = MakeFatTree(4, 3).Build();
  const Intent none;
  const auto before = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(before, nullptr);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(intact, seed);
    Rng rng(seed);
    CutSome(faulty, rng, 4);
    faulty.Apply();
    Answer(faulty.now(), none, options, before);
  }
}

// The cores above a drained switch keep no link to its pod, and some become local roots. In the pod
// of the highest leaf, paths can move only after the leaf's own table, which a drain does not
// change. There the dry run predicts the interruptions.
TEST(HitlessRepair, ADrainedSwitchOfATreeInterruptsNoMoreThanPredicted) {
  const RoutingOptions options = OneThread("fat_tree");
  const TestFabric fabric = MakeFatTree(4, 3).Build();
  const auto before = Replan({*fabric.snapshot, fabric.lids, {}, options}).after;
  ASSERT_NE(before, nullptr);
  const AppliedTables held = TablesOf(*before->plan);
  size_t hitless = 0, interrupting = 0;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    SCOPED_TRACE(node.index.value());
    Intent drain;
    drain.closed_switches = {node.index};
    const Consequences told =
        Judge({*fabric.snapshot, fabric.lids, options, before, drain, PortRef{}});
    const ReplanResult result = WholeOver(held, fabric, drain, options, before);
    ASSERT_TRUE(result.push.has_value());
    EXPECT_EQ(result.reached, ReplanGoal::kWhole);
    EXPECT_EQ(told.destinations_interrupted, result.push->destinations_interrupted);
    EXPECT_EQ(told.paths_interrupted, result.push->paths_interrupted);
    EXPECT_EQ(told.paths_interrupted == 0, result.push->hitless);
    ++(result.push->hitless ? hitless : interrupting);
  });
  EXPECT_GE(hitless, 18u);
  EXPECT_LE(interrupting, 2u);
}

void ExpectServed(const TestFabric& fabric, const ReplanResult& result) {
  ASSERT_NE(result.after, nullptr);
  const VerifyReport report = Verify(*fabric.snapshot, fabric.lids, *result.after->plan);
  EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
  EXPECT_TRUE(result.after->plan->pending.empty());
}

// Applied entries that prevent a hitless repair stay, and the proof of the rest includes them.
TEST(HitlessRepair, RepairAroundTablesOfAnotherPlanClosesNoCycle) {
  RoutingOptions options = OneThread("layered");
  const TestFabric intact = MakeTorus({5, 5}, 1).Build();
  const Intent none;
  const auto first = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(first, nullptr);
  options.chain = {"up_down"};
  const auto before = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(before, nullptr);
  const AppliedTables held = TablesOf(*first->plan);
  for (uint64_t seed = 24; seed < 34; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(intact, seed);
    Rng rng(seed);
    CutSome(faulty, rng, 2);
    faulty.Apply();
    ExpectServed(faulty.now(), WholeOver(held, faulty.now(), none, options, before));
  }
}

// It comes while cables are lost, so its table, of which nothing is known, may stand in the way.
// Whether the tables lead from a switch to the LID.
bool Leads(const LinkMap& links, const AppliedTables& tables, uint32_t s, uint32_t lid) {
  const LidPlace place = links.place(lid);
  for (uint32_t hops = 0; !place.IsNowhere() && hops < links.size(); ++hops) {
    const Row& row = tables.rows[links.node(s).value()];
    const uint8_t out = lid < row.size() ? row[lid] : kNoRoute;
    if (s == place.at) return out == place.port;
    const FarEnd far = links.far(s, out);
    if (!far.IsSwitch()) return false;
    s = far.head;
  }
  return false;
}

// All switches but one are cut off, go on serving each other by the tables that they hold, and come
// back with these.
void ComeBack(const std::string& engine, const TestFabric& intact) {
  const RoutingOptions options = OneThread(engine);
  const Intent none;
  const auto before = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(before, nullptr);
  const FaultyFabric whole(intact, 0);
  for (NodeIndex alone : whole.switches()) {
    SCOPED_TRACE(::testing::Message() << engine << " " << alone.value());
    FaultyFabric faulty(intact, alone.value());
    for (NodeIndex node : faulty.switches())
      if (node != alone) faulty.Kill(node);
    faulty.Apply();
    const auto without = Answer(faulty.now(), none, options, before);
    faulty.MendAll();
    AppliedTables held = TablesOf(*before->plan);
    held.rows[alone.value()] = *without->plan->rows[alone.value()];
    ReplanInput input{*faulty.now().snapshot, faulty.now().lids, none, options, without,
                      ReplanGoal::kUrgent};
    input.applied = &held;
    const ReplanResult result = Replan(input);
    ASSERT_NE(result.after, nullptr);
    ASSERT_TRUE(result.push.has_value());
    EXPECT_EQ(result.push->paths_interrupted, 0u) << result.push->why_not;
    const LinkMap links(*faulty.now().snapshot, faulty.now().lids);
    size_t kept = 0, moved = 0;
    for (uint32_t s = 0; s < links.size(); ++s)
      for (uint32_t lid = 1; lid < links.lid_end(); ++lid)
        if (Leads(links, held, s, lid))
          ++(result.after->plan->EgressPort(links.node(s), Lid(static_cast<uint16_t>(lid))) ==
                     held.rows[links.node(s).value()][lid]
                 ? kept
                 : moved);
    EXPECT_GT(kept, 0u);
    EXPECT_EQ(moved, 0u);
  }
}

TEST(HitlessRepair, ReturningSwitchesKeepServingEachOtherWithTheirTables) {
  ComeBack("layered", MakeTorus({3, 4}, 1).Build());
  ComeBack("fat_tree", MakeFatTree(4, 3).Build());
  ComeBack("up_down", MakeFatTree(4, 3).Build());
}

TEST(HitlessRepair, ANewSwitchKeepsNothing) {
  const RoutingOptions options = OneThread("layered");
  const TestFabric intact = MakeTorus({5, 5}, 1).Build();
  const Intent none;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(intact, seed);
    Rng rng(seed);
    const NodeIndex last = faulty.switches().back();
    faulty.Kill(last);
    CutSome(faulty, rng, seed % 8);
    faulty.Apply();
    const auto before = Replan({*faulty.now().snapshot, faulty.now().lids, none, options}).after;
    ASSERT_NE(before, nullptr);
    AppliedTables held = TablesOf(*before->plan);
    held.rows.resize(std::min<size_t>(held.rows.size(), last.value()));
    faulty.Revive(last);
    CutSome(faulty, rng, 2);
    faulty.Apply();
    ExpectServed(faulty.now(), WholeOver(held, faulty.now(), none, options, before));
  }
}

// A full plan of another engine on a torus: the entries to withdraw are predicted.
TEST(HitlessRepair, InterruptionsOfAnUpdateArePredicted) {
  const TestFabric fabric = MakeTorus({5, 5}, 1).Build();
  const Intent none;
  uint64_t interrupted = 0;
  for (int lost = 0; lost < 6; ++lost) {
    FaultyFabric faulty(fabric, 1);
    for (int i = 0; i < 4; ++i)
      faulty.Cut(faulty.cables()[static_cast<size_t>(7 * lost + 11 * i) % faulty.cables().size()]);
    faulty.Apply();
    const RoutingOptions first = OneThread("layered"), second = OneThread("up_down");
    const auto before = Replan({*faulty.now().snapshot, faulty.now().lids, none, first}).after;
    ASSERT_NE(before, nullptr);
    const ReplanInput input{*faulty.now().snapshot, faulty.now().lids, none, second, before,
                            ReplanGoal::kIdeal};
    const ReplanResult result = Replan(input);
    ASSERT_NE(result.after, nullptr);
    const PushPlan push = OrderOver(input, *result.after);
    uint64_t taken = 0;
    for (const TableWrite& write : push.writes)
      if (write.withdraw) taken += static_cast<uint64_t>(__builtin_popcountll(write.lids));
    EXPECT_GE(taken, push.paths_interrupted);
    EXPECT_EQ(push.hitless, push.paths_interrupted == 0);
    EXPECT_EQ(push.hitless, push.destinations_interrupted == 0);
    const Consequences told = Judge({*faulty.now().snapshot, faulty.now().lids, second, before,
                                     none, PortRef{}, ReplanGoal::kIdeal});
    EXPECT_EQ(told.destinations_interrupted, push.destinations_interrupted);
    EXPECT_EQ(told.paths_interrupted, push.paths_interrupted);
    interrupted += push.paths_interrupted;
  }
  EXPECT_GT(interrupted, 0u);
}

// A ring of five switches in which paths turn at 1, 2 and 3 only: 4 and 0 are low in the order.
TEST(FitOrder, ProhibitsNoTurnOfPathsWithoutNeed) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  const LinkMap links(*fabric.snapshot, fabric.lids);
  const std::vector<uint32_t> old{4, 0, 1, 2, 3};
  SwitchTurns turns(5);
  turns[1] = {{0, 2}}, turns[2] = {{1, 3}}, turns[3] = {{2, 4}};
  const auto fitted = FitOrder(links, std::vector<uint8_t>(5, 1), turns, old, LinkMap::kNone);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->forbidden, 0u);
  for (uint32_t s : {1u, 2u, 3u})
    EXPECT_FALSE(fitted->position[s] < fitted->position[(s + 4) % 5] &&
                 fitted->position[s] < fitted->position[(s + 1) % 5]);
  size_t summits = 0;
  for (uint32_t s = 0; s < 5; ++s)
    summits += fitted->position[s] > fitted->position[(s + 4) % 5] &&
               fitted->position[s] > fitted->position[(s + 1) % 5];
  EXPECT_EQ(summits, 1u);
}

TEST(FitOrder, CountsProhibitedTurns) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  const LinkMap links(*fabric.snapshot, fabric.lids);
  SwitchTurns turns(5);
  for (uint32_t s = 0; s < 5; ++s)
    turns[s] = {{std::min((s + 4) % 5, (s + 1) % 5), std::max((s + 4) % 5, (s + 1) % 5)}};
  for (uint32_t top = 0; top < 5; ++top) {
    const auto fitted = FitOrder(links, std::vector<uint8_t>(5, 1), turns, {0, 1, 2, 3, 4}, top);
    ASSERT_TRUE(fitted.has_value());
    EXPECT_EQ(fitted->forbidden, 1u);
    EXPECT_EQ(fitted->position[top],
              *std::max_element(fitted->position.begin(), fitted->position.end()));
  }
}

}  // namespace
}  // namespace fabricd::routing
