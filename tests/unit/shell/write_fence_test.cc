// SPDX-License-Identifier: Apache-2.0
#include "shell/write_fence.h"

#include <gtest/gtest.h>

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class WriteFenceTest : public ::testing::Test {
 protected:
  WriteFence::Time now_ = seconds(100);
  int64_t epoch_ = 7;
  bool confirms_ = true, answers_ = true;
  WriteFence::Time answered_ = now_;
  WriteFence::Time takes_{};
  int asked_ = 0;
  absl::Status Confirm() {
    ++asked_;
    now_ += takes_;
    if (!answers_) return absl::UnavailableError("etcd is away");
    return confirms_ ? absl::OkStatus() : absl::AbortedError("another fabricd has it");
  }
  WriteFence fence_{{[this] { return now_; }, [this] { return epoch_; },
                     [this] { return Confirm(); }, [this] { return answered_; }}};
};

TEST_F(WriteFenceTest, IsOpenWhileTheEpochIsHeldHoweverLongATurnTakes) {
  EXPECT_FALSE(fence_.MayWrite()) << "before the first turn";
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  now_ += seconds(20);
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
}

TEST_F(WriteFenceTest, ClosesInTheMiddleOfATurnThatWasStopped) {
  fence_.BeginTurn();
  now_ += seconds(20);
  epoch_ = 0;  // Its lease is over.
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), seconds(20));
  EXPECT_TRUE(fence_.MayWrite()) << "the core knows by then";
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
}

// A contender that has missed this SM takes the epoch when its discovery ends.
TEST_F(WriteFenceTest, AfterAStopThatCostNoEpochEachSetIsConfirmedForTwoSeconds) {
  fence_.BeginTurn();
  now_ += seconds(3);
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  now_ += milliseconds(1000);
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  now_ += milliseconds(999);
  EXPECT_TRUE(fence_.MayWrite());
  confirms_ = false;
  EXPECT_FALSE(fence_.MayWrite());
  now_ += seconds(1);
  EXPECT_FALSE(fence_.MayWrite()) << "also after the two seconds";
  EXPECT_EQ(fence_.BeginTurn(), seconds(3)) << "the stop may have cost the epoch";
}

TEST_F(WriteFenceTest, TheTimeOfAConfirmationIsNoStop) {
  WriteFence slow({[this] { return now_; }, [this] { return epoch_; },
                   [this] {
                     now_ += seconds(1);
                     return absl::OkStatus();
                   },
                   [this] { return answered_; }});
  slow.BeginTurn();
  now_ += seconds(3);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slow.MayWrite());
  const WriteFence::Time end = now_;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slow.MayWrite());
  EXPECT_EQ(now_, end) << "no Set is in doubt any more";
}

TEST_F(WriteFenceTest, AnEpochThatIsLostSoonAfterAStopIsThatOfTheStop) {
  fence_.BeginTurn();
  now_ += seconds(3);
  EXPECT_TRUE(fence_.MayWrite());
  epoch_ = 0;
  EXPECT_EQ(fence_.BeginTurn(), seconds(3));
}

TEST_F(WriteFenceTest, AStopWithinATurnShowsWhenTheTurnEnds) {
  fence_.BeginTurn();
  now_ += seconds(1);
  EXPECT_EQ(fence_.Pause(), std::nullopt);
  now_ += seconds(19);
  EXPECT_EQ(fence_.Pause(), std::nullopt) << "the epoch is held";
  epoch_ = 0;
  EXPECT_EQ(fence_.Pause(), seconds(20));
  EXPECT_FALSE(fence_.MayWrite()) << "it is no new turn";
}

// The lease lives on where another fabricd has taken the epoch by force.
TEST_F(WriteFenceTest, ClosesWhereTheStoreDoesNotConfirmTheEpoch) {
  fence_.BeginTurn();
  now_ += seconds(2);
  confirms_ = false;
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), seconds(2));
}

// Another fabricd may have held it in between.
TEST_F(WriteFenceTest, AnEpochThatWasTakenAgainIsNotTheSame) {
  fence_.BeginTurn();
  now_ += seconds(20);
  epoch_ = 9;
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), seconds(20));
}

// A link was cut on the path of a standby's polls, so that a shorter stop was enough for it.
TEST_F(WriteFenceTest, AfterAShortStopASetIsRefusedWhereTheStoreSaysThatTheEpochIsLost) {
  fence_.BeginTurn();
  now_ += WriteFence::kShortPause;
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_EQ(asked_, 0);
  now_ += milliseconds(400);
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_EQ(asked_, 1);
  now_ += milliseconds(200);
  fence_.BeginTurn();
  confirms_ = false;
  EXPECT_FALSE(fence_.MayWrite()) << "the contender's discovery has ended";
  EXPECT_EQ(fence_.BeginTurn(), milliseconds(400));
}

TEST_F(WriteFenceTest, AfterAShortStopAStoreThatDidNotAnswerBeforeIsNotAsked) {
  now_ += WriteFence::kAnswers + milliseconds(1);
  fence_.BeginTurn();
  now_ += milliseconds(400);
  fence_.BeginTurn();
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_EQ(asked_, 0);
  epoch_ = 0;
  EXPECT_TRUE(fence_.MayWrite()) << "the lease is over: nobody need have taken the epoch";
  EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
}

TEST_F(WriteFenceTest, AfterAShortStopAStoreThatDoesNotAnswerIsAskedOnce) {
  fence_.BeginTurn();
  now_ += milliseconds(400);
  fence_.BeginTurn();
  answers_ = false;
  takes_ = seconds(1);
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_TRUE(fence_.MayWrite());
  EXPECT_EQ(asked_, 1);
}

// Meanwhile this SM has answered nobody.
TEST_F(WriteFenceTest, AQuestionThatTakesLongIsAStop) {
  fence_.BeginTurn();
  now_ += milliseconds(400);
  fence_.BeginTurn();
  answers_ = false;
  takes_ = seconds(3);
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), seconds(3));
}

TEST_F(WriteFenceTest, AShortStopWithinATurnIsNoticedByTheNextSet) {
  fence_.BeginTurn();
  now_ += milliseconds(400);
  confirms_ = false;
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_EQ(fence_.BeginTurn(), milliseconds(400));
}

TEST_F(WriteFenceTest, StaysOpenWithoutEtcdWhileTurnsFollowEachOther) {
  epoch_ = 0;
  fence_.BeginTurn();
  for (int i = 0; i < 10; ++i) {
    now_ += WriteFence::kMostPause;
    EXPECT_TRUE(fence_.MayWrite());
    EXPECT_EQ(fence_.BeginTurn(), std::nullopt);
  }
  now_ += WriteFence::kMostPause + milliseconds(1);
  EXPECT_FALSE(fence_.MayWrite());
  EXPECT_NE(fence_.BeginTurn(), std::nullopt);
}

}  // namespace
}  // namespace fabricd::shell
