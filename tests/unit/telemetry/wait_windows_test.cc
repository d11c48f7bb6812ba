// SPDX-License-Identifier: Apache-2.0
#include "telemetry/wait_windows.h"

#include <gtest/gtest.h>

namespace fabricd::telemetry {
namespace {

constexpr uint64_t kLength = WaitWindows::kLength;

void Add(WaitWindows& windows, uint64_t at, uint64_t window, double wait, double sent) {
  windows.AddWait(at, window, wait);
  windows.AddSent(at, window, sent);
}

TEST(WaitWindowsTest, AReadingIsSplitAtTheEndOfAWindow) {
  WaitWindows windows;
  // 30 s each, in the middle of which windows end; the second window waits.
  for (uint64_t at = 45'000; at <= 3 * kLength; at += 30'000) {
    Add(windows, at, 30'000, at > kLength && at <= 2 * kLength ? 0.5 : 0, 0.25);
  }
  ASSERT_TRUE(windows.Read(2 * kLength + 15'000, 1));
  EXPECT_NEAR(windows.Read(2 * kLength + 15'000, 1)->share, 0.5, 0.03);
  EXPECT_NEAR(windows.Read(2 * kLength + 15'000, 1)->utilisation, 0.25, 1e-3);
  EXPECT_NEAR(windows.Read(2 * kLength + 15'000, 2)->share, 0.025, 2e-3);
}

TEST(WaitWindowsTest, AWindowOfWhichTooLittleWasReadIsNotKnown) {
  WaitWindows windows;
  Add(windows, 200'000, 200'000, 0.5, 0.5);
  EXPECT_FALSE(windows.Read(kLength, 1));
  Add(windows, 230'000, 30'000, 0.5, 0.5);
  EXPECT_TRUE(windows.Read(kLength, 1));
}

TEST(WaitWindowsTest, WaitWithoutARateIsNotKnown) {
  WaitWindows windows;
  windows.AddWait(kLength, kLength, 0.5);
  EXPECT_FALSE(windows.Read(kLength, 1));
}

TEST(WaitWindowsTest, TheLastThreeAreKeptAndNoneThatIsOlder) {
  WaitWindows windows;
  for (uint64_t n = 1; n <= 5; ++n) Add(windows, n * kLength, kLength, 0.1 * double(n), 0.5);
  const uint64_t now = 5 * kLength + 1;
  EXPECT_NEAR(windows.Read(now, 1)->share, 0.5, 1e-3);
  EXPECT_NEAR(windows.Read(now, 3)->share, 0.3, 1e-3);
  EXPECT_FALSE(windows.Read(now, 4));
  // Nothing came since.
  EXPECT_FALSE(windows.Read(now + 2 * kLength, 1));
  EXPECT_NEAR(windows.Read(now + 2 * kLength, 3)->share, 0.5, 1e-3);
}

TEST(WaitWindowsTest, APauseLeavesNothingOld) {
  WaitWindows windows;
  for (uint64_t n = 1; n <= 3; ++n) Add(windows, n * kLength, kLength, 0.9, 0.5);
  Add(windows, 9 * kLength, kLength, 0.1, 0.5);
  EXPECT_NEAR(windows.Read(9 * kLength, 1)->share, 0.1, 1e-3);
  EXPECT_FALSE(windows.Read(9 * kLength, 2));
  EXPECT_FALSE(windows.Read(9 * kLength, 3));
}

TEST(WaitWindowsTest, AReadingOverSeveralWindowsIsOfAllOfThem) {
  WaitWindows windows;
  Add(windows, 4 * kLength, 3 * kLength, 0.4, 0.5);
  for (uint32_t back : {1, 2, 3}) EXPECT_NEAR(windows.Read(4 * kLength, back)->share, 0.4, 1e-3);
}

}  // namespace
}  // namespace fabricd::telemetry
