// SPDX-License-Identifier: Apache-2.0
// The breakages of plans do break them, and leave the plan that they were made of as it is.
#include "sweep/device/corrupt.h"

#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

SharedPlan PlanOfBoth() {
  auto plan = std::make_shared<routing::RoutingPlan>();
  for (uint8_t egress : {3, 4})
    plan->rows.push_back(std::make_shared<const routing::Row>(64, egress));
  return plan;
}

TEST(Breakages, AHoleIsMadeInACopyOfTheFirstRow) {
  const SharedPlan good = PlanOfBoth();
  SharedPlan plan = good;
  CorruptWithHole(plan);
  EXPECT_EQ((*plan->rows[0])[1], routing::kNoRoute);
  EXPECT_EQ((*plan->rows[0])[2], 3);
  EXPECT_EQ((*good->rows[0])[1], 3);
  SharedPlan none;
  CorruptWithHole(none);
  EXPECT_EQ(none, nullptr);
}

TEST(Breakages, ACycleIsMadeOfTwoNeighbours) {
  SmallFabric fabric(2);
  SharedPlan plan = PlanOfBoth();
  CorruptWithCycle(plan, *fabric.builder.Build());
  EXPECT_EQ((*plan->rows[0])[1], 36);
  EXPECT_EQ((*plan->rows[1])[1], 36);
  SharedPlan none;
  CorruptWithCycle(none, *fabric.builder.Build());
  EXPECT_EQ(none, nullptr);
}

TEST(Breakages, RoutesAreCopiedBeforeTheyAreBroken) {
  auto routes = std::make_shared<routing::RouteState>();
  routes->plan = PlanOfBoth();
  std::shared_ptr<const routing::RouteState> broken = routes;
  CorruptRoutes(broken, CorruptWithHole);
  EXPECT_NE(broken, routes);
  EXPECT_EQ((*routes->plan->rows[0])[1], 3);
  std::shared_ptr<const routing::RouteState> none;
  CorruptRoutes(none, CorruptWithHole);
  EXPECT_EQ(none, nullptr);
}

TEST(Breakages, WindowsAreFourTimesAsWide) {
  mad::EngineOptions options;
  const mad::EngineOptions wide = Widened(options);
  EXPECT_EQ(wide.window_max, 4 * options.window_max);
  EXPECT_EQ(wide.device_limit, 4 * options.device_limit);
}

}  // namespace
}  // namespace fabricd::sweep
