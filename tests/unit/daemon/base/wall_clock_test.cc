// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/wall_clock.h"

#include <gtest/gtest.h>

namespace fabricd {
namespace {

TEST(WallClockWatchTest, ReportsAStepOfTheClockOnce) {
  WallClockWatch watch;
  const int64_t epoch = watch.epoch();
  EXPECT_FALSE(watch.Look());
  EXPECT_FALSE(watch.Look(5000, epoch + 5000, 5000));
  EXPECT_EQ(watch.Look(6000, epoch + 6000 + 7'200'000, 6000), epoch + 7'200'000);
  EXPECT_FALSE(watch.Look(7000, epoch + 7000 + 7'200'000, 7000));
  EXPECT_EQ(watch.Look(8000, epoch + 8000, 8000), epoch);
  EXPECT_EQ(watch.epoch(), epoch);
}

TEST(WallClockWatchTest, SmallStepsAddUp) {
  WallClockWatch watch;
  const int64_t epoch = watch.epoch();
  EXPECT_FALSE(watch.Look(5000, epoch + 5600, 5000));
  EXPECT_EQ(watch.Look(6000, epoch + 7200, 6000), epoch + 1200);
}

TEST(WallClockWatchTest, ADelayedThreadIsNoStep) {
  WallClockWatch watch;
  EXPECT_FALSE(watch.Look(5000, watch.epoch() + 5000, 9000));
}

}  // namespace
}  // namespace fabricd
