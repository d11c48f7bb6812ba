// SPDX-License-Identifier: Apache-2.0
// What is said of multicast trees when a plan was made.
#include "sweep/plan/computing.h"

#include <gtest/gtest.h>

#include "routing/multicast/multicast_trees.h"
#include "tests/support/fabrics.h"

namespace fabricd::sweep {
namespace {

// A plan of one engine over one of another, where all hosts are in one group.
class Takeover {
 public:
  explicit Takeover(const testing::FabricMaker& maker) : fabric_(maker.Build()) {
    task_.snapshot = fabric_.snapshot;
    task_.lids = std::make_shared<const fabric::LidTable>(fabric_.lids);
    task_.options.threads = 1;
    task_.goal = routing::ReplanGoal::kIdeal;
  }
  // `turned`: the plan before says that a leaf is above its spine, without a change of its routes.
  PlanReady Carry(const std::string& from, const std::string& to, bool turned = false,
                  bool urgent = false) {
    task_.has_trees = task_.needs_room = false;
    task_.before = nullptr;
    task_.options.chain = {from};
    task_.before = CarryOut(task_).result.after;
    EXPECT_NE(task_.before, nullptr);
    if (turned) Turn();
    const routing::RoutingPlan& plan = *task_.before->plan;
    fabric::MulticastGroups groups;
    groups.groups.emplace_back().mlid = Lid(0xC000);
    fabric_.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) groups.groups[0].members.push_back({node.ports[1].guid, true});
    });
    std::sort(groups.groups[0].members.begin(), groups.groups[0].members.end());
    task_.trees = std::make_shared<const routing::MulticastPlan>(
        routing::MakeTrees({*fabric_.snapshot, fabric_.lids, plan, groups, nullptr}));
    routing::AppliedTables applied;
    applied.rows.resize(plan.rows.size());
    for (size_t i = 0; i < plan.rows.size(); ++i)
      if (plan.rows[i]) applied.rows[i] = *plan.rows[i];
    task_.applied =
        urgent ? nullptr : std::make_shared<const routing::AppliedTables>(std::move(applied));
    task_.has_trees = task_.needs_room = true;
    task_.options.chain = {to};
    return CarryOut(task_);
  }

 private:
  void Turn() {
    auto plan = std::make_shared<routing::RoutingPlan>(*task_.before->plan);
    const NodeIndex leaf = fabric_.node[0];
    for (const fabric::Port& port : fabric_.snapshot->node(leaf)->ports) {
      if (port.peer.IsNone() || !fabric_.snapshot->node(port.peer.node)->IsSwitch()) continue;
      std::swap(plan->order[leaf.value()], plan->order[port.peer.node.value()]);
      break;
    }
    task_.before = std::make_shared<const routing::RouteState>(
        routing::RouteState{task_.before->links, std::move(plan)});
  }

  testing::TestFabric fabric_;
  ComputePlan task_;
};

TEST(Computing, KeepsMulticastTreesBetweenPlansOfOneOrder) {
  const PlanReady ready = Takeover(testing::MakeFatTree(4, 3)).Carry("up_down", "up_down");
  EXPECT_TRUE(ready.keeps_trees);
  EXPECT_TRUE(ready.mixes_trees);
}

TEST(Computing, KeepsMulticastTreesAcrossOrdersWithoutADependencyCycle) {
  const PlanReady ready = Takeover(testing::MakeFatTree(4, 3)).Carry("up_down", "up_down", true);
  EXPECT_TRUE(ready.keeps_trees);
  EXPECT_FALSE(ready.mixes_trees);
  // The task of an urgent plan has no applied tables, which that check needs.
  EXPECT_FALSE(
      Takeover(testing::MakeFatTree(4, 3)).Carry("up_down", "up_down", true, true).keeps_trees);
}

TEST(Computing, DropsMulticastTreesThatMayCloseADependencyCycle) {
  const PlanReady ready = Takeover(testing::MakeTorus({4, 4}, 1)).Carry("layered", "up_down");
  EXPECT_FALSE(ready.keeps_trees);
  EXPECT_FALSE(ready.mixes_trees);
}

}  // namespace
}  // namespace fabricd::sweep
