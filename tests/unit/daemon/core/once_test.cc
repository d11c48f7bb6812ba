// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/once.h"

#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using std::chrono::seconds;

class OnceWatchTest : public ::testing::Test {
 protected:
  // The exit code, -1 while it goes on.
  int After(Duration time, OnceWatch::Facts facts) {
    const auto end = watch_.Judge(std::move(facts), Instant() + time);
    return end ? end->exit_code : -1;
  }
  OnceWatch watch_;
};

TEST_F(OnceWatchTest, EndsWithASubnetThatIsUpAndAtRest) {
  EXPECT_EQ(After(seconds(0), {.subnet_up = true, .sweeps_done = 1}), -1);
  EXPECT_EQ(After(seconds(1), {.idle = true, .subnet_up = true}), -1);
  EXPECT_EQ(After(seconds(2), {.idle = true, .subnet_up = true, .sweeps_done = 1}), 0);
}

TEST_F(OnceWatchTest, EndsAsStandbyThatHasSweptNothing) {
  EXPECT_EQ(After(seconds(0), {.idle = true, .standby = true}), 1);
}

TEST_F(OnceWatchTest, EndsAfterTheFirstSweepWhereNothingIsToBeBroughtUp) {
  EXPECT_EQ(After(seconds(0), {.idle = true, .why_not = "it only reads"}), -1);
  EXPECT_EQ(After(seconds(1), {.why_not = "it only reads", .sweeps_done = 1}), -1);
  EXPECT_EQ(After(seconds(2), {.idle = true, .why_not = "it only reads", .sweeps_done = 1}), 1);
}

TEST_F(OnceWatchTest, EndsAfterThreeSweepsThatDidNotSuffice) {
  EXPECT_EQ(After(seconds(0), {.idle = true, .sweeps_done = 2}), -1);
  EXPECT_EQ(After(seconds(1), {.sweeps_done = 3}), -1);
  EXPECT_EQ(After(seconds(2), {.idle = true, .sweeps_done = 3}), 1);
}

TEST_F(OnceWatchTest, EndsWhenNothingMoves) {
  EXPECT_EQ(After(seconds(0), {.progress = "discovery 1"}), -1);
  EXPECT_EQ(After(seconds(60), {.progress = "discovery 2"}), -1);
  EXPECT_EQ(After(seconds(149), {.progress = "discovery 2"}), -1);
  EXPECT_EQ(After(seconds(150), {.progress = "discovery 2"}), 1);
}

TEST_F(OnceWatchTest, EndsAfterTheLimitDespiteProgress) {
  int code = -1;
  int at = 0;
  for (; code == -1 && at < 7200; ++at) code = After(seconds(at), {.progress = std::to_string(at)});
  EXPECT_EQ(code, 1);
  EXPECT_EQ(seconds(at - 1), OnceWatch::kLongest);
}

}  // namespace
}  // namespace fabricd::daemon
