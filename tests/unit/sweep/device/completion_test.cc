// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/completion.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using Outcome = mad::Completion::Outcome;

mad::Completion CompletionWith(Outcome outcome, uint16_t status = 0) {
  mad::Completion completion;
  completion.outcome = outcome;
  completion.status = status;
  return completion;
}

TEST(Completion, OnlyAnAnswerWithStatusZeroIsOk) {
  EXPECT_TRUE(IsOk(CompletionWith(Outcome::kResponse)));
  EXPECT_FALSE(IsOk(CompletionWith(Outcome::kResponse, 0x1C)));
  EXPECT_FALSE(IsOk(CompletionWith(Outcome::kTimedOut)));
  EXPECT_FALSE(IsOk(CompletionWith(Outcome::kSendFailed)));
  EXPECT_FALSE(IsOk(CompletionWith(Outcome::kCancelled)));
}

TEST(Completion, EachOtherOutcomeHasWordsOfItsOwn) {
  EXPECT_EQ(WhyNot(CompletionWith(Outcome::kResponse, 0x1C)), "status 0x001c");
  EXPECT_EQ(WhyNot(CompletionWith(Outcome::kTimedOut)), "no answer");
  EXPECT_EQ(WhyNot(CompletionWith(Outcome::kSendFailed)), "could not be sent");
  EXPECT_EQ(WhyNot(CompletionWith(Outcome::kCancelled)), "not sent");
}

}  // namespace
}  // namespace fabricd::sweep
