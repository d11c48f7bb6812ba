// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::policy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Source = Conditions::Source;

const Instant kStart(hours(1));
Source Traps(uint32_t node) { return {Rule::kNoisyTraps, {NodeIndex(node), PortNum(3)}}; }

TEST(SlidingCountTest, ForgetsCountsOlderThanTheWindow) {
  SlidingCount count;
  count.Add(5, kStart, seconds(16));
  count.Add(2, kStart + seconds(8), seconds(16));
  EXPECT_EQ(count.Total(kStart + seconds(15), seconds(16)), 7u);
  EXPECT_EQ(count.Total(kStart + seconds(16), seconds(16)), 2u);
  EXPECT_EQ(count.Total(kStart + seconds(24), seconds(16)), 0u);
  count.Add(1, kStart + hours(9), seconds(16));
  EXPECT_EQ(count.Total(kStart + hours(9), seconds(16)), 1u);
}

class ConditionsTest : public testing::Test {
 protected:
  ConditionsTest() {
    options_.noisy_traps = {ConditionMode::kRecommend, 60, seconds(90)};
    conditions_ = Conditions(options_);
  }
  ConditionOptions options_;
  Conditions conditions_{options_};
};

TEST_F(ConditionsTest, TheThresholdWithinTheWindowRaises) {
  for (int i = 0; i < 59; ++i)
    EXPECT_EQ(conditions_.Count(Traps(1), 1, "trap 129", kStart + seconds(i)), nullptr);
  const auto* raised = conditions_.Count(Traps(1), 1, "trap 131", kStart + seconds(60));
  ASSERT_NE(raised, nullptr);
  EXPECT_EQ(raised->count, 60u);
  EXPECT_EQ(raised->last, "trap 131");
  // Once.
  EXPECT_EQ(conditions_.Count(Traps(1), 7, "trap 129", kStart + seconds(61)), nullptr);
  ASSERT_EQ(conditions_.List().size(), 1u);
  EXPECT_EQ(conditions_.List()[0].total, 67u);
  EXPECT_EQ(conditions_.List()[0].since, kStart + seconds(60));
}

TEST_F(ConditionsTest, TheSameNumberOverALongerTimeDoesNot) {
  for (int i = 0; i < 600; ++i)
    EXPECT_EQ(conditions_.Count(Traps(1), 1, "", kStart + seconds(2 * i)), nullptr);
}

TEST_F(ConditionsTest, SourcesAndRulesAreApart) {
  conditions_.Count(Traps(1), 59, "", kStart);
  EXPECT_EQ(conditions_.Count(Traps(2), 59, "", kStart), nullptr);
  EXPECT_EQ(conditions_.Count({Rule::kTrapStorm, Traps(1).port}, 59, "", kStart), nullptr);
  EXPECT_NE(conditions_.Count(Traps(2), 1, "", kStart), nullptr);
}

TEST_F(ConditionsTest, ClearAfterTwoCleanWindows) {
  conditions_.Count(Traps(1), 60, "", kStart);
  // A few are no relapse, but what reaches the threshold is.
  conditions_.Count(Traps(1), 1, "", kStart + seconds(170));
  EXPECT_THAT(conditions_.OnTimer(kStart + seconds(179)), IsEmpty());
  conditions_.Count(Traps(1), 60, "", kStart + seconds(179));
  EXPECT_EQ(conditions_.NextDeadline(), kStart + seconds(359));
  EXPECT_THAT(conditions_.OnTimer(kStart + seconds(358)), IsEmpty());
  EXPECT_THAT(conditions_.OnTimer(kStart + seconds(359)), ElementsAre(Traps(1)));
  EXPECT_THAT(conditions_.List(), IsEmpty());
  EXPECT_EQ(conditions_.NextDeadline(), kNever);
}

TEST_F(ConditionsTest, QuietSourcesAreForgotten) {
  conditions_.Count(Traps(1), 5, "", kStart);
  EXPECT_EQ(conditions_.NextDeadline(), kStart + seconds(90));
  EXPECT_THAT(conditions_.OnTimer(kStart + seconds(90)), IsEmpty());
  EXPECT_EQ(conditions_.NextDeadline(), kNever);
}

TEST_F(ConditionsTest, MemoryIsBoundedAndTheRaisedStay) {
  conditions_.Count(Traps(0), 60, "", kStart);
  for (uint32_t i = 1; i < 3 * Conditions::kMaxSources; ++i)
    conditions_.Count(Traps(i), 59, "", kStart);
  EXPECT_EQ(conditions_.List().size(), 1u);
  // The first ones had to make room: their count begins anew.
  EXPECT_EQ(conditions_.Count(Traps(1), 1, "", kStart), nullptr);
  EXPECT_NE(conditions_.Count(Traps(3 * Conditions::kMaxSources - 1), 1, "", kStart), nullptr);
}

TEST_F(ConditionsTest, AStormOfTrapsCostsNoMemory) {
  for (int i = 0; i < 100'000; ++i)
    conditions_.Count({Rule::kTrapStorm, Traps(1).port}, 1, "", kStart + milliseconds(i / 10));
  ASSERT_EQ(conditions_.List().size(), 1u);
  EXPECT_EQ(conditions_.List()[0].total, 100'000u);
}

}  // namespace
}  // namespace fabricd::policy
