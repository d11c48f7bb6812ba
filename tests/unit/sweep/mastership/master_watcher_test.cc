// SPDX-License-Identifier: Apache-2.0
// What a reader makes of the SMs that its sweeps find; polls are in tests/sim/core_claim_test.cc.
#include "sweep/mastership/master_watcher.h"

#include <gtest/gtest.h>

#include "sweep/interface/options.h"
#include "tests/unit/sweep/mastership/some_sm.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;

class MasterWatcherTest : public testing::Test {
 protected:
  // Of a poll. nullopt: it had no response.
  static mad::Completion CompletionOf(std::optional<SmState> answer) {
    mad::Completion completion;
    if (!answer) return completion;
    wire::SmInfo info;
    info.state = *answer;
    completion.outcome = mad::Completion::Outcome::kResponse;
    info.Encode(completion.response.data);
    return completion;
  }

  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{{}};
  LastMaster last_master_{options_, devices_, engine_, {}};
  MasterWatcher watcher_{devices_, engine_, last_master_, {{}, {}}};
  Instant now_ = Instant() + std::chrono::seconds(1);
};

TEST_F(MasterWatcherTest, WatchesTheMasterOfSeveralSms) {
  EXPECT_TRUE(watcher_.OnFound(
      {SomeSm(1, SmState::kStandby), SomeSm(2, SmState::kMaster), SomeSm(3, SmState::kNotActive)},
      now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(2));
  EXPECT_EQ(watcher_.NextDeadline(), now_);
  EXPECT_FALSE(watcher_.OnFound({SomeSm(2, SmState::kMaster)}, now_)) << "nothing has changed";
}

TEST_F(MasterWatcherTest, AMasterThatASweepDoesNotFindAnyMoreIsUnresponsiveForGood) {
  (void)watcher_.OnFound({SomeSm(2, SmState::kMaster)}, now_);
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_EQ(watcher_.guid(), Guid(2));
  EXPECT_FALSE(watcher_.OnFound({SomeSm(2, SmState::kMaster)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
}

TEST_F(MasterWatcherTest, SaysThatNoSweepHasFoundAMasterYet) {
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnknown);
  EXPECT_TRUE(watcher_.OnFound({SomeSm(1, SmState::kStandby)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_TRUE(watcher_.OnFound({SomeSm(1, SmState::kMaster)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
}

TEST_F(MasterWatcherTest, NoSmIsAbsentAtTheSecondSweepInARow) {
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_FALSE(watcher_.OnFound({SomeSm(1, SmState::kDiscovering)}, now_));
  EXPECT_FALSE(watcher_.OnFound({SomeSm(1, SmState::kNotActive)}, now_));
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNone);
}

// ---- whether its port responds

class WatchedPortTest : public MasterWatcherTest {
 protected:
  WatchedPortTest() {
    devices_.SetPath(NodeIndex(3), {1, 4});
    (void)watcher_.OnFound({SomeSm(2, SmState::kMaster)}, now_);
    Tick();  // The poll.
  }
  void Tick() { watcher_.OnTimer(now_ += std::chrono::milliseconds(250)); }
  size_t Requests() const { return engine_.queued() + engine_.in_flight(); }
  void Lose() { (void)watcher_.OnCompletion({}, now_); }
  void Port(bool responds) {
    mad::Completion completion;
    if (responds) completion.outcome = mad::Completion::Outcome::kResponse;
    watcher_.OnPort(completion);
  }
};

TEST_F(WatchedPortTest, IsReadOnceAPollHasHadNoResponseForHalfASecond) {
  EXPECT_EQ(Requests(), 1u);
  Tick();
  EXPECT_EQ(Requests(), 1u);
  Tick();
  EXPECT_EQ(Requests(), 2u);
  Tick();
  EXPECT_EQ(Requests(), 2u) << "the first read is out";
  Port(true);
  Tick();
  EXPECT_EQ(Requests(), 2u) << "it has responded";
  Lose();
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_TRUE(watcher_.port_responds());
}

TEST_F(WatchedPortTest, IsReadAgainUntilItResponds) {
  Tick();
  Tick();
  Port(false);
  Tick();
  EXPECT_EQ(Requests(), 3u);
  Lose();
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_FALSE(watcher_.port_responds());
}

TEST_F(WatchedPortTest, AReadOfAnEarlierPollSaysNothing) {
  Tick();
  Tick();
  (void)watcher_.OnCompletion(CompletionOf(SmState::kMaster), now_);
  Tick();
  Port(true);
  EXPECT_FALSE(watcher_.port_responds());
}

// ---- a master that does not share the state: it may be busy

class ForeignMasterWatcherTest : public MasterWatcherTest {
 protected:
  ForeignMasterWatcherTest() {
    devices_.SetPath(NodeIndex(3), {1, 4});
    last_master_.On(SharingPorts{{Guid(1), Guid(2)}});
  }
  bool Find(const std::vector<RemoteSm>& found) {
    last_master_.OnFound(found, watcher_.master(), now_);
    return watcher_.OnFound(found, now_);
  }
  bool Poll(std::optional<SmState> answer, Duration later = {}) {
    Ask();
    return Complete(answer, later);
  }
  void Ask() { watcher_.OnTimer(now_ += std::chrono::milliseconds(250)); }
  bool Complete(std::optional<SmState> answer, Duration later = {}) {
    const auto heard = watcher_.OnCompletion(CompletionOf(answer), now_ += later);
    if (heard.from) last_master_.OnAnswer(heard.from, heard.state, now_);
    return heard.is_new;
  }
};

TEST_F(ForeignMasterWatcherTest, OneThatDoesNotRespondIsNoMasterUntilItRespondsAgain) {
  (void)Find({SomeSm(9, SmState::kMaster)});
  EXPECT_TRUE(Poll(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_FALSE(Poll(std::nullopt));
  EXPECT_TRUE(Poll(SmState::kMaster));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
}

TEST_F(ForeignMasterWatcherTest, OneThatIsBusyIsWatchedUntilAnotherSmIsMaster) {
  (void)Find({SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)});
  EXPECT_TRUE(Find({SomeSm(1, SmState::kStandby)}));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_EQ(watcher_.guid(), Guid(9));
  EXPECT_TRUE(Find({SomeSm(1, SmState::kMaster)}));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(1));
  EXPECT_TRUE(Poll(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive) << "this one shares the state";
}

TEST_F(ForeignMasterWatcherTest, WhileItIsBusyTheSmThatMayBecomeMasterIsPolledToo) {
  (void)Find({SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)});
  (void)Find({SomeSm(1, SmState::kStandby)});
  EXPECT_FALSE(Poll(std::nullopt)) << "the foreign one";
  EXPECT_TRUE(Poll(SmState::kMaster)) << "the other one";
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(1));
}

// It has ended, and no sweep has followed yet.
TEST_F(ForeignMasterWatcherTest, OnceItIsLostTheSmThatTheLastSweepFoundIsPolled) {
  (void)Find({SomeSm(8, SmState::kStandby), SomeSm(1, SmState::kStandby),
              SomeSm(9, SmState::kMaster), SomeSm(7, SmState::kStandby)});
  EXPECT_FALSE(Poll(SmState::kMaster));
  EXPECT_TRUE(Poll(std::nullopt)) << "the foreign one";
  EXPECT_TRUE(Poll(SmState::kMaster)) << "the one that shares the state";
  EXPECT_EQ(watcher_.guid(), Guid(1));
  EXPECT_TRUE(Poll(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
}

// The sweep asked it before it became master.
TEST_F(ForeignMasterWatcherTest, ASweepDoesNotOverrideAPoll) {
  const std::vector<RemoteSm> both = {SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)};
  (void)Find(both);
  (void)Poll(std::nullopt);
  EXPECT_TRUE(Poll(SmState::kMaster));
  EXPECT_FALSE(Find({SomeSm(1, SmState::kStandby), SomeSm(7, SmState::kStandby)}));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(1));
  EXPECT_EQ(last_master_.guid(), Guid(1));
  EXPECT_TRUE(Poll(SmState::kStandby)) << "it is master no more";
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
}

TEST_F(ForeignMasterWatcherTest, TheNextPollIsOfAMasterThatASweepHasFound) {
  const std::vector<RemoteSm> both = {SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)};
  (void)Find(both);
  (void)Poll(std::nullopt);
  (void)Find({SomeSm(1, SmState::kMaster), SomeSm(9, SmState::kStandby)});
  EXPECT_TRUE(Poll(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_EQ(watcher_.guid(), Guid(1));
}

TEST_F(ForeignMasterWatcherTest, APollOfTheOtherOneSaysNothingOfAMasterThatIsBack) {
  const std::vector<RemoteSm> both = {SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)};
  (void)Find(both);
  (void)Poll(std::nullopt);
  Ask();
  EXPECT_TRUE(Find(both));
  EXPECT_FALSE(Complete(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(9));
}

TEST_F(ForeignMasterWatcherTest, WhereTheOtherOneDoesNotRespondEitherThatIsReported) {
  (void)Find({SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)});
  (void)Find({SomeSm(1, SmState::kStandby)});
  (void)Poll(std::nullopt);
  EXPECT_TRUE(Poll(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_EQ(watcher_.guid(), Guid(1));
}

TEST_F(ForeignMasterWatcherTest, APollOfOneThatIsWatchedNoMoreSaysNothingOfTheNewMaster) {
  (void)Find({SomeSm(1, SmState::kStandby), SomeSm(9, SmState::kMaster)});
  Ask();
  (void)Find({SomeSm(1, SmState::kMaster)});
  EXPECT_FALSE(Complete(std::nullopt));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(1));
}

TEST_F(ForeignMasterWatcherTest, AfterSeventyFiveSecondsWithoutAMasterThereIsNone) {
  (void)Find({SomeSm(9, SmState::kMaster)});
  (void)Poll(std::nullopt);
  EXPECT_FALSE(Poll(std::nullopt, std::chrono::seconds(74)));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_TRUE(Poll(std::nullopt, std::chrono::seconds(1)));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNone);
}

TEST_F(ForeignMasterWatcherTest, WithoutAnySmInSightThereIsNoneAtTheSecondSweep) {
  (void)Find({SomeSm(9, SmState::kMaster)});
  EXPECT_TRUE(Find({}));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_TRUE(Find({}));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNone);
}

}  // namespace
}  // namespace fabricd::sweep
