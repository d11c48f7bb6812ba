// SPDX-License-Identifier: Apache-2.0
// Verification of multicast trees together with the unicast plan.
#include <gmock/gmock.h>

#include <algorithm>

#include "routing/multicast/multicast_rows.h"
#include "tests/unit/routing/multicast/made_trees.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

// The verifier must find each wrong entry.
TEST(MulticastProof, FindsEveryWrongEntry) {
  Tree8 test(4);
  const MulticastPlan good = Make(test.fabric, *test.plan, test.groups);
  const auto judge = [&](const std::vector<std::shared_ptr<const MulticastTree>>& trees) {
    return VerifyMulticast(*test.fabric.snapshot, test.fabric.lids, *test.plan, test.groups,
                           PlanOfTrees(trees, nullptr))
        .ok;
  };
  ASSERT_TRUE(judge(good.trees));
  for (size_t i = 0; i < good.trees[1]->ports.size(); ++i) {
    auto trees = good.trees;
    MulticastTree tree = *trees[1];
    tree.ports.erase(tree.ports.begin() + static_cast<std::ptrdiff_t>(i));
    trees[1] = std::make_shared<const MulticastTree>(tree);
    EXPECT_FALSE(judge(trees)) << "without entry " << i;
  }
  test.fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 0; node.IsSwitch() && port < node.ports.size(); ++port) {
      auto trees = good.trees;
      MulticastTree tree = *trees[1];
      const PortRef more{node.index, PortNum(static_cast<uint8_t>(port))};
      if (std::binary_search(tree.ports.begin(), tree.ports.end(), more)) continue;
      tree.ports.push_back(more);
      std::sort(tree.ports.begin(), tree.ports.end());
      trees[1] = std::make_shared<const MulticastTree>(tree);
      EXPECT_FALSE(judge(trees)) << node.description << " port " << port;
    }
  });
}

// Down and up again within one tree: legal as a tree, but not beside the unicast routes.
TEST(MulticastProof, RefusesTreesThatTurnBack) {
  FabricMaker maker;
  const size_t low = maker.AddSwitch(4), left = maker.AddSwitch(4), right = maker.AddSwitch(4),
               top = maker.AddSwitch(4);
  for (size_t side : {left, right}) maker.Cable(low, side), maker.Cable(side, top);
  const size_t a = maker.Host(left), b = maker.Host(right);
  const TestFabric fabric = maker.Build();
  RoutingPlan plan = Route(fabric, "up_down");
  const auto port = [&](size_t at, int p) {
    return PortRef{fabric.node[at], PortNum(static_cast<uint8_t>(p))};
  };
  const auto guid = [&](size_t host) {
    return fabric.snapshot->node(fabric.node[host])->ports[1].guid;
  };
  const MulticastGroups groups{{Group(0, {guid(a), guid(b)})}};
  const auto by = [&](size_t middle, int first) {
    std::vector<PortRef> ports{port(left, middle == low ? 1 : 2),
                               port(right, middle == low ? 1 : 2),
                               port(middle, first),
                               port(middle, first + 1),
                               port(left, 3),
                               port(right, 3)};
    std::sort(ports.begin(), ports.end());
    return PlanOfTrees(
        {std::make_shared<const MulticastTree>(MulticastTree{Lid(0xC000), std::move(ports), {}})},
        nullptr);
  };
  plan.order.assign(plan.rows.size(), 0);
  plan.order[fabric.node[left].value()] = 1;
  plan.order[fabric.node[right].value()] = 2;
  plan.order[fabric.node[top].value()] = 3;
  const auto judge = [&](const MulticastPlan& trees) {
    return VerifyMulticast(*fabric.snapshot, fabric.lids, plan, groups, trees);
  };
  EXPECT_TRUE(judge(by(top, 1)).ok) << ::testing::PrintToString(judge(by(top, 1)).faults);
  EXPECT_FALSE(judge(by(low, 1)).deadlock_free);
}

// A plan without an order: a ring on one VL, in which no path takes some of the turns.
TEST(MulticastProof, FindsACycleWithUnicastWhereThereIsNoOrder) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  const auto plan = ChainPlan(fabric, 1);
  ASSERT_TRUE(plan);
  RoutingPlan bare = *plan;
  bare.order.clear();
  const std::vector<Guid> ports = HostPorts(*fabric.snapshot);
  const MulticastGroups groups{{Group(0, ports)}};
  const MulticastPlan trees = Make(fabric, bare, groups);
  EXPECT_THAT(trees.trees[0]->unserved, ::testing::IsEmpty());
  // The one link of the ring that the tree leaves out; turned round, some tree closes the ring.
  int refused = 0;
  for (int gap = 0; gap < 5; ++gap) {
    std::vector<PortRef> all;
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      for (size_t p = 1; node.IsSwitch() && p < node.ports.size(); ++p)
        all.push_back({node.index, PortNum(static_cast<uint8_t>(p))});
    });
    const PortRef out{fabric.node[static_cast<size_t>(gap)], PortNum(1)};
    const PortRef peer = fabric.snapshot->port(out)->peer;
    std::erase_if(all, [&](PortRef p) { return p == out || p == peer; });
    const MulticastPlan other = PlanOfTrees(
        {std::make_shared<const MulticastTree>(MulticastTree{Lid(0xC000), all, {}})}, nullptr);
    const VerifyReport report = VerifyMulticast(*fabric.snapshot, fabric.lids, bare, groups, other);
    refused += !report.deadlock_free;
    EXPECT_EQ(report.ok, report.deadlock_free) << ::testing::PrintToString(report.faults);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 5);
}

}  // namespace
}  // namespace fabricd::routing
