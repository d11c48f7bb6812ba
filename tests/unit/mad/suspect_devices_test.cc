// SPDX-License-Identifier: Apache-2.0
// Which devices are suspect, and when an answer reveals that a MAD was lost.
#include "mad/suspect_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SuspectDevicesTest : public testing::Test {
 protected:
  SuspectDevicesTest() {
    for (DeviceId device = 0; device < 5; ++device) suspects_.Add(device);
  }
  SuspectDevices suspects_;
};

TEST_F(SuspectDevicesTest, ATimeoutMakesADeviceSuspectUntilItIsCleared) {
  EXPECT_FALSE(suspects_.IsSuspect(3));
  EXPECT_TRUE(suspects_.OnTimeout(3, 0));
  EXPECT_FALSE(suspects_.OnTimeout(3, 0)) << "it is suspect already";
  EXPECT_TRUE(suspects_.IsSuspect(3));
  EXPECT_EQ(suspects_.count(), 1u);
  EXPECT_TRUE(suspects_.Clear(3));
  EXPECT_FALSE(suspects_.Clear(3));
  EXPECT_FALSE(suspects_.IsSuspect(3));
  EXPECT_EQ(suspects_.count(), 0u);
}

TEST_F(SuspectDevicesTest, NewOnesAreReportedOnceInOrderUnlessClearedBefore) {
  for (const DeviceId device : {4u, 1u, 2u, 4u}) suspects_.OnTimeout(device, 0);
  suspects_.Clear(1);
  EXPECT_THAT(suspects_.TakeNew(), ElementsAre(4, 2));
  EXPECT_THAT(suspects_.TakeNew(), IsEmpty());
  suspects_.Clear(4);
  suspects_.OnTimeout(4, 0);
  EXPECT_THAT(suspects_.TakeNew(), ElementsAre(4));
}

TEST_F(SuspectDevicesTest, AnAnswerRevealsALossOfAMadThatLeftAfterTheLastShrink) {
  EXPECT_FALSE(suspects_.WouldRevealLoss(0, 7)) << "not suspect";
  suspects_.OnTimeout(0, 7);
  EXPECT_TRUE(suspects_.WouldRevealLoss(0, 7));
  EXPECT_FALSE(suspects_.WouldRevealLoss(0, 8)) << "the window has shrunk since";
  suspects_.OnTimeout(0, 8);
  EXPECT_FALSE(suspects_.WouldRevealLoss(0, 8)) << "the first lost MAD counts";
}

TEST_F(SuspectDevicesTest, TheTimeOfTheLastAnswerIsKeptApartFromSuspicion) {
  EXPECT_EQ(suspects_.answered_at(0), Instant::min());
  suspects_.OnTimeout(0, 0);
  const Instant at{std::chrono::seconds(3)};
  suspects_.OnAnswer(0, at);
  EXPECT_EQ(suspects_.answered_at(0), at);
  EXPECT_TRUE(suspects_.IsSuspect(0));
}

}  // namespace
}  // namespace fabricd::mad
