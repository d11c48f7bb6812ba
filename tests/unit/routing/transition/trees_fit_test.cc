// SPDX-License-Identifier: Apache-2.0
// Whether multicast trees may stay while one unicast plan is written over another.
#include "routing/transition/trees_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "routing/multicast/multicast_trees.h"
#include "routing/proof/multicast_proof.h"
#include "routing/repair/replan.h"
#include "routing/transition/common_order.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

RouteState StateOf(const TestFabric& fabric, RoutingPlan plan) {
  return MakeRouteState(*fabric.snapshot, fabric.lids,
                        std::make_shared<const RoutingPlan>(std::move(plan)));
}

TEST(CommonOrder, ExistsForOtherRoutesOfTheSameOrder) {
  const TestFabric fabric = MakeFatTree(4, 3).Build();
  const RouteState one = StateOf(fabric, Route(fabric, "up_down"));
  EXPECT_TRUE(HaveCommonOrder(one, one));
  RoutingPlan other = *one.plan;
  other.engine = "another";
  EXPECT_TRUE(HaveCommonOrder(one, StateOf(fabric, other)));
}

// The first switch next to it.
NodeIndex Neighbour(const TestFabric& fabric, NodeIndex node) {
  for (const fabric::Port& port : fabric.snapshot->node(node)->ports)
    if (!port.peer.IsNone() && fabric.snapshot->node(port.peer.node)->IsSwitch())
      return port.peer.node;
  return NodeIndex::None();
}

TEST(CommonOrder, DoesNotExistWhereNeighboursSwapPlaces) {
  const TestFabric fabric = MakeFatTree(4, 2).Build();
  const RouteState one = StateOf(fabric, Route(fabric, "up_down"));
  ASSERT_FALSE(one.plan->order.empty());
  RoutingPlan turned = *one.plan;
  const NodeIndex low = fabric.node[0], high = Neighbour(fabric, low);
  std::swap(turned.order[low.value()], turned.order[high.value()]);
  EXPECT_FALSE(HaveCommonOrder(one, StateOf(fabric, turned)));
  RoutingPlan orderless = *one.plan;
  orderless.order.clear();
  EXPECT_FALSE(HaveCommonOrder(one, StateOf(fabric, orderless)));
  EXPECT_FALSE(HaveCommonOrder(StateOf(fabric, orderless), one));
}

// What packets wait for, by the outgoing ports of switches, without a word of how it is done
// elsewhere.
class Oracle {
 public:
  explicit Oracle(const TestFabric& fabric) : fabric_(fabric) {}

  void Add(const RoutingPlan& plan) {
    for (uint32_t l = 1; l <= fabric_.lids.top().value(); ++l)
      fabric_.snapshot->ForEachNode([&](const fabric::Node& node) {
        const PortRef out = Out(plan, node.index, l);
        if (IsLink(out)) Wait(out, Out(plan, Peer(out).node, l));
      });
  }
  void Add(const MulticastPlan& trees) {
    for (const auto& tree : trees.trees)
      for (PortRef in : tree->ports)
        for (PortRef out : tree->ports)
          if (in.node == out.node && in != out && IsLink(in)) Wait(Peer(in), out);
  }
  bool HasCycle() const {
    std::map<PortRef, int> state;  // 1: on the way, 2: done.
    for (const auto& [start, unused] : waits_) {
      std::vector<std::pair<PortRef, bool>> open{{start, false}};
      while (!open.empty()) {
        const auto [at, leaves] = open.back();
        open.pop_back();
        if (leaves) {
          state[at] = 2;
          continue;
        }
        if (state[at] != 0) continue;
        state[at] = 1;
        open.emplace_back(at, true);
        if (const auto it = waits_.find(at); it != waits_.end())
          for (PortRef next : it->second) {
            if (state[next] == 1) return true;
            if (state[next] == 0) open.emplace_back(next, false);
          }
      }
    }
    return false;
  }

 private:
  PortRef Peer(PortRef port) const { return fabric_.snapshot->port(port)->peer; }
  // To another switch.
  bool IsLink(PortRef port) const {
    const fabric::Node* node = port.IsNone() ? nullptr : fabric_.snapshot->node(port.node);
    if (node == nullptr || !node->IsSwitch() || port.port == PortNum(0)) return false;
    const fabric::Port& end = node->port(port.port);
    if (end.peer.IsNone() || !end.IsUp()) return false;
    const fabric::Node* peer = fabric_.snapshot->node(end.peer.node);
    return peer != nullptr && peer->IsSwitch() && peer->port(end.peer.port).IsUp();
  }
  static PortRef Out(const RoutingPlan& plan, NodeIndex node, uint32_t lid) {
    if (!plan.HasRow(node)) return {};
    const uint8_t port = plan.EgressPort(node, Lid(static_cast<uint16_t>(lid)));
    return port == kNoRoute ? PortRef{} : PortRef{node, PortNum(port)};
  }
  void Wait(PortRef from, PortRef on) {
    if (IsLink(on)) waits_[from].insert(on);
  }

  const TestFabric& fabric_;
  std::map<PortRef, std::set<PortRef>> waits_;
};

fabric::MulticastGroups SomeGroups(const fabric::FabricSnapshot& snapshot, Rng& rng) {
  fabric::MulticastGroups groups;
  for (uint16_t number = 0; number < 20; ++number) {
    fabric::MulticastGroup& group = groups.groups.emplace_back();
    group.mlid = Lid(static_cast<uint16_t>(0xC000 + number));
    snapshot.ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() && rng.Chance(0.3)) group.members.push_back({node.ports[1].guid, true});
    });
    std::sort(group.members.begin(), group.members.end());
  }
  return groups;
}

// Tori in which links fail, one after the other.
TEST(TreesFit, AcceptsTreesOnlyWithoutADependencyCycle) {
  size_t asked = 0, fits = 0, circles = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    FaultyFabric fabric((seed % 2 ? MakeTorus({4, 4}, 1) : MakeTorus({3, 3, 3}, 1)).Build(), seed);
    const RoutingOptions options;
    const fabric::Intent intent;
    const auto replan = [&](std::shared_ptr<const RouteState> before, ReplanGoal goal) {
      return Replan({*fabric.now().snapshot, fabric.now().lids, intent, options, std::move(before),
                     goal, nullptr, false})
          .after;
    };
    auto before = replan(nullptr, ReplanGoal::kIdeal);
    ASSERT_TRUE(before);
    const fabric::MulticastGroups groups = SomeGroups(*fabric.now().snapshot, rng);
    MulticastPlan trees;
    for (int step = 0; step < 5; ++step) {
      if (!before->plan->order.empty()) break;
      trees = MakeTrees({*fabric.now().snapshot, fabric.now().lids, *before->plan, groups, &trees});
      fabric.Cut(fabric.cables()[rng.Below(fabric.cables().size())]);
      fabric.Apply();
      const auto goal = step % 2 == 0 ? ReplanGoal::kUrgent : ReplanGoal::kIdeal;
      auto after = replan(before, goal);
      if (!after || !after->plan->order.empty()) break;
      const AppliedTables applied = TablesOf(*before->plan);
      const LinkMap links(*fabric.now().snapshot, fabric.now().lids);
      Oracle oracle(fabric.now());
      oracle.Add(*before->plan);
      oracle.Add(*after->plan);
      oracle.Add(trees);
      const bool fit = TreesFit({links, applied, before->plan.get(), *after->plan, 1}, trees);
      if (fit) {
        EXPECT_FALSE(oracle.HasCycle());
        // And no tree that is made of them afterwards loses a link for the sake of order.
        const MulticastPlan kept =
            MakeTrees({*fabric.now().snapshot, fabric.now().lids, *after->plan, groups, &trees});
        Oracle both(fabric.now());
        both.Add(*after->plan);
        both.Add(trees);
        both.Add(kept);
        EXPECT_FALSE(both.HasCycle());
      }
      ++asked;
      fits += fit;
      circles += oracle.HasCycle();
      before = std::move(after);
    }
  }
  EXPECT_GT(asked, 60u);
  // Nearly always where it can, which is after most repairs and few plans that are made anew.
  EXPECT_GT(fits * 3, asked) << fits << " of " << asked;
  EXPECT_GT((fits + circles) * 10, asked * 9) << fits << " of " << asked - circles;
}

}  // namespace
}  // namespace fabricd::routing
