// SPDX-License-Identifier: Apache-2.0
// Loads against packets followed one pair at a time, and the bound against the loads.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "routing/graph/graph.h"
#include "routing/graph/levels.h"
#include "routing/quality/link_load.h"
#include "routing/quality/load_bound.h"
#include "tests/unit/routing/draw.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

struct Expected {
  std::map<Channel, uint32_t> pairs;
  uint64_t unreached = 0;
};

// Every ordered pair of host end ports of one graph, one walk each.
Expected WalkAllPairs(const TestFabric& fabric, const SwitchGraph& graph, const RoutingPlan& plan) {
  Expected expected;
  for (const EndPort& from : graph.ends)
    for (const EndPort& to : graph.ends) {
      if (!from.IsHost() || !to.IsHost() || &from == &to) continue;
      const Walk walk = Follow(*fabric.snapshot, plan, graph.node[from.at], Lid(to.base_lid));
      expected.unreached += walk.end != to.owner;
      for (Channel channel : walk.channels) ++expected.pairs[channel];
    }
  return expected;
}

// The pairs of a walk that ends nowhere still load the cables it takes, unless it goes in circles.
void ExpectEqual(const TestFabric& fabric, const RoutingPlan& plan) {
  Parallel parallel(2);
  for (const SwitchGraph& graph : BuildGraphs(*fabric.snapshot, fabric.lids)) {
    const Expected expected = WalkAllPairs(fabric, graph, plan);
    const LinkLoad load = AllToAllLoad(graph, plan, parallel);
    EXPECT_EQ(load.unreached_pairs, expected.unreached);
    uint32_t most = 0;
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (uint32_t i = 0; i < graph.degree(s); ++i) {
        const Neighbor& to = graph.neighbor(s, i);
        for (uint32_t c = to.first_cable; c < to.first_cable + to.cable_count; ++c) {
          const auto found = expected.pairs.find({graph.node[s], PortNum(graph.cables[c].port)});
          const uint32_t wanted = found == expected.pairs.end() ? 0 : found->second;
          ASSERT_EQ(load.cable[c], wanted);
          most = std::max(most, wanted);
        }
      }
    EXPECT_EQ(load.max, most);
  }
}

FabricMaker DrawMaker() {
  return testing::DrawMaker({*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 3)});
}

TEST(LinkLoad, CountsThePairsThatTakeEachCable) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 3)));
    for (const char* engine : {"up_down", "min_hop"}) {
      RoutingPlan plan = Route(fabric, engine);
      ExpectEqual(fabric, plan);
      plan.order.clear();
      ExpectEqual(fabric, plan);
    }
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST(LinkLoad, CountsTablesThatDoNotFollowTheirOrder) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build();
    RoutingPlan plan = Route(fabric, "min_hop");
    plan.order = Route(fabric, "up_down").order;
    ExpectEqual(fabric, plan);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST(LinkLoad, CountsUnservedPairs) {
  FabricMaker maker = MakeFatTree(4, 2);
  const TestFabric fabric = maker.Build();
  RoutingPlan plan = Route(fabric, "up_down");
  Rng rng(3);
  for (auto& row : plan.rows) {
    if (!row) continue;
    Row holes = *row;
    for (uint32_t lid = 1; lid < holes.size(); ++lid)
      if (rng.Chance(0.1)) holes.Set(lid, rng.Chance(0.5) ? kNoRoute : 200);
    row = std::make_shared<Row>(std::move(holes));
  }
  ExpectEqual(fabric, plan);
}

TEST(LinkLoad, FindsForwardingLoops) {
  const TestFabric fabric = MakeRing(3, 1).Build();
  RoutingPlan plan = Route(fabric, "up_down");
  const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
  const SwitchGraph& graph = graphs[0];
  const EndPort host = *std::find_if(graph.ends.begin(), graph.ends.end(),
                                     [](const EndPort& end) { return end.IsHost(); });
  for (uint32_t s = 0; s < graph.size(); ++s) {
    Row row = *plan.rows[graph.node[s].value()];
    for (uint32_t i = 0; i < graph.degree(s); ++i)
      if (graph.neighbor(s, i).head == (s + 1) % 3)
        row.Set(host.base_lid, graph.cables[graph.neighbor(s, i).first_cable].port);
    plan.rows[graph.node[s].value()] = std::make_shared<Row>(std::move(row));
  }
  Parallel parallel(1);
  EXPECT_EQ(AllToAllLoad(graph, plan, parallel).unreached_pairs, 2u);
}

TEST(LinkLoad, IsOneValueForAnyThreadCount) {
  FabricMaker maker = MakeFatTree(8, 3);
  maker.RemoveCable(maker.cable_count() - 3);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, "up_down");
  const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
  Parallel one(1), four(4);
  EXPECT_EQ(AllToAllLoad(graphs[0], plan, one).cable, AllToAllLoad(graphs[0], plan, four).cable);
  const Levels levels = FindLevels(graphs[0]);
  Order order(graphs[0].size());
  for (uint32_t s = 0; s < graphs[0].size(); ++s) order[s] = plan.order[graphs[0].node[s].value()];
  const LoadBound a = BoundLoad(graphs[0], levels, order, one);
  const LoadBound b = BoundLoad(graphs[0], levels, order, four);
  EXPECT_EQ(a.cut, b.cut);
  EXPECT_EQ(a.dual, b.dual);
}

TEST(LinkLoad, CountsWithoutAWalkWhereTablesFollowTheirOrder) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build();
    const RoutingPlan plan = Route(fabric, "up_down");
    Parallel parallel(1);
    for (const SwitchGraph& graph : BuildGraphs(*fabric.snapshot, fabric.lids))
      RC_ASSERT(AllToAllLoad(graph, plan, parallel).walked_destinations == 0u);
  }));
}

TEST(LoadBound, IsTheLoadOfAnIntactTree) {
  const TestFabric fabric = MakeFatTree(8, 3).Build();
  const RoutingPlan plan = Route(fabric, "up_down");
  const std::vector<SwitchGraph> graphs = BuildGraphs(*fabric.snapshot, fabric.lids);
  Parallel parallel(2);
  const Levels levels = FindLevels(graphs[0]);
  const LoadBound bound = BoundLoad(graphs[0], levels, {}, parallel);
  // A leaf's 4 hosts send to 124 others over 4 cables, a pod's 16 to 112 over 16.
  EXPECT_EQ(bound.cut, 124);
  EXPECT_LE(bound.dual, 124);
  EXPECT_EQ(AllToAllLoad(graphs[0], plan, parallel).max, 124u);
}

TEST(LoadBound, IsNeverAboveTheLoadOfTables) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build();
    const RoutingPlan ordered = Route(fabric, "up_down"), free = Route(fabric, "min_hop");
    Parallel parallel(1);
    uint32_t position = 0;
    for (const SwitchGraph& graph : BuildGraphs(*fabric.snapshot, fabric.lids)) {
      Order order(graph.size());
      for (uint32_t s = 0; s < graph.size(); ++s)
        order[s] = ordered.order[graph.node[s].value()] - position;
      position += graph.size();
      const Levels levels = FindLevels(graph);
      RC_ASSERT(BoundLoad(graph, levels, order, parallel).value() <=
                AllToAllLoad(graph, ordered, parallel).max);
      RC_ASSERT(BoundLoad(graph, levels, {}, parallel).value() <=
                AllToAllLoad(graph, free, parallel).max);
    }
  }));
}

}  // namespace
}  // namespace fabricd::routing
