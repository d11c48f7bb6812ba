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
  bool confirms_ = true;
  WriteFence fence_{
      {[this] { return now_; }, [this] { return epoch_; }, [this] { return confirms_; }}};
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
                     return true;
                   }});
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
