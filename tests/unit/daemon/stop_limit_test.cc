// SPDX-License-Identifier: Apache-2.0
#include "daemon/stop_limit.h"

#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

TEST(StopLimitTest, EndsAProcessThatDoesNotStop) {
  // A process of its own: ThreadSanitizer allows no threads after a fork from among threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopLimit limit(std::chrono::milliseconds(20), 7);
        limit.At("the store");
        std::this_thread::sleep_for(std::chrono::minutes(10));
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(StopLimitTest, DoesNotAffectAProcessThatStops) {
  { StopLimit limit(std::chrono::hours(1)); }
  SUCCEED();
}

}  // namespace
}  // namespace fabricd::daemon
