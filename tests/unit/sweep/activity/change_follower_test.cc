// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/change_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/activity/activity_fixture.h"

namespace fabricd::sweep {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::Not;

class ChangeFollowerTest : public testing::Test, protected ActivityFixture {
 protected:
  PortRef Management(size_t i) const { return {small.switches[i], PortNum(0)}; }

  ChangeFollower follower_{ground(), observed};
};

TEST_F(ChangeFollowerTest, AReportedSwitchIsSurveyedWhenItsWindowEnds) {
  EXPECT_FALSE(follower_.IsReported(kNow));
  EXPECT_EQ(follower_.due(), kNever);
  follower_.Report(Management(0), "trap 128", kNow);
  EXPECT_TRUE(follower_.IsReported(kNow));
  EXPECT_EQ(follower_.due(), kNow + options.sweep.report_window);
  EXPECT_FALSE(follower_.SurveyReported(kNow));
  EXPECT_TRUE(follower_.empty());
  EXPECT_TRUE(follower_.SurveyReported(follower_.due()));
  EXPECT_FALSE(follower_.empty());
  EXPECT_THAT(Sent(kNow + milliseconds(5)), Not(IsEmpty()));
}

TEST_F(ChangeFollowerTest, HostsAndUnknownNodesAreNoSuspects) {
  follower_.Report(small.Host(1), "trap 144", kNow);
  follower_.Report({NodeIndex(99), PortNum(0)}, "trap 128", kNow);
  EXPECT_EQ(follower_.due(), kNever);
}

TEST_F(ChangeFollowerTest, AThoroughReportOfAHostConcernsItsSwitch) {
  follower_.ReportThorough({small.hosts[1]}, "a port changed meanwhile", kNow);
  EXPECT_TRUE(follower_.SurveyReported(follower_.due()));
  const auto sent = Sent(kNow + milliseconds(5));
  EXPECT_THAT(sent, Not(IsEmpty()));
  for (const wire::Smp& smp : sent) EXPECT_EQ(*smp.path, devices.PathTo(small.switches[1]));
}

TEST_F(ChangeFollowerTest, TheLinksOnThePathToAnUnresponsiveDeviceAreRead) {
  EXPECT_TRUE(follower_.SurveyPathsTo({small.hosts[3].value()}, kNow));
  follower_.Advance(kNow);
  const auto sent = Sent(kNow);
  EXPECT_THAT(sent, Not(IsEmpty()));
  EXPECT_THAT(sent, Each(Field(&wire::Smp::attribute, wire::AttributeId::kPortInfo)));
}

TEST_F(ChangeFollowerTest, WithoutAKnownPathNothingIsSurveyed) {
  EXPECT_FALSE(follower_.SurveyPathsTo({kProbeDevices}, kNow));
  EXPECT_TRUE(follower_.empty());
}

TEST_F(ChangeFollowerTest, AHeavySweepThatWaitsLeavesRoomOnlyForTheFirstSurvey) {
  EXPECT_TRUE(follower_.HasRoom(/*waits=*/true));
  follower_.SurveyUndone({small.switches[0]}, kNow);
  EXPECT_FALSE(follower_.HasRoom(/*waits=*/true));
  EXPECT_TRUE(follower_.HasRoom(/*waits=*/false));
  for (size_t i = 1; i < Surveys::kMost; ++i) follower_.SurveyUndone({small.switches[0]}, kNow);
  EXPECT_FALSE(follower_.HasRoom(/*waits=*/false));
}

TEST_F(ChangeFollowerTest, AfterClearNothingIsReportedOrSurveyed) {
  follower_.Report(Management(0), "trap 128", kNow);
  follower_.SurveyUndone({small.switches[0]}, kNow);
  follower_.Clear();
  EXPECT_TRUE(follower_.empty());
  EXPECT_EQ(follower_.due(), kNever);
}

}  // namespace
}  // namespace fabricd::sweep
