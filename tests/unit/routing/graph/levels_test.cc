// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/levels.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "routing/engines/core/slots.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/order.h"
#include "tests/support/fabrics.h"

namespace fabricd::routing {
namespace {

using testing::FabricMaker;
using testing::MakeFatTree;
using testing::MakeTree;
using testing::TestFabric;

SwitchGraph OnlyGraph(const FabricMaker& maker) {
  const TestFabric fabric = maker.Build();
  auto graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
  EXPECT_EQ(graphs.size(), 1u);
  return std::move(graphs[0]);
}

// MakeTree adds switches level by level from the leaves, so ranks rise with the number.
TEST(Levels, OfAFullTree) {
  const SwitchGraph graph = OnlyGraph(MakeFatTree(4, 3));  // 8 leaves, 8 above, 4 cores.
  const Levels levels = FindLevels(graph);
  EXPECT_TRUE(levels.IsStrict());
  EXPECT_EQ(levels.top, 2u);
  for (uint32_t s = 0; s < graph.size(); ++s)
    EXPECT_EQ(levels.rank[s], s < 8 ? 0u : s < 16 ? 1u : 2u) << s;
}

TEST(Levels, SpineWithAFewHostsIsNoLeaf) {
  FabricMaker maker;  // 4 leaves of 4 hosts, 2 spines, a host on one of them.
  for (int s = 0; s < 6; ++s) maker.AddSwitch(8);
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    for (int h = 0; h < 4; ++h) maker.Host(leaf);
    maker.Cable(leaf, 4);
    maker.Cable(leaf, 5);
  }
  maker.Host(4);
  const Levels levels = FindLevels(OnlyGraph(maker));
  EXPECT_EQ(levels.rank, (std::vector<uint32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(levels.IsStrict());
}

TEST(Levels, LinkBetweenLeavesIsNotStrict) {
  FabricMaker maker;
  for (int s = 0; s < 3; ++s) maker.AddSwitch(8);
  for (size_t leaf : {0u, 1u}) {
    maker.Host(leaf);
    maker.Host(leaf);
    maker.Cable(leaf, 2);
  }
  maker.Cable(0, 1);
  const Levels levels = FindLevels(OnlyGraph(maker));
  EXPECT_EQ(levels.same_rank_links, 1u);
  EXPECT_FALSE(levels.IsStrict());
}

TEST(Levels, WithoutHostsStillFound) {
  FabricMaker maker;
  for (int s = 0; s < 3; ++s) maker.AddSwitch(4);
  maker.Cable(0, 1);
  maker.Cable(1, 2);
  const Levels levels = FindLevels(OnlyGraph(maker));
  EXPECT_EQ(levels.rank, (std::vector<uint32_t>{0, 1, 0}));
}

TEST(Levels, FromRootsCountDown) {
  FabricMaker maker;
  for (int s = 0; s < 4; ++s) maker.AddSwitch(4);
  for (size_t s = 0; s < 3; ++s) maker.Cable(s, s + 1);
  const Levels levels = LevelsFromRoots(OnlyGraph(maker), {1});
  EXPECT_EQ(levels.rank, (std::vector<uint32_t>{1, 2, 1, 0}));
}

TEST(Levels, TopologicalOrderKeepsSubtreesTogether) {
  const SwitchGraph graph = OnlyGraph(MakeFatTree(4, 3));
  const auto order = TopologicalOrder(graph, FindLevels(graph));
  ASSERT_EQ(order.size(), 16u + 20u);  // Hosts, then switches.
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(order[i].index, i);
    EXPECT_NE(order[i].port, 0);
    EXPECT_EQ(order[i].at, i / 2);
  }
  for (uint32_t i = 16; i < order.size(); ++i) EXPECT_EQ(order[i].port, 0);
  EXPECT_EQ(order[16].index, 0u);
}

TEST(Slots, DivisorsMultiplyUpTheTree) {
  const SwitchGraph graph = OnlyGraph(MakeTree({{4, 1}, {4, 2, 2}, {3, 4}}));
  const Levels levels = FindLevels(graph);
  const Slots slots = SlotsOf(graph, FindGroups(graph, levels, nullptr));
  EXPECT_EQ(slots.of[0], (SlotClass{1, 2, 2}));  // A leaf: two parents by two cables each.
  uint32_t middle = 0;
  while (levels.rank[middle] != 1) ++middle;
  EXPECT_EQ(slots.of[middle], (SlotClass{2, 4, 1}));
  EXPECT_EQ(slots.of[graph.size() - 1].width, 0u);  // Cores have no parents.
}

TEST(Slots, MissingCableLeavesAGap) {
  FabricMaker maker = MakeTree({{2, 1}, {4, 4}});  // 4 leaves, 4 spines.
  for (size_t cable = 0; cable < maker.cable_count(); ++cable)
    if (maker.IsSwitchCable(cable)) {
      maker.RemoveCable(cable);  // Leaf 0 to the first spine.
      break;
    }
  const SwitchGraph graph = OnlyGraph(maker);
  const Slots slots = SlotsOf(graph, FindGroups(graph, FindLevels(graph), nullptr));
  ASSERT_EQ(slots.of[0].width, 4u);
  EXPECT_EQ(slots.neighbor[slots.first[0]], Slots::kHole);
  EXPECT_NE(slots.neighbor[slots.first[0] + 1], Slots::kHole);
  EXPECT_NE(slots.neighbor[slots.first[1]], Slots::kHole);
}

TEST(Order, LevelsLeaveCorePairsUnservedAndAConeServesThem) {
  const SwitchGraph graph = OnlyGraph(MakeFatTree(4, 3));
  const Levels levels = FindLevels(graph);
  Parallel parallel(1);
  EXPECT_GT(UnservedPairs(graph, OrderedCosts(graph, LevelOrder(levels), {}, parallel)), 0u);
  EXPECT_EQ(UnservedPairs(graph, OrderedCosts(graph, ConeOrder(graph, levels, 0), {}, parallel)),
            0u);
  EXPECT_EQ(UnservedPairs(graph, OrderedCosts(graph, RootOrder(graph, 17), {}, parallel)), 0u);
}

TEST(Order, LeafOnTopCarriesLessThanCoreOnTop) {
  const SwitchGraph graph = OnlyGraph(MakeFatTree(6, 3));
  const Levels levels = FindLevels(graph);
  Parallel parallel(2);
  const auto peak = [&](const Order& order) {
    return EstimatePeakLoad(graph, order, OrderedCosts(graph, order, {}, parallel), parallel);
  };
  const double cone = peak(ConeOrder(graph, levels, 0));
  // 54 hosts, 3 a leaf: each of its 3 cables carries all others once.
  EXPECT_NEAR(cone, 51, 1e-6);
  EXPECT_GT(peak(RootOrder(graph, graph.size() - 1)), 2 * cone);
}

TEST(HopCosts, ShortestMatchesARing) {
  const SwitchGraph graph = OnlyGraph(testing::MakeRing(7, 1));
  Parallel parallel(1);
  const HopCosts costs = ShortestCosts(graph, {}, parallel);
  for (uint32_t a = 0; a < 7; ++a)
    for (uint32_t b = 0; b < 7; ++b) {
      const uint32_t apart = a > b ? a - b : b - a;
      EXPECT_EQ(costs.TotalRow(a)[b], std::min(apart, 7 - apart));
    }
}

}  // namespace
}  // namespace fabricd::routing
