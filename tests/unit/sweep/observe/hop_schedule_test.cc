// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/hop_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr Instant kNow{100s};
const PortRef kNear{NodeIndex(1), PortNum(1)}, kFar{NodeIndex(2), PortNum(1)},
    kOther{NodeIndex(3), PortNum(7)};

TEST(HopSchedule, GivesTheNearestPortsFirstWhenNothingIsOut) {
  HopSchedule hops;
  EXPECT_TRUE(hops.empty());
  hops.Add(2, kFar);
  hops.Add(1, kNear);
  hops.Add(1, kOther);
  auto due = hops.Take(kNow);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->hops, 1);
  EXPECT_THAT(due->ports, ElementsAre(kNear, kOther));
  due = hops.Take(kNow);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->hops, 2);
  EXPECT_EQ(hops.Take(kNow), std::nullopt);
  EXPECT_TRUE(hops.empty());
}

TEST(HopSchedule, WaitsForProbesOfAsManyHopsOrFewer) {
  HopSchedule hops;
  hops.OnSent(2);
  hops.OnSent(2);
  hops.SetDeadline(kNow + 50ms);
  hops.Add(2, kFar);
  EXPECT_EQ(hops.Take(kNow), std::nullopt);
  hops.OnAnswered(2, kNow + 60ms);
  EXPECT_EQ(hops.Take(kNow), std::nullopt) << "one is out still";
  hops.OnAnswered(2, kNow + 70ms);
  EXPECT_TRUE(hops.Take(kNow).has_value());
}

TEST(HopSchedule, ProbesOfMoreHopsHoldNothingUp) {
  HopSchedule hops;
  hops.OnSent(3);
  hops.SetDeadline(kNow + 50ms);
  hops.Add(2, kFar);
  EXPECT_TRUE(hops.Take(kNow).has_value());
}

TEST(HopSchedule, ADeadDeviceHoldsTheNextHopUpToTheDeadlineOnly) {
  HopSchedule hops;
  hops.OnSent(1);
  hops.OnSent(1);
  hops.Add(1, kNear);
  hops.OnAnswered(1, kNow + 50ms);
  EXPECT_EQ(hops.deadline(), kNow + 50ms);
  EXPECT_EQ(hops.Take(kNow + 49ms), std::nullopt);
  EXPECT_TRUE(hops.Take(kNow + 50ms).has_value());
}

TEST(HopSchedule, WithNothingToProbeThereIsNoDeadline) {
  HopSchedule hops;
  hops.SetDeadline(kNow);
  EXPECT_EQ(hops.Take(kNow), std::nullopt);
  EXPECT_EQ(hops.deadline(), kNever);
}

}  // namespace
}  // namespace fabricd::sweep
