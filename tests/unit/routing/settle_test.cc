// SPDX-License-Identifier: Apache-2.0
#include "routing/settle.h"

#include <gtest/gtest.h>

namespace fabricd::routing {
namespace {

using std::chrono::seconds;
using Kind = SettleStep::Kind;

constexpr SettlePolicy kPolicy{1.25, seconds(100), seconds(10)};

TEST(NextSettleStep, TheIdealPlanStays) {
  const SettleStep step = NextSettleStep(kPolicy, {true, 0, 9, 1, seconds(1000)});
  EXPECT_EQ(step.kind, Kind::kStay);
  EXPECT_EQ(step.again, Duration::max());
}

TEST(NextSettleStep, PendingPairsAreMendedAtOnce) {
  EXPECT_EQ(NextSettleStep(kPolicy, {false, 1, 1, 1, seconds(0)}).kind, Kind::kMend);
  EXPECT_EQ(NextSettleStep(kPolicy, {false, 1, 1, 1, seconds(100)}).kind, Kind::kIdeal);
}

TEST(NextSettleStep, AGoodPlanStandsLongerThanABadOne) {
  const SettleStep good = NextSettleStep(kPolicy, {false, 0, 1.25, 1, seconds(40)});
  EXPECT_EQ(good.kind, Kind::kStay);
  EXPECT_EQ(good.again, seconds(60));
  const SettleStep bad = NextSettleStep(kPolicy, {false, 0, 1.26, 1, seconds(4)});
  EXPECT_EQ(bad.kind, Kind::kStay);
  EXPECT_EQ(bad.again, seconds(6));
  EXPECT_EQ(NextSettleStep(kPolicy, {false, 0, 1.26, 1, seconds(10)}).kind, Kind::kIdeal);
  EXPECT_EQ(NextSettleStep(kPolicy, {false, 0, 1.25, 1, seconds(100)}).kind, Kind::kIdeal);
}

TEST(NextSettleStep, AnUnknownBoundIsNoExcuse) {
  EXPECT_EQ(NextSettleStep(kPolicy, {false, 0, 0, 0, seconds(10)}).kind, Kind::kIdeal);
}

}  // namespace
}  // namespace fabricd::routing
