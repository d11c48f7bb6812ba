// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/hold_clock.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;

TEST(HoldClock, TimesOfTheBookAreByItsEpochUntilTheyAreRewritten) {
  HoldClock clock;
  EXPECT_FALSE(clock.MustRewrite());
  clock.Start(1'000);
  EXPECT_TRUE(clock.MustRewrite()) << "they were written by another one";
  EXPECT_EQ(clock.correction(), 0);
  EXPECT_EQ(clock.Wall(Instant(2s)), 3'000);
  EXPECT_EQ(clock.InstantOf(3'000), Instant(2s));
  clock.OnRewritten(1'000);
  EXPECT_FALSE(clock.MustRewrite());
  clock.Set(61'000);
  EXPECT_TRUE(clock.MustRewrite());
  EXPECT_EQ(clock.correction(), 60'000);
  EXPECT_EQ(clock.Wall(Instant(2s)), 3'000) << "until it is durable";
  clock.OnRewritten(61'000);
  EXPECT_EQ(clock.Wall(Instant(2s)), 63'000);
  EXPECT_FALSE(clock.MustRewrite());
}

TEST(HoldClock, AClockThatIsSetWhileItIsBeingRewrittenIsRewrittenAgain) {
  HoldClock clock;
  clock.Start(1'000);
  clock.Set(2'000);
  clock.OnRewritten(1'000);
  EXPECT_TRUE(clock.MustRewrite());
  EXPECT_EQ(clock.correction(), 1'000);
  EXPECT_EQ(clock.clock(), 2'000);
}

TEST(HoldClock, ACenturyIsForEver) {
  HoldClock clock;
  clock.Start(0);
  EXPECT_EQ(clock.InstantOf(int64_t{200} * 366 * 24 * 3600 * 1000), kNever);
  EXPECT_LT(clock.InstantOf(int64_t{50} * 366 * 24 * 3600 * 1000), kNever);
}

}  // namespace
}  // namespace fabricd::sweep
