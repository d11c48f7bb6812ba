// SPDX-License-Identifier: Apache-2.0
// Balanced tables: loads by link_load.h, which its own test holds against walks of every pair.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "routing/engines/core/balance.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/graph/order.h"
#include "routing/quality/link_load.h"
#include "routing/quality/load_bound.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

FabricMaker Damaged(FabricMaker maker, double chance, uint64_t seed) {
  Rng rng(seed);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(chance)) maker.RemoveCable(cable);
  return maker;
}

FabricMaker DrawMaker() {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return Damaged(MakeFatTree(2 * *rc::gen::inRange(2, 5), *rc::gen::inRange(2, 4)), 0.1, seed);
    case 1:
      return Damaged(MakeTree({{*rc::gen::inRange(1, 9), 1},
                               {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4), 2},
                               {*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4), 3}}),
                     0.15, seed);
    case 2:
      return MakeTorus({*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5)}, *rc::gen::inRange(0, 4));
    default:
      return MakeRandom(*rc::gen::inRange(1, 14), *rc::gen::inRange(0, 40),
                        *rc::gen::inRange(0, 40), seed);
  }
}

// The closed form's tables and what Balance makes of them.
struct Balanced {
  RoutingPlan plain, plan;
  std::vector<BalanceReport> reports;  // By graph.
};
Balanced BalanceAll(const TestFabric& fabric, int threads = 1) {
  RoutingOptions options;
  options.threads = threads;
  const RoutingInput input{*fabric.snapshot, fabric.lids, options, nullptr};
  Balanced result;
  for (const bool balance : {false, true}) {
    PlanBuilder builder(input, "test");
    for (const SwitchGraph& graph : builder.graphs()) {
      const Levels levels = FindLevels(graph);
      const ChosenOrder chosen = builder.ChooseOrder(graph, levels);
      WrittenTables& tables = builder.AddTables(graph, levels, chosen.order, chosen.costs);
      if (balance)
        result.reports.push_back(Balance(graph, levels, chosen.order, chosen.costs,
                                         BalancePolicy::kAllToAll, tables.rows,
                                         builder.parallel()));
    }
    (balance ? result.plan : result.plain) = builder.Finish();
  }
  return result;
}

TEST(Balance, NeverRaisesTheHighestLoadAndKeepsThePlanValid) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 3)));
    const Balanced balanced = BalanceAll(fabric);
    RC_ASSERT(Judge(fabric, balanced.plan).faults == std::vector<std::string>{});
    Parallel parallel(1);
    const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
    for (size_t i = 0; i < graphs.size(); ++i) {
      const LinkLoad before = AllToAllLoad(graphs[i], balanced.plain, parallel);
      const LinkLoad after = AllToAllLoad(graphs[i], balanced.plan, parallel);
      RC_ASSERT(after.max <= before.max);
      RC_ASSERT(after.unreached_pairs == before.unreached_pairs);
      const BalanceReport& report = balanced.reports[i];
      RC_ASSERT(report.tried <= kMostTrials);
      if (report.moved == 0) continue;
      RC_ASSERT(report.before == before.max);
      RC_ASSERT(report.after == after.max);
      RC_ASSERT(report.bound <= after.max);
    }
  }));
}

TEST(Balance, KeepsDifferentPathsToTheLidsOfOnePort) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric =
        Damaged(MakeFatTree(6, 2), 0.1, *rc::gen::arbitrary<uint64_t>()).Build(1);
    const Balanced balanced = BalanceAll(fabric);
    const auto count_equal = [&](const RoutingPlan& plan) {
      uint32_t equal = 0;
      for (const SwitchGraph& graph : BuildGraphs(*fabric.snapshot, fabric.lids))
        for (const NodeIndex node : graph.node)
          for (const EndPort& end : graph.ends)
            if (end.lmc == 1)
              equal += plan.EgressPort(node, Lid(end.base_lid)) ==
                       plan.EgressPort(node, Lid(static_cast<uint16_t>(end.base_lid + 1)));
      return equal;
    };
    RC_ASSERT(count_equal(balanced.plan) <= count_equal(balanced.plain));
  }));
}

// One of two parallel leaf-spine cables is lost: the other must not carry the load of both.
TEST(Balance, SpreadsTheLoadOfALostParallelCable) {
  FabricMaker maker = MakeTree({{16, 1}, {16, 8, 2}});
  size_t lost = 0;
  while (!maker.IsSwitchCable(lost)) ++lost;
  maker.RemoveCable(lost);
  const TestFabric fabric = maker.Build();
  const Balanced balanced = BalanceAll(fabric);
  const BalanceReport& report = balanced.reports[0];
  EXPECT_EQ(report.bound, 16 * 240 / 15.0);
  EXPECT_GT(report.before, 1.8 * report.bound);
  EXPECT_LE(report.after, kGoodLoad * report.bound);
}

TEST(Balance, MovesNothingOfAnIntactTree) {
  for (const FabricMaker& maker :
       {MakeFatTree(8, 2), MakeFatTree(6, 3), MakeTree({{8, 1}, {8, 4, 2}, {4, 2, 4}}),
        // Half as many hosts as cables up: their own cables carry as much in any case.
        MakeTree({{4, 1}, {8, 8}})}) {
    const Balanced balanced = BalanceAll(maker.Build());
    EXPECT_EQ(balanced.reports[0].moved, 0u);
  }
}

TEST(ClosedFormSuffices, OnlyWhereAllIsEven) {
  const auto suffices = [](const FabricMaker& maker) {
    const TestFabric fabric = maker.Build();
    const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
    return ClosedFormSuffices(graphs[0], FindLevels(graphs[0]));
  };
  EXPECT_TRUE(suffices(MakeFatTree(8, 3)));
  EXPECT_TRUE(suffices(MakeTree({{8, 1}, {8, 4, 2}, {4, 2, 4}})));
  // Eight hosts take three cables in uneven turns.
  EXPECT_FALSE(suffices(MakeTree({{8, 1}, {8, 3}})));
  EXPECT_FALSE(suffices(Damaged(MakeFatTree(8, 3), 0.01, 1)));
  EXPECT_FALSE(suffices(MakeRing(4, 2)));
}

TEST(Balance, IsTheSameForAnyThreadCount) {
  const TestFabric fabric = Damaged(MakeTree({{8, 1}, {8, 4, 2}, {4, 2, 4}}), 0.1, 5).Build();
  const Balanced one = BalanceAll(fabric, 1), four = BalanceAll(fabric, 4);
  EXPECT_GT(one.reports[0].moved, 0u);
  EXPECT_EQ(ByGuid(fabric, one.plan), ByGuid(fabric, four.plan));
}

}  // namespace
}  // namespace fabricd::routing
