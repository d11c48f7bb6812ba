// SPDX-License-Identifier: Apache-2.0
// What a reader makes of the SMs that its sweeps find; polls are in tests/sim/core_claim_test.cc.
#include "sweep/mastership/master_watcher.h"

#include <gtest/gtest.h>

#include "sweep/interface/options.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;

class MasterWatcherTest : public testing::Test {
 protected:
  static RemoteSm Sm(uint64_t guid, SmState state) {
    RemoteSm sm;
    sm.guid = Guid(guid);
    sm.state = state;
    return sm;
  }

  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{{}};
  MasterWatcher watcher_{devices_, engine_, {}};
  const Instant now_ = Instant() + std::chrono::seconds(1);
};

TEST_F(MasterWatcherTest, WatchesTheMasterOfSeveralSms) {
  EXPECT_TRUE(watcher_.OnFound(
      {Sm(1, SmState::kStandby), Sm(2, SmState::kMaster), Sm(3, SmState::kNotActive)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
  EXPECT_EQ(watcher_.guid(), Guid(2));
  EXPECT_EQ(watcher_.NextDeadline(), now_);
  EXPECT_FALSE(watcher_.OnFound({Sm(2, SmState::kMaster)}, now_)) << "nothing has changed";
}

TEST_F(MasterWatcherTest, AMasterThatASweepDoesNotFindAnyMoreIsUnresponsiveForGood) {
  (void)watcher_.OnFound({Sm(2, SmState::kMaster)}, now_);
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
  EXPECT_EQ(watcher_.guid(), Guid(2));
  EXPECT_FALSE(watcher_.OnFound({Sm(2, SmState::kMaster)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnresponsive);
}

TEST_F(MasterWatcherTest, SaysThatNoSweepHasFoundAMasterYet) {
  EXPECT_EQ(watcher_.state(), WatchedMaster::kUnknown);
  EXPECT_TRUE(watcher_.OnFound({Sm(1, SmState::kStandby)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNoMaster);
  EXPECT_TRUE(watcher_.OnFound({Sm(1, SmState::kMaster)}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kThere);
}

TEST_F(MasterWatcherTest, NoSmIsAbsentAtTheSecondSweepInARow) {
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_FALSE(watcher_.OnFound({Sm(1, SmState::kDiscovering)}, now_));
  EXPECT_FALSE(watcher_.OnFound({Sm(1, SmState::kNotActive)}, now_));
  EXPECT_TRUE(watcher_.OnFound({}, now_));
  EXPECT_EQ(watcher_.state(), WatchedMaster::kNone);
}

}  // namespace
}  // namespace fabricd::sweep
