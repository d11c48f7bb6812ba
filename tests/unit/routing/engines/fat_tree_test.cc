// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/fat_tree.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "routing/graph/order.h"
#include "routing/quality/quality.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<RoutingPlan> TryFatTree(const TestFabric& fabric) {
  return FatTree().Compute({*fabric.snapshot, fabric.lids, RoutingOptions{}});
}

FabricMaker Without(FabricMaker maker, double chance, uint64_t seed) {
  Rng rng(seed);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(chance)) maker.RemoveCable(cable);
  return maker;
}

Quality Measure(const TestFabric& fabric, const RoutingPlan& plan) {
  Parallel parallel(1);
  const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
  return MeasureQuality(graphs[0], plan, nullptr, QualityOptions{}, parallel);
}

TEST(FatTree, EveryShiftOfAnIntactTreeHasNoContention) {
  for (const FabricMaker& maker : {MakeFatTree(8, 2), MakeFatTree(6, 3), MakeFatTree(4, 4),
                                   MakeTree({{8, 1}, {8, 4, 2}, {4, 4, 4}})}) {
    const TestFabric fabric = maker.Build();
    const RoutingPlan plan = Route(fabric, "fat_tree");
    EXPECT_EQ(Measure(fabric, plan).shift.max, 1u);
    EXPECT_TRUE(Judge(fabric, plan).ok);
    EXPECT_TRUE(plan.exempt.empty());
  }
}

TEST(FatTree, ServesEveryPairOfADamagedTree) {
  EXPECT_TRUE(rc::check([] {
    const int half = *rc::gen::inRange(2, 5);
    const FabricMaker whole = *rc::gen::inRange(0, 2) == 0
                                  ? MakeFatTree(2 * half, *rc::gen::inRange(2, 4))
                                  : MakeTree({{3, 1}, {3, 2, 2}, {3, half, 2}});
    const double chance = *rc::gen::inRange(0, 20) / 100.0;
    const TestFabric fabric = Without(whole, chance, *rc::gen::arbitrary<uint64_t>()).Build();
    const auto plan = TryFatTree(fabric);
    if (!plan.ok()) {
      // So much is gone that the ranks have changed.
      RC_ASSERT(std::string(plan.status().message()).find("no tree") == 0);
      RC_TAG("no tree");
      return;
    }
    RC_ASSERT(plan->exempt.empty());
    RC_ASSERT(UnreachablePairs(fabric, *plan) == 0u);
    RC_ASSERT(!HasCreditLoop(fabric, *plan));
    RC_ASSERT(Judge(fabric, *plan).ok);
  }));
}

TEST(FatTree, StaysATreeWithOneCableLost) {
  const FabricMaker whole = MakeTree({{4, 1}, {4, 2, 2}, {3, 4, 2}});
  for (size_t cable = 0; cable < whole.cable_count(); ++cable) {
    if (!whole.IsSwitchCable(cable)) continue;
    FabricMaker maker = whole;
    maker.RemoveCable(cable);
    const TestFabric fabric = maker.Build();
    const RoutingPlan plan = Route(fabric, "fat_tree");
    EXPECT_TRUE(Judge(fabric, plan).ok);
    EXPECT_LE(Measure(fabric, plan).shift.max, 3u);
  }
}

TEST(FatTree, TakesHostsOnSpines) {
  FabricMaker maker;
  const size_t core = maker.AddSwitch(8);
  for (int i = 0; i < 3; ++i) {
    const size_t leaf = maker.AddSwitch(8);
    for (int host = 0; host < 4; ++host) maker.Host(leaf);
    maker.Cable(core, leaf);
  }
  maker.Host(core);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, "fat_tree");
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

std::string WhyNot(const FabricMaker& maker) {
  const auto plan = TryFatTree(maker.Build());
  if (plan.ok()) return "";
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(plan.status().message());
}

TEST(FatTree, DeclinesNonTreesAndNamesTheReason) {
  EXPECT_THAT(WhyNot(MakeRing(3, 2)),
              AllOf(HasSubstr("1 of 3 cables between switches join two of one rank"),
                    HasSubstr("(sw1 (0x"), HasSubstr(" - sw2 (0x")));
  // Every cable joins neighbouring ranks here, but half of the hosts are above the leaves.
  EXPECT_THAT(WhyNot(MakeTorus({4, 4}, 2)), AllOf(HasSubstr("pairs of hosts have no way"),
                                                  HasSubstr("such as those on sw0 (0x")));
}

TEST(FatTree, BalancesByPolicy) {
  FabricMaker maker = MakeTree({{16, 1}, {16, 8, 2}});
  size_t lost = 0;
  while (!maker.IsSwitchCable(lost)) ++lost;
  maker.RemoveCable(lost);
  const TestFabric fabric = maker.Build();
  RoutingOptions options;
  const RoutingPlan all_to_all = Route(fabric, "fat_tree", options);
  options.balance = BalancePolicy::kShift;
  const RoutingPlan shift = Route(fabric, "fat_tree", options);
  const Quality a = Measure(fabric, all_to_all), b = Measure(fabric, shift);
  EXPECT_LE(a.all_to_all.max, 1.12 * a.all_to_all.lower_bound);
  EXPECT_GT(b.all_to_all.max, 1.8 * b.all_to_all.lower_bound);
  EXPECT_EQ(b.shift.max, 2u);
  EXPECT_LE(b.shift.mean_max, a.shift.mean_max);
}

TEST(FatTree, IsTheSameForAnyThreadCountAndOrderOfInput) {
  const FabricMaker maker = Without(MakeTree({{8, 1}, {8, 4, 2}, {4, 2, 4}}), 0.05, 3);
  RoutingOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const TestFabric fabric = maker.Build(), shuffled = maker.Build(0, 7);
  const PortsByGuid expected = ByGuid(fabric, Route(fabric, "fat_tree", one));
  EXPECT_EQ(ByGuid(fabric, Route(fabric, "fat_tree", four)), expected);
  EXPECT_EQ(ByGuid(shuffled, Route(shuffled, "fat_tree", one)), expected);
}

// With any one cable lost there is a subtree that all cores still reach. At the top of the order it
// serves all pairs of switches and makes no path between hosts longer.
TEST(ChooseOrder, PutsASubtreeOnTopThatAllCoresReach) {
  FabricMaker maker = MakeFatTree(8, 3);
  Parallel parallel(1);
  for (size_t cable = maker.cable_count(); cable-- > 0;) {
    if (!maker.IsSwitchCable(cable)) continue;
    FabricMaker damaged = maker;
    damaged.RemoveCable(cable);
    const TestFabric fabric = damaged.Build();
    const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
    const ChosenOrder chosen = ChooseOrder(graphs[0], FindLevels(graphs[0]), false, {}, parallel);
    EXPECT_EQ(chosen.kind, "cone");
    EXPECT_EQ(UnservedPairs(graphs[0], chosen.costs), 0u);
    const HopCosts by_level =
        OrderedCosts(graphs[0], LevelOrder(FindLevels(graphs[0])), {}, parallel);
    for (uint32_t s = 0; s < graphs[0].size(); ++s)
      for (uint32_t d = 0; d < graphs[0].size(); ++d)
        if (graphs[0].hosts[s] > 0 && graphs[0].hosts[d] > 0) {
          ASSERT_LE(chosen.costs.TotalRow(s)[d], by_level.TotalRow(s)[d]);
        }
  }
}

}  // namespace
}  // namespace fabricd::routing
