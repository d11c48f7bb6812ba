// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/verdict_inbox.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

using Clock = std::chrono::steady_clock;

class VerdictInboxTest : public ::testing::Test {
 protected:
  // What is there, without waiting.
  VerdictInbox::Arrivals Take() {
    VerdictInbox::Arrivals arrivals;
    is_open_ = inbox_.Take(arrivals, Clock::now());
    return arrivals;
  }

  VerdictInbox inbox_;
  bool is_open_ = true;
};

TEST_F(VerdictInboxTest, EverythingThatHasComeIsTakenOnce) {
  ASSERT_TRUE(inbox_.Push(VerdictInbox::Question{PortRef{}, {}}));
  inbox_.Push(VerdictInbox::HoldAnswer{{}, 7u});
  inbox_.Push(VerdictOptions());
  inbox_.PushWritten(absl::OkStatus());
  const VerdictInbox::Arrivals first = Take();
  EXPECT_EQ(first.questions.size(), 1u);
  EXPECT_EQ(first.holds.size(), 1u);
  EXPECT_TRUE(first.options.has_value());
  EXPECT_TRUE(first.written.has_value());
  const VerdictInbox::Arrivals second = Take();
  EXPECT_TRUE(second.questions.empty() && second.holds.empty());
  EXPECT_FALSE(second.options || second.written);
}

TEST_F(VerdictInboxTest, AQuestionThatFindsItFullIsLeftToItsCaller) {
  for (size_t i = 0; i < VerdictInbox::kMaxQuestions; ++i)
    ASSERT_TRUE(inbox_.Push(VerdictInbox::Question{PortRef{}, [](const auto&, const auto&) {}}));
  VerdictInbox::Question question{PortRef{}, [](const auto&, const auto&) {}};
  EXPECT_FALSE(inbox_.Push(std::move(question)));
  EXPECT_TRUE(question.done);
  Take();
  EXPECT_TRUE(inbox_.Push(std::move(question)));
}

TEST_F(VerdictInboxTest, QuestionsEndTheWaitAndAnswersAboutHoldsDoNot) {
  inbox_.Push(VerdictInbox::HoldAnswer{{}, 7u});
  const auto begin = Clock::now();
  VerdictInbox::Arrivals arrivals;
  inbox_.Take(arrivals, begin + std::chrono::milliseconds(20));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_EQ(arrivals.holds.size(), 1u);
  std::thread requester([this] {
    EXPECT_TRUE(inbox_.Push(VerdictInbox::Question{PortRef{}, {}}));
  });
  inbox_.Take(arrivals, Clock::now() + std::chrono::minutes(10));
  EXPECT_EQ(arrivals.questions.size(), 1u);
  requester.join();
}

TEST_F(VerdictInboxTest, AfterCloseTheRestIsTakenForTheLastTime) {
  ASSERT_TRUE(inbox_.Push(VerdictInbox::Question{PortRef{}, {}}));
  EXPECT_EQ(Take().questions.size(), 1u);
  EXPECT_TRUE(is_open_);
  ASSERT_TRUE(inbox_.Push(VerdictInbox::Question{PortRef{}, {}}));
  inbox_.Close();
  EXPECT_FALSE(inbox_.Push(VerdictInbox::Question{PortRef{}, {}}));
  EXPECT_EQ(Take().questions.size(), 1u);
  EXPECT_FALSE(is_open_);
}

}  // namespace
}  // namespace fabricd::daemon
