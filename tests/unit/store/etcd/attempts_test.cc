// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/attempts.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class AttemptsTest : public ::testing::Test {
 protected:
  // Each attempt takes as long as it may, and is answered by the next of `answers`.
  absl::Status Call(CallKind kind, std::vector<absl::Status> answers) {
    asked_.clear();
    return CallMembers(3, preferred_, options_, limit_, clock_, kind,
                       [&](size_t member, milliseconds timeout) {
                         now_ += timeout;
                         asked_.push_back(member);
                         return answers.at(asked_.size() - 1);
                       });
  }
  const absl::Status lost_ = Unavailable("no answer");
  ClientOptions options_;
  CallLimit limit_;
  std::chrono::nanoseconds now_{};
  const AttemptClock clock_{[this] { return now_; }, [this](milliseconds time) { now_ += time; }};
  std::atomic<size_t> preferred_ = 1;
  std::vector<size_t> asked_;
};

TEST_F(AttemptsTest, BeginWithTheMemberThatAnsweredLast) {
  EXPECT_TRUE(Call(CallKind::kOther, {lost_, absl::OkStatus()}).ok());
  EXPECT_THAT(asked_, ElementsAre(1, 2));
  EXPECT_TRUE(Call(CallKind::kOther, {absl::OkStatus()}).ok());
  EXPECT_THAT(asked_, ElementsAre(2));
}

TEST_F(AttemptsTest, EndWithTheTimeout) {
  EXPECT_EQ(Call(CallKind::kChange, {lost_, lost_, lost_, lost_}), lost_);
  EXPECT_GE(now_, options_.timeout);
  EXPECT_LE(now_, options_.timeout + milliseconds(50));
}

// Each member is asked in its share, and what one call has used the next one has not.
TEST_F(AttemptsTest, EndWithTheLimitOfAllCalls) {
  limit_.Set(milliseconds(900), now_);
  EXPECT_TRUE(Call(CallKind::kOther, {lost_, absl::OkStatus()}).ok());
  EXPECT_EQ(now_, milliseconds(600));
  EXPECT_EQ(Call(CallKind::kOther, {lost_}), lost_);
  EXPECT_LE(now_, milliseconds(950));
  EXPECT_EQ(Call(CallKind::kOther, {}).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(asked_, ElementsAre());
  limit_.Set(std::nullopt, now_);
  EXPECT_TRUE(Call(CallKind::kOther, {absl::OkStatus()}).ok());
}

// The attempt without an answer may have been carried out.
TEST_F(AttemptsTest, AnErrorAfterASilenceDoesNotSayThatNothingWasChanged) {
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_EQ(Call(CallKind::kChange, {full}), full);
  EXPECT_EQ(Call(CallKind::kChange, {lost_, full}), Unavailable("full"));
  EXPECT_EQ(Call(CallKind::kOther, {lost_, full}), full);
}

}  // namespace
}  // namespace fabricd::store::etcd
