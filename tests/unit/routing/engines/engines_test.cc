// SPDX-License-Identifier: Apache-2.0
// min_hop and up_down on fabrics whose right answer can be seen by eye or counted by brute force.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

class BothEngines : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, BothEngines, ::testing::Values("min_hop", "up_down"));

std::vector<uint8_t> Ports(const RoutingPlan& plan, NodeIndex node, Lid base, int count) {
  std::vector<uint8_t> ports;
  for (int i = 0; i < count; ++i)
    ports.push_back(plan.EgressPort(node, Lid(static_cast<uint16_t>(base.value() + i))));
  return ports;
}

TEST_P(BothEngines, OneSwitch) {
  FabricMaker maker;
  const size_t sw = maker.AddSwitch(36), a = maker.AddHost(2), dark = maker.AddHost();
  maker.Cable(sw, 17, a, 2);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  EXPECT_EQ(plan.engine, GetParam());
  EXPECT_EQ(plan.EgressPort(fabric.node[sw], fabric.LidOf(sw, 0)), 0);
  EXPECT_EQ(plan.EgressPort(fabric.node[sw], fabric.LidOf(a, 2)), 17);
  EXPECT_EQ(plan.EgressPort(fabric.node[sw], fabric.LidOf(a, 1)), kNoRoute);
  EXPECT_EQ(plan.EgressPort(fabric.node[sw], fabric.LidOf(dark, 1)), kNoRoute);
  EXPECT_EQ(plan.EgressPort(fabric.node[sw], Lid(0)), kNoRoute);
  EXPECT_FALSE(plan.HasRow(fabric.node[a]));
  EXPECT_EQ(plan.rows[fabric.node[sw].value()]->size(), 64u);
  EXPECT_EQ(plan.lid_top, fabric.lids.top());
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

TEST_P(BothEngines, NoSwitchAtAll) {
  FabricMaker maker;
  const size_t a = maker.AddHost();
  maker.Cable(a, maker.AddHost());
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  EXPECT_THAT(plan.rows, Each(nullptr));
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

TEST_P(BothEngines, RowsAreWholeBlocksAboveTheTopLid) {
  FabricMaker maker;
  const size_t sw = maker.AddSwitch(64);
  for (int i = 0; i < 63; ++i) maker.Host(sw);
  const TestFabric fabric = maker.Build();
  ASSERT_EQ(fabric.lids.top(), Lid(64));
  EXPECT_EQ(Route(fabric, GetParam()).rows[fabric.node[sw].value()]->size(), 128u);
}

TEST_P(BothEngines, PortsOf64AreUsed) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(64), b = maker.AddSwitch(64), host = maker.AddHost();
  maker.Cable(a, 64, b, 64);
  maker.Cable(b, 63, host, 1);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  EXPECT_EQ(plan.EgressPort(fabric.node[a], fabric.LidOf(host, 1)), 64);
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

TEST_P(BothEngines, ConnectedComponentsHaveNoRoutesToEachOther) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(4), b = maker.AddSwitch(4);
  const size_t near = maker.Host(a), far = maker.Host(b);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  EXPECT_EQ(plan.EgressPort(fabric.node[a], fabric.LidOf(near, 1)), 1);
  EXPECT_EQ(plan.EgressPort(fabric.node[a], fabric.LidOf(far, 1)), kNoRoute);
  EXPECT_EQ(plan.EgressPort(fabric.node[a], fabric.LidOf(b, 0)), kNoRoute);
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

TEST_P(BothEngines, ParallelCablesShareTheHosts) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(36), b = maker.AddSwitch(36);
  for (int i = 0; i < 4; ++i) maker.Cable(a, b);
  std::vector<size_t> hosts;
  for (int i = 0; i < 12; ++i) hosts.push_back(maker.Host(b));
  for (int i = 0; i < 12; ++i) maker.Host(a);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  std::map<uint8_t, int> used;
  for (size_t host : hosts) ++used[plan.EgressPort(fabric.node[a], fabric.LidOf(host, 1))];
  EXPECT_EQ(used, (std::map<uint8_t, int>{{1, 3}, {2, 3}, {3, 3}, {4, 3}}));
}

TEST_P(BothEngines, LmcTakesOtherNeighborsThenOtherCables) {
  FabricMaker maker;  // Two leaves, two spines, two cables each.
  for (int s = 0; s < 4; ++s) maker.AddSwitch(16);
  for (size_t leaf : {0u, 1u})
    for (size_t spine : {2u, 3u})
      for (int c = 0; c < 2; ++c) maker.Cable(leaf, spine);
  std::vector<size_t> hosts;
  for (int h = 0; h < 4; ++h) {
    maker.Host(0);
    hosts.push_back(maker.Host(1));
  }
  const TestFabric fabric = maker.Build(2);
  const RoutingPlan plan = Route(fabric, GetParam());
  for (size_t host : hosts) {
    const auto ports = Ports(plan, fabric.node[0], fabric.LidOf(host, 1), 4);
    EXPECT_EQ(std::set<uint8_t>(ports.begin(), ports.end()).size(), 4u);
    // Ports 1 and 2 lead to the first spine, 3 and 4 to the second.
    EXPECT_NE(ports[0] <= 2, ports[1] <= 2);
    const auto down = Ports(plan, fabric.node[2], fabric.LidOf(host, 1), 4);
    EXPECT_EQ(std::set<uint8_t>(down.begin(), down.end()).size(), 2u);
  }
  EXPECT_TRUE(Judge(fabric, plan).ok || GetParam() == "min_hop");
  EXPECT_EQ(UnreachablePairs(fabric, plan), 0u);
}

// The most flows on any cable when every host sends to the host `shift` places on, over all shifts.
int WorstShift(const TestFabric& fabric, const RoutingPlan& plan,
               const std::vector<size_t>& hosts) {
  int worst = 0;
  for (size_t shift = 1; shift < hosts.size(); ++shift) {
    std::map<Channel, int> flows;
    for (size_t i = 0; i < hosts.size(); ++i) {
      const PortRef leaf = fabric.snapshot->port({fabric.node[hosts[i]], PortNum(1)})->peer;
      const Lid to = fabric.LidOf(hosts[(i + shift) % hosts.size()], 1);
      for (const Channel& channel : Follow(*fabric.snapshot, plan, leaf.node, to).channels)
        worst = std::max(worst, ++flows[channel]);
    }
  }
  return worst;
}

TEST_P(BothEngines, EveryShiftIsContentionFreeOnIntactTrees) {
  const std::vector<std::vector<TreeLevel>> shapes = {
      {{4, 1}, {8, 4}},             // Two levels.
      {{3, 1}, {3, 3}, {6, 3}},     // Three.
      {{8, 1}, {4, 4, 2}},          // Parallel cables.
      {{6, 1}, {3, 2, 3}, {4, 9}},  // Both.
      {{2, 1}, {2, 2}, {2, 2}, {4, 2}},
  };
  for (const auto& shape : shapes) {
    const FabricMaker maker = MakeTree(shape);
    const TestFabric fabric = maker.Build();
    std::vector<size_t> hosts;
    for (size_t handle = 0; handle < maker.size(); ++handle)
      if (!maker.IsSwitch(handle)) hosts.push_back(handle);
    EXPECT_EQ(WorstShift(fabric, Route(fabric, GetParam()), hosts), 1)
        << shape.size() << " levels, " << hosts.size() << " hosts";
  }
}

TEST_P(BothEngines, SameBytesForAnyThreadCount) {
  FabricMaker maker = MakeFatTree(12, 3);  // 432 hosts, 180 switches.
  Rng rng(3);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(0.05)) maker.RemoveCable(cable);
  const TestFabric fabric = maker.Build(1);
  RoutingOptions options;
  options.threads = 1;
  const PortsByGuid one = ByGuid(fabric, Route(fabric, GetParam(), options));
  for (int threads : {2, 3, 8}) {
    options.threads = threads;
    EXPECT_EQ(ByGuid(fabric, Route(fabric, GetParam(), options)), one) << threads;
  }
}

TEST_P(BothEngines, RowsEqualToThePreviousPlansAreShared) {
  FabricMaker maker;  // Two rings that know nothing of each other.
  for (int s = 0; s < 8; ++s) maker.AddSwitch(4);
  for (size_t s = 0; s < 8; ++s) maker.Cable(s, s % 4 == 3 ? s - 3 : s + 1);
  const TestFabric before = maker.Build();
  const RoutingPlan first = Route(before, GetParam());
  EXPECT_EQ(Route(before, GetParam(), {}, &first).rows, first.rows);  // The same pointers.
  maker.RemoveCable(0);
  const TestFabric after = maker.Build();
  const RoutingPlan changed = Route(after, GetParam(), {}, &first);
  for (size_t s = 0; s < 8; ++s) {
    const uint32_t i = after.node[s].value();
    if (s < 2) {  // The ends of that cable.
      EXPECT_NE(changed.rows[i], first.rows[i]) << s;
    } else if (s > 3) {
      EXPECT_EQ(changed.rows[i], first.rows[i]) << s;
    }
  }
}

TEST_P(BothEngines, SmallTableIsRoutedAroundAndNoted) {
  FabricMaker maker = MakeRing(4, 1);
  maker.SetLinearFdbCap(1, 5);  // LIDs 0 to 4: the switches' own.
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, GetParam());
  ASSERT_EQ(fabric.LidOf(6, 1), Lid(7));  // The host on switch 2.
  EXPECT_EQ(plan.EgressPort(fabric.node[1], Lid(7)), kNoRoute);
  EXPECT_EQ(Follow(*fabric.snapshot, plan, fabric.node[0], Lid(7)).end.node, fabric.node[6]);
  EXPECT_EQ(plan.EgressPort(fabric.node[1], Lid(3)) != kNoRoute, true);
  // Switch 1 to the four hosts, the other three switches to its own host.
  EXPECT_EQ(plan.exempt.size(), 7u);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("table of switch sw1")));
  const VerifyReport report = Judge(fabric, plan);
  EXPECT_EQ(report.unreachable_pairs, 0u);
  EXPECT_TRUE(report.ok || !report.deadlock_free);
}

TEST_P(BothEngines, PathsOfMoreThan255HopsAreDeclined) {
  FabricMaker maker;
  for (int s = 0; s < 300; ++s) maker.AddSwitch(4);
  for (size_t s = 0; s + 1 < 300; ++s) maker.Cable(s, s + 1);
  const TestFabric fabric = maker.Build();
  const RoutingOptions options;
  const auto plan = MakeEngine(GetParam())->Compute({*fabric.snapshot, fabric.lids, options});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(UpDown, ServesSwitchPairsAndHostsOnSpines) {
  FabricMaker maker;
  for (int s = 0; s < 6; ++s) maker.AddSwitch(12);
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    for (size_t spine : {4u, 5u}) maker.Cable(leaf, spine);
    for (int h = 0; h < 4; ++h) maker.Host(leaf);
  }
  maker.Host(4);
  maker.Host(5);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, "up_down");
  EXPECT_EQ(UnreachablePairs(fabric, plan), 0u);
  EXPECT_TRUE(plan.exempt.empty());
  EXPECT_TRUE(Judge(fabric, plan).ok);
  EXPECT_EQ(plan.order.size(), plan.rows.size());
}

TEST(UpDown, TakesTheGivenRoot) {
  FabricMaker maker = MakeRing(6, 1);
  const TestFabric fabric = maker.Build();
  for (size_t root : {2u, 5u}) {
    RoutingOptions options;
    options.roots = {fabric.snapshot->node(fabric.node[root])->guid()};
    const RoutingPlan plan = Route(fabric, "up_down", options);
    const auto top = std::max_element(plan.order.begin(), plan.order.end());
    EXPECT_EQ(NodeIndex(static_cast<uint32_t>(top - plan.order.begin())), fabric.node[root]);
    EXPECT_TRUE(Judge(fabric, plan).ok);
  }
}

TEST(UpDown, GivenCoresAndAnUnknownRoot) {
  const FabricMaker maker = MakeFatTree(4, 3);
  const TestFabric fabric = maker.Build();
  RoutingOptions options;
  for (size_t core = 16; core < 20; ++core)
    options.roots.push_back(fabric.snapshot->node(fabric.node[core])->guid());
  options.roots.push_back(Guid(0xdead));
  const RoutingPlan plan = Route(fabric, "up_down", options);
  EXPECT_TRUE(Judge(fabric, plan).ok);
  EXPECT_EQ(UnreachablePairs(fabric, plan), 0u);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("0x000000000000dead")));
}

TEST(UpDown, HasNoCreditLoopWhereMinHopHas) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  const RoutingPlan min_hop = Route(fabric, "min_hop"), up_down = Route(fabric, "up_down");
  EXPECT_TRUE(HasCreditLoop(fabric, min_hop));
  EXPECT_FALSE(HasCreditLoop(fabric, up_down));
  const VerifyReport report = Judge(fabric, min_hop);
  EXPECT_FALSE(report.ok);
  EXPECT_FALSE(report.deadlock_free);
  EXPECT_EQ(report.unreachable_pairs, 0u);
  EXPECT_EQ(report.loops, 0u);
}

}  // namespace
}  // namespace fabricd::routing
