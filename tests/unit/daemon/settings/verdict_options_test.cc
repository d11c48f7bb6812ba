// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/verdict_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

using ::testing::HasSubstr;

TEST(VerdictOptions, DefaultsAreThoseOfThePolicy) {
  const auto options = ToVerdictOptions(config::Config());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->responder.actions.configured, policy::Action::kRecommend);
  EXPECT_EQ(options->responder.actions.min_confidence, policy::ActionOptions().min_confidence);
  EXPECT_EQ(options->responder.actions.budget_share, policy::ActionOptions().budget_share);
  EXPECT_EQ(options->responder.actions.breaker_share, policy::ActionOptions().breaker_share);
  EXPECT_EQ(options->assessor.clocks.clean, policy::BookClocks().clean);
}

TEST(VerdictOptions, LimitsReplaceTheDefaults) {
  config::Config config;
  config.verdicts.action = "isolate";
  config.verdicts.limits = {"link_downs 2 4 6"};
  const auto options = ToVerdictOptions(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->responder.actions.configured, policy::Action::kIsolate);
  EXPECT_EQ(options->assessor.limits.link_downs.strong, 4u);
}

TEST(VerdictOptions, EveryFaultyLimitIsNamed) {
  config::Config config;
  config.verdicts.limits = {"link_downs 2 4 6", "wait 2", "traps 9 5 0"};
  const auto faults = CheckVerdicts(config);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].path, "verdicts.limits[1]");
  EXPECT_EQ(faults[1].path, "verdicts.limits");
  EXPECT_THAT(faults[1].message, HasSubstr("traps"));
  EXPECT_THAT(Message(ToVerdictOptions(config).status()), HasSubstr("verdicts.limits[1]: wait"));
}

}  // namespace
}  // namespace fabricd::daemon
