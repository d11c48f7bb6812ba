// SPDX-License-Identifier: Apache-2.0
#include "sweep/interface/view.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

TEST(Phase, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int phase = 0; phase <= static_cast<int>(Phase::kSurveying); ++phase)
    names.insert(PhaseName(static_cast<Phase>(phase)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Phase::kSurveying) + 1);
  EXPECT_EQ(PhaseName(Phase::kDiscovering), "DISCOVERING");
}

TEST(FabricView, TheEmptyViewHasAllPartsThatAreNeverNull) {
  const auto view = EmptyView();
  ASSERT_NE(view, nullptr);
  ASSERT_NE(view->snapshot, nullptr);
  EXPECT_EQ(view->snapshot->node_count(), 0u);
  ASSERT_NE(view->lids, nullptr);
  EXPECT_EQ(view->lids->port_count(), 0u);
  ASSERT_NE(view->groups, nullptr);
  ASSERT_NE(view->multicast, nullptr);
  ASSERT_NE(view->partitions, nullptr);
  ASSERT_NE(view->policy, nullptr);
  EXPECT_EQ(view->plan, nullptr);
  EXPECT_FALSE(view->subnet_up);
}

}  // namespace
}  // namespace fabricd::sweep
