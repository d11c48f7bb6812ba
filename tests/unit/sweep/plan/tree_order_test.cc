// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/tree_order.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

routing::RoutingPlan Ordered() {
  routing::RoutingPlan plan;
  plan.order = {1, 2};
  return plan;
}

TEST(TreeOrder, TreesOfOneOrderStayAndMixWithNewOnes) {
  TreeOrder order;
  order.OnPlan(/*keeps_trees=*/true, /*mixes_trees=*/true, /*has_order=*/true);
  EXPECT_FALSE(order.MustWithdraw());
  EXPECT_TRUE(order.MayMix(Ordered()));
}

TEST(TreeOrder, APlanWithoutOrderMixesWithNothing) {
  const TreeOrder order;
  EXPECT_FALSE(order.MayMix(routing::RoutingPlan()));
}

TEST(TreeOrder, TreesThatDoNotFitAreWithdrawnUntilTheNewOnesAreThere) {
  TreeOrder order;
  order.OnPlan(/*keeps_trees=*/false, true, true);
  EXPECT_TRUE(order.MustWithdraw());
  order.OnPlan(/*keeps_trees=*/true, true, true);
  EXPECT_TRUE(order.MustWithdraw());
  order.OnTreesDone();
  EXPECT_FALSE(order.MustWithdraw());
}

TEST(TreeOrder, TreesOfAnotherOrderStayForOnePlanOnly) {
  TreeOrder order;
  order.OnPlan(/*keeps_trees=*/true, /*mixes_trees=*/false, true);
  EXPECT_FALSE(order.MustWithdraw());
  EXPECT_FALSE(order.MayMix(Ordered()));
  order.OnPlan(/*keeps_trees=*/true, /*mixes_trees=*/true, true);
  EXPECT_TRUE(order.MustWithdraw());
  order.OnTreesDone();
  EXPECT_TRUE(order.MayMix(Ordered()));
}

}  // namespace
}  // namespace fabricd::sweep
