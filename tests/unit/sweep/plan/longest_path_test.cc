// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/longest_path.h"

#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

class LongestPathTest : public testing::Test {
 protected:
  // Hosts 0 and 1 at ports 1 of the switches, LIDs 3 and 4; the switches 1 and 2.
  LongestPathTest() {
    for (uint16_t i : {0, 1}) {
      lids_.Assign({fabric_.switches[i], PortNum(0)}, {Lid(static_cast<uint16_t>(1 + i)), 0});
      lids_.Assign(fabric_.Host(i), {Lid(static_cast<uint16_t>(3 + i)), 0});
    }
    near_.Set(3, 1), near_.Set(4, 36);
    far_.Set(3, 36), far_.Set(4, 1);
  }
  uint32_t Longest() {
    routing::RoutingPlan plan;
    plan.rows = {std::make_shared<const routing::Row>(near_),
                 std::make_shared<const routing::Row>(far_)};
    return LongestPath(plan, *fabric_.builder.Build(), lids_);
  }

  SmallFabric fabric_{2};
  fabric::LidTable lids_;
  routing::Row near_ = routing::Row(64, routing::kNoRoute), far_ = near_;
};

TEST_F(LongestPathTest, CountsTheLinksOfBothEndsAndThoseBetweenSwitches) {
  EXPECT_EQ(Longest(), 3u);
}

TEST_F(LongestPathTest, WithoutRoutesThereIsNone) {
  near_ = far_ = routing::Row(64, routing::kNoRoute);
  EXPECT_EQ(Longest(), 0u);
  near_ = far_ = routing::Row();
  EXPECT_EQ(Longest(), 0u) << "nor where the tables do not reach so far";
}

TEST_F(LongestPathTest, AnEntryThatEndsAtADeadPortLeadsNowhere) {
  far_.Set(3, 30);
  near_.Set(4, 30);
  EXPECT_EQ(Longest(), 2u) << "each switch reaches its own host";
}

TEST_F(LongestPathTest, ALoopIsNoPath) {
  near_.Set(3, 36);
  far_.Set(4, 36);
  EXPECT_EQ(Longest(), 0u);
}

TEST_F(LongestPathTest, ASwitchWithoutHostsIsADestinationByItsOwnLid) {
  fabric_.builder.Unlink(fabric_.Host(1));
  near_.Set(2, 36);
  far_.Set(2, 0);
  EXPECT_EQ(Longest(), 3u) << "from the far switch to host 0";
  far_.Set(3, routing::kNoRoute);
  EXPECT_EQ(Longest(), 2u) << "from the near switch to the far one";
}

}  // namespace
}  // namespace fabricd::sweep
