// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/action_guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::policy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ActionGuardsTest : public ::testing::Test {
 protected:
  ActionGuardsTest() {
    standing_.stage = Stage::kBad;
    standing_.verdict = found_.verdict = Verdict::kNoisyPhy;
    found_.confidence = 0.95;
    options_.configured = Action::kCordon;
    facts_.hosts = 1000;
  }
  void ExpectRefused(std::string_view guard) {
    const ActionDecision decision = Decide(standing_, found_, facts_, options_, breaker_);
    EXPECT_EQ(decision.action, Action::kRecommend);
    EXPECT_EQ(decision.refused_by, guard);
  }
  Action Decided() { return Decide(standing_, found_, facts_, options_, breaker_).action; }
  Standing standing_;
  LinkVerdict found_;
  ActionFacts facts_;
  ActionOptions options_;
  ActionBreaker breaker_;
};

TEST_F(ActionGuardsTest, ByDefaultItIsOnlyRecommended) {
  options_ = ActionOptions();
  EXPECT_EQ(Decided(), Action::kRecommend);
}

TEST_F(ActionGuardsTest, AnActionThatPassesEveryGuardIsTaken) {
  EXPECT_EQ(Decided(), Action::kCordon);
}

TEST_F(ActionGuardsTest, OnlyBadAndKnownLinksAreActedUpon) {
  standing_.is_known = false;
  EXPECT_EQ(Decided(), Action::kNone);
  standing_.is_known = true;
  for (const Stage stage :
       {Stage::kHealthy, Stage::kSuspect, Stage::kRecovering, Stage::kUnknown}) {
    standing_.stage = stage;
    EXPECT_EQ(Decided(), Action::kNone);
  }
}

TEST_F(ActionGuardsTest, CommonCausesRefuse) {
  facts_.is_blackout = true;
  ExpectRefused("telemetry black-out");
  facts_ = {.has_common_cause = true};
  ExpectRefused("common cause");
  facts_ = {.is_family_frozen = true};
  ExpectRefused("device family");
}

TEST_F(ActionGuardsTest, LowConfidenceRefuses) {
  found_.confidence = 0.5;
  ExpectRefused("confidence");
}

TEST_F(ActionGuardsTest, TheBudgetIsTenOrHalfAPercent) {
  facts_.in_effect = 9;
  EXPECT_EQ(Decided(), Action::kCordon);
  facts_.in_effect = 10;
  ExpectRefused("budget");
  facts_.hosts = 11'664;
  facts_.in_effect = 57;
  EXPECT_EQ(Decided(), Action::kCordon);
  facts_.in_effect = 58;
  ExpectRefused("budget");
}

TEST_F(ActionGuardsTest, TheBreakerOpensAtFivePercentWithinTenMinutes) {
  const Instant begin(std::chrono::hours(1));
  for (int i = 0; i < 49; ++i) breaker_.Count(begin, 1000, options_);
  EXPECT_FALSE(breaker_.is_open());
  breaker_.Count(begin + std::chrono::minutes(10), 1000, options_);  // The others are too old.
  EXPECT_FALSE(breaker_.is_open());
  for (int i = 0; i < 49; ++i) breaker_.Count(begin + std::chrono::minutes(11), 1000, options_);
  EXPECT_TRUE(breaker_.is_open());
  ExpectRefused("breaker");
  breaker_.Reset();
  EXPECT_EQ(Decided(), Action::kCordon);
}

TEST_F(ActionGuardsTest, HostLinksAreCordonedWhereTheyMayNotBeIsolated) {
  options_.configured = Action::kIsolate;
  EXPECT_EQ(Decided(), Action::kCordon);
  options_.may_isolate_hosts = true;
  EXPECT_EQ(Decided(), Action::kIsolate);
}

TEST_F(ActionGuardsTest, TheLastPathAndOurOwnAreNeverTaken) {
  options_.configured = Action::kIsolate;
  options_.may_isolate_hosts = true;
  facts_.is_last_path = true;
  ExpectRefused("last path");
  facts_.is_own_path = true;
  ExpectRefused("SM's own path");
}

TEST_F(ActionGuardsTest, TrunkLinksNeedRedundancyAndAreNotCordoned) {
  facts_.is_host_link = false;
  ExpectRefused("trunk link");
  options_.configured = Action::kIsolate;
  ExpectRefused("redundancy");
  facts_.is_redundant = true;
  EXPECT_EQ(Decided(), Action::kIsolate);
}

TEST_F(ActionGuardsTest, BadOptionsAreListed) {
  EXPECT_THAT(Check(options_), IsEmpty());
  options_.budget_share = -1;
  options_.breaker_window = Duration::zero();
  EXPECT_THAT(Check(options_), SizeIs(2));
}

}  // namespace
}  // namespace fabricd::policy
