// SPDX-License-Identifier: Apache-2.0
// Whole managers beside a foreign SM are in tests/sim/core_foreign_test.cc.
#include "sweep/mastership/last_master.h"

#include <gtest/gtest.h>

#include "tests/unit/sweep/mastership/some_sm.h"

namespace fabricd::sweep {
namespace {

using std::chrono::seconds;
using wire::SmState;

class LastMasterTest : public testing::Test {
 protected:
  LastMasterTest() { devices_.SetPath(NodeIndex(3), {1, 4}); }
  void KnowSharing() { last_.On(SharingPorts{{Guid(2)}}); }
  bool MayBeBusy(uint64_t guid, Duration later = {}) const {
    return last_.MayBeBusy(Guid(guid), now_ + later);
  }

  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{{}};
  LastMaster last_{options_, devices_, engine_, {}};
  const Instant now_ = Instant() + seconds(100);
};

TEST_F(LastMasterTest, NoSmIsForeignWhileThePortsOfTheOthersAreNotKnown) {
  last_.OnFound({SomeSm(9, SmState::kMaster)}, Guid(), now_);
  EXPECT_FALSE(MayBeBusy(9));
  KnowSharing();
  EXPECT_TRUE(MayBeBusy(9));
}

TEST_F(LastMasterTest, AMasterThatSharesTheStateIsNeverBusy) {
  KnowSharing();
  last_.OnFound({SomeSm(2, SmState::kMaster)}, Guid(), now_);
  EXPECT_FALSE(MayBeBusy(2));
  EXPECT_FALSE(MayBeBusy(9)) << "it is not master";
}

TEST_F(LastMasterTest, AForeignOneMayBeBusyForAMinuteAfterItsLastAnswer) {
  KnowSharing();
  last_.OnFound({SomeSm(9, SmState::kMaster)}, Guid(), now_);
  EXPECT_TRUE(MayBeBusy(9, seconds(59)));
  EXPECT_FALSE(MayBeBusy(9, seconds(60)));
  last_.OnAnswer(Guid(9), SmState::kMaster, now_ + seconds(30));
  EXPECT_TRUE(MayBeBusy(9, seconds(89)));
  EXPECT_FALSE(MayBeBusy(9, seconds(90)));
}

TEST_F(LastMasterTest, OneThatWasGivenTheSubnetMayBeBusyAtOnce) {
  KnowSharing();
  last_.Set(Guid(1));
  EXPECT_FALSE(MayBeBusy(9));
  last_.Set(Guid());
  last_.OnAnswer(Guid(9), SmState::kStandby, now_);
  EXPECT_TRUE(MayBeBusy(9));
  EXPECT_EQ(last_.guid(), Guid()) << "it is not known to be master";
}

TEST_F(LastMasterTest, EachForeignOneMayBeBusyUntilAMasterIsSeen) {
  KnowSharing();
  last_.OnFound({SomeSm(2, SmState::kStandby)}, Guid(), now_);
  EXPECT_TRUE(MayBeBusy(9, seconds(59)));
  EXPECT_FALSE(MayBeBusy(2)) << "it shares the state";
  EXPECT_FALSE(MayBeBusy(9, seconds(60))) << "since the first sweep";
  last_.OnFound({SomeSm(8, SmState::kMaster)}, Guid(), now_);
  EXPECT_FALSE(MayBeBusy(9));
}

TEST_F(LastMasterTest, OneThatHasGivenTheSubnetAwayIsMasterNoMore) {
  KnowSharing();
  last_.OnFound({SomeSm(2, SmState::kMaster)}, Guid(), now_);
  EXPECT_FALSE(MayBeBusy(9));
  last_.OnAnswer(Guid(2), SmState::kStandby, now_);
  EXPECT_TRUE(MayBeBusy(9)) << "it may have got the subnet";
  last_.OnFound({SomeSm(8, SmState::kMaster)}, Guid(), now_);
  last_.OnFound({SomeSm(7, SmState::kMaster), SomeSm(8, SmState::kStandby)}, Guid(), now_);
  EXPECT_EQ(last_.guid(), Guid(7));
}

TEST_F(LastMasterTest, ItsPortIsReadOnceAtATime) {
  const RemoteSm sm = SomeSm(9, SmState::kMaster);
  last_.AskPort(sm);
  last_.AskPort(sm);
  EXPECT_EQ(engine_.size(), 1u);
  mad::Completion completion;
  EXPECT_FALSE(last_.OnCompletion(completion)) << "it did not respond";
  last_.AskPort(sm);
  EXPECT_EQ(engine_.size(), 2u);
}

}  // namespace
}  // namespace fabricd::sweep
