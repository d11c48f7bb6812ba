// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/sweep_budget.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;

TEST(SweepBudget, GivesFiveAtOnceAndThenOneInTenSeconds) {
  SweepBudget budget;
  Instant now(1000s);
  for (int i = 0; i < SweepBudget::kMost; ++i) EXPECT_TRUE(budget.Take(now)) << i;
  EXPECT_FALSE(budget.Take(now));
  EXPECT_FALSE(budget.Take(now + SweepBudget::kPeriod - 1ms));
  now += SweepBudget::kPeriod;
  EXPECT_TRUE(budget.Take(now));
  EXPECT_FALSE(budget.Take(now));
}

TEST(SweepBudget, IsFullAfterAQuietTimeAndNeverMoreThanFull) {
  SweepBudget budget;
  Instant now(1000s);
  for (int i = 0; i < SweepBudget::kMost; ++i) budget.Take(now);
  now += 10 * SweepBudget::kMost * SweepBudget::kPeriod;
  int taken = 0;
  while (budget.Take(now)) ++taken;
  EXPECT_EQ(taken, SweepBudget::kMost);
}

}  // namespace
}  // namespace fabricd::sweep
