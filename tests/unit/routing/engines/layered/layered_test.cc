// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/layered.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::Contains;
using ::testing::HasSubstr;

RoutingOptions Lanes(uint8_t most, int threads = 0) {
  RoutingOptions options;
  options.lanes_max = most;
  options.threads = threads;
  return options;
}

// Host handles of a tree are in topological order.
std::vector<size_t> Hosts(const FabricMaker& maker) {
  std::vector<size_t> hosts;
  for (size_t handle = 0; handle < maker.size(); ++handle)
    if (!maker.IsSwitch(handle)) hosts.push_back(handle);
  return hosts;
}

NodeIndex SwitchOf(const TestFabric& fabric, size_t host) {
  return fabric.snapshot->port({fabric.node[host], PortNum(1)})->peer.node;
}

// Most flows on a channel between switches when each host sends to the one `shift` further.
size_t Contention(const TestFabric& fabric, const RoutingPlan& plan,
                  const std::vector<size_t>& hosts, size_t shift) {
  std::map<Channel, size_t> flows;
  size_t most = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const size_t to = hosts[(i + shift) % hosts.size()];
    const Walk walk =
        Follow(*fabric.snapshot, plan, SwitchOf(fabric, hosts[i]), fabric.LidOf(to, 1));
    for (size_t c = 0; c + 1 < walk.channels.size(); ++c)
      most = std::max(most, ++flows[walk.channels[c]]);
  }
  return most;
}

TEST(Layered, UsesOneVlWithoutContentionOnIntactTrees) {
  for (const FabricMaker& maker : {MakeFatTree(8, 2), MakeFatTree(4, 3), MakeFatTree(6, 3),
                                   MakeTree({{4, 1}, {3, 2, 2}, {3, 2, 3}})}) {
    const TestFabric fabric = maker.Build();
    const RoutingPlan plan = Route(fabric, "layered", Lanes(8));
    EXPECT_EQ(plan.lanes, 1);
    EXPECT_TRUE(plan.service_levels.empty());
    EXPECT_FALSE(plan.order.empty());
    const std::vector<size_t> hosts = Hosts(maker);
    for (size_t shift = 1; shift < hosts.size(); ++shift)
      EXPECT_EQ(Contention(fabric, plan, hosts, shift), 1u) << "shift " << shift;
  }
}

TEST(Layered, SpreadsAGridOverVlsWithoutCreditLoops) {
  const TestFabric fabric = MakeTorus({5, 5, 5}, 1).Build();
  const RoutingPlan plan = Route(fabric, "layered", Lanes(15));
  EXPECT_GT(plan.lanes, 1);
  EXPECT_LE(plan.lanes, 5);
  EXPECT_EQ(UnreachablePairs(fabric, plan), 0u);
  EXPECT_FALSE(HasCreditLoop(fabric, plan));
  EXPECT_TRUE(Judge(fabric, plan).ok);
  // The lanes are needed: all on one would deadlock.
  RoutingPlan flat = plan;
  flat.lanes = 1;
  EXPECT_TRUE(HasCreditLoop(fabric, flat));
  EXPECT_FALSE(Judge(fabric, flat).deadlock_free);
}

// OpenSM's dfsssp needs 9 VLs here.
TEST(Layered, NeedsAtMostSixVlsOnALargeTorus) {
  const TestFabric fabric = MakeTorus({8, 8, 8}, 2).Build();
  const RoutingPlan plan = Route(fabric, "layered", Lanes(8));
  EXPECT_LE(plan.lanes, 6);
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

// Hosts on every other switch of a hypercube: its levels look like those of a tree.
TEST(Layered, DoesNotMistakeAHypercubeWithGapsForATree) {
  FabricMaker maker = MakeTorus({2, 2, 2, 2, 2}, 0);
  for (size_t s = 0; s < 32; ++s)
    if (__builtin_popcountll(s) % 2 == 0) maker.Host(s);
  const TestFabric fabric = maker.Build();
  const RoutingPlan plan = Route(fabric, "layered", Lanes(1));
  EXPECT_TRUE(Judge(fabric, plan).ok);
  const std::vector<size_t> hosts = Hosts(maker);
  for (size_t a : hosts)
    for (size_t b : hosts) {
      const auto from = static_cast<size_t>(
          std::find(fabric.node.begin(), fabric.node.end(), SwitchOf(fabric, a)) -
          fabric.node.begin());
      const auto to = static_cast<size_t>(
          std::find(fabric.node.begin(), fabric.node.end(), SwitchOf(fabric, b)) -
          fabric.node.begin());
      const Walk walk = Follow(*fabric.snapshot, plan, SwitchOf(fabric, a), fabric.LidOf(b, 1));
      EXPECT_EQ(walk.channels.size(), 1u + static_cast<size_t>(__builtin_popcountll(from ^ to)));
    }
}

TEST(Layered, NotesHowManyVlsItWouldNeed) {
  const TestFabric fabric = MakeTorus({5, 5}, 1).Build();
  const RoutingPlan plan = Route(fabric, "layered", Lanes(1));
  EXPECT_EQ(plan.lanes, 1);
  EXPECT_TRUE(Judge(fabric, plan).ok);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("lanes; lanes_max is 1")));
}

TEST(Layered, SameBytesForAnyThreadCount) {
  for (const FabricMaker& maker : {MakeTorus({4, 5}, 2), MakeRandom(14, 40, 20, 3)}) {
    const TestFabric fabric = maker.Build();
    const RoutingPlan one = Route(fabric, "layered", Lanes(15, 1));
    const RoutingPlan two = Route(fabric, "layered", Lanes(15, 2));
    EXPECT_EQ(ByGuid(fabric, one), ByGuid(fabric, two));
    ASSERT_EQ(one.service_levels.size(), two.service_levels.size());
    for (size_t i = 0; i < one.service_levels.size(); ++i)
      EXPECT_TRUE(!one.service_levels[i] || *one.service_levels[i] == *two.service_levels[i]);
  }
}

// With fewer VLs than shortest paths need it stays within them, and has less contention than
// up*/down*.
TEST(Layered, StaysWithinAGivenNumberOfVls) {
  const FabricMaker maker = MakeTorus({7, 7, 7}, 1);
  const TestFabric fabric = maker.Build();
  const std::vector<size_t> hosts = Hosts(maker);
  const size_t one_order = Contention(fabric, Route(fabric, "up_down"), hosts, 100);
  for (uint8_t most : {1, 2, 3}) {
    const RoutingPlan plan = Route(fabric, "layered", Lanes(most));
    EXPECT_LE(plan.lanes, most);
    EXPECT_TRUE(Judge(fabric, plan).ok);
    EXPECT_LT(Contention(fabric, plan, hosts, 100), one_order);
  }
}

TEST(Layered, SpreadsPairsOverAllVls) {
  const TestFabric fabric = MakeTorus({6, 6}, 2).Build();
  const RoutingPlan plan = Route(fabric, "layered", Lanes(8));
  ASSERT_GT(plan.lanes, 1);
  std::map<int, size_t> pairs;
  for (const auto& levels : plan.service_levels)
    for (uint32_t lid = 1; levels && lid <= plan.lid_top.value(); ++lid) ++pairs[(*levels)[lid]];
  EXPECT_EQ(pairs.size(), plan.lanes);
  for (const auto& [lane, count] : pairs) EXPECT_LT(count, 0.9 * 36 * plan.lid_top.value());
}

// Paths to the LIDs of one port use different cables where there are several.
TEST(Layered, SpreadsTheLidsOfAPort) {
  const FabricMaker maker = MakeFatTree(8, 2);
  const TestFabric fabric = maker.Build(2);
  const RoutingPlan plan = Route(fabric, "layered", Lanes(1));
  const std::vector<size_t> hosts = Hosts(maker);
  const NodeIndex from = SwitchOf(fabric, hosts.front());
  for (size_t to : hosts) {
    if (SwitchOf(fabric, to) == from) continue;
    std::set<uint8_t> ports;
    for (uint16_t i = 0; i < 4; ++i)
      ports.insert(
          plan.EgressPort(from, Lid(static_cast<uint16_t>(fabric.LidOf(to, 1).value() + i))));
    EXPECT_EQ(ports.size(), 4u);
  }
  EXPECT_TRUE(Judge(fabric, plan).ok);
}

TEST(MinHopOnTrees, HasAnOrderWhereShortestPathsAreUpDown) {
  for (const FabricMaker& maker : {MakeFatTree(8, 2), MakeTree({{3, 1}, {4, 3, 2}})}) {
    const TestFabric fabric = maker.Build();
    const RoutingPlan plan = Route(fabric, "min_hop");
    EXPECT_TRUE(Judge(fabric, plan).ok);
    EXPECT_FALSE(plan.order.empty());
    const std::vector<size_t> hosts = Hosts(maker);
    for (size_t shift = 1; shift < hosts.size(); ++shift)
      EXPECT_EQ(Contention(fabric, plan, hosts, shift), 1u) << "shift " << shift;
  }
}

}  // namespace
}  // namespace fabricd::routing
