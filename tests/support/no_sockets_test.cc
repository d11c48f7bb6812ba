// SPDX-License-Identifier: Apache-2.0
// A hermetic test that opens a socket is killed.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <csignal>

#include <gtest/gtest.h>

namespace {

TEST(HermeticTests, ASocketKillsTheTest) {
  constexpr int kFiltered = 2;
  if (prctl(PR_GET_SECCOMP) != kFiltered) GTEST_SKIP() << "the kernel takes no filter";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(socket(AF_INET, SOCK_STREAM, 0), testing::KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(socket(AF_UNIX, SOCK_STREAM, 0), testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
