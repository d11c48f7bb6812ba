// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/drain_time.h"

#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;

class DrainTimeTest : public testing::Test {
 protected:
  // Both hosts by way of both switches; with `near` only each its own.
  std::shared_ptr<const routing::RoutingPlan> PlanFor(bool near) const {
    routing::Row first(64, routing::kNoRoute), second(64, routing::kNoRoute);
    first.Set(3, 1), second.Set(4, 1);
    if (!near) first.Set(4, 36), second.Set(3, 36);
    auto plan = std::make_shared<routing::RoutingPlan>();
    plan->rows = {std::make_shared<const routing::Row>(first),
                  std::make_shared<const routing::Row>(second)};
    return plan;
  }
  void Measure(const std::shared_ptr<const routing::RoutingPlan>& plan) {
    fabric::LidTable lids;
    lids.Assign(fabric_.Host(0), {Lid(3), 0});
    lids.Assign(fabric_.Host(1), {Lid(4), 0});
    time_.Measure(plan, *fabric_.builder.Build(), lids);
  }

  SmallFabric fabric_{2};
  LinkOptions link_;
  DrainTime time_;
};

TEST_F(DrainTimeTest, WithoutAPathNothingIsWaitedFor) {
  EXPECT_EQ(time_.Of(link_), 0s);
  Measure(nullptr);
  EXPECT_EQ(time_.Of(link_), 0s);
}

TEST_F(DrainTimeTest, EachQueueHoldsAPacketForItsLife) {
  link_.hoq_life = 10;
  link_.leaf_hoq_life = 3;
  Measure(PlanFor(/*near=*/false));
  EXPECT_EQ(time_.Of(link_), 2 * Duration(4096) * 1024 + Duration(4096) * 8)
      << "three links, the last of which is one to a host";
  link_.hoq_life = 20;
  EXPECT_EQ(time_.Of(link_), 2s + Duration(4096) * 8) << "no limit: a second for each";
}

TEST_F(DrainTimeTest, TheLongestPathOfAllPlansSinceCountsUntilItIsReset) {
  link_.hoq_life = link_.leaf_hoq_life = 0;
  Measure(PlanFor(false));
  const Duration longest = time_.Of(link_);
  Measure(PlanFor(/*near=*/true));
  EXPECT_EQ(time_.Of(link_), longest);
  time_.Reset();
  Measure(PlanFor(true));
  EXPECT_LT(time_.Of(link_), longest);
  EXPECT_GT(time_.Of(link_), 0s);
}

}  // namespace
}  // namespace fabricd::sweep
