// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/log_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace fabricd::daemon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kInfo = 2, kError = 4;

TEST(LogGateTest, LinesThatDifferInNamesAndNumbersAreOfOneKind) {
  const auto kind = LogGate::KindOf("LinkDown: leaf1/7 ↔ node0001 mlx5_0/1: trap 128");
  EXPECT_EQ(kind, LogGate::KindOf("LinkDown: leaf12/3 ↔ node0441 mlx5_3/1: trap 128"));
  EXPECT_NE(kind, LogGate::KindOf("LinkUp: leaf1/7 ↔ node0001 mlx5_0/1: trap 128"));
  EXPECT_EQ(LogGate::KindOf("trap 130 from LID 0x12"), LogGate::KindOf("trap 4 from LID 0x7"));
}

TEST(LogGateTest, OneKindIsBoundedAndCountsDroppedLines) {
  LogGate gate({.kind_burst = 3, .kind_interval = seconds(10)});
  Instant now(hours(1));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(gate.Admit(kInfo, fmt::format("trap {} from LID {}", i, i), now).write, i < 3);
  // Another kind, and another level, have bounds of their own.
  EXPECT_TRUE(gate.Admit(kInfo, "subnet up", now).write);
  EXPECT_TRUE(gate.Admit(kError, "trap 1 from LID 1", now).write);
  const auto later = gate.Admit(kInfo, "trap 7 from LID 7", now + seconds(10));
  EXPECT_TRUE(later.write);
  EXPECT_EQ(later.left_out, 97u);
}

TEST(LogGateTest, DroppedLinesOfAQuietKindAreSummarised) {
  LogGate gate({.kind_burst = 1, .kind_interval = seconds(10)});
  const Instant now(hours(1));
  for (int i = 0; i < 4; ++i) (void)gate.Admit(kInfo, fmt::format("link {} down", i), now);
  EXPECT_TRUE(gate.TakeSummaries(now + seconds(9)).empty());
  const auto summaries = gate.TakeSummaries(now + seconds(10));
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].left_out, 3u);
  EXPECT_EQ(summaries[0].last, "link 3 down");
  EXPECT_EQ(summaries[0].level, kInfo);
  EXPECT_EQ(gate.kinds(), 1u);
  EXPECT_TRUE(gate.TakeSummaries(now + seconds(30)).empty());
  EXPECT_EQ(gate.kinds(), 0u);
}

// Bounds the lines that a hostile host, or a fabric in which every link flaps, causes in an hour.
TEST(LogGateTest, AnHourOfEveryKindIsBounded) {
  LogGate gate;
  size_t bytes = 0;
  Instant now(hours(1));
  for (int i = 0; i < 36'000; ++i, now += milliseconds(100)) {
    // A thousand kinds: words without digits.
    const std::string word{static_cast<char>('a' + i % 26), static_cast<char>('a' + i % 25),
                           static_cast<char>('a' + i % 24)};
    const std::string text = fmt::format("trap {} from a port named {}", i, word);
    if (gate.Admit(kInfo, text, now).write) bytes += text.size();
    if (i % 10 == 0)
      for (const auto& summary : gate.TakeSummaries(now)) bytes += summary.last.size();
    ASSERT_LE(gate.kinds(), 257u);
  }
  EXPECT_LT(bytes, 1'000'000u);
  EXPECT_GT(bytes, 100'000u);
}

}  // namespace
}  // namespace fabricd::daemon
