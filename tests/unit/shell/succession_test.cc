// SPDX-License-Identifier: Apache-2.0
// docs/HA.md: when a fabricd that shares its state starts again within its process, and how.
#include "shell/succession.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shell/saying_store.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::etcd::FabricRole;
using sweep::WatchedMaster;
using testing::HasSubstr;
using wire::SmState;
using Contends = Succession::Contends;

class SuccessionTest : public testing::Test {
 protected:
  std::string Why(SuccessionWatch& watch, std::optional<WriteFence::Time> pause = {},
                  bool steps_down = false) {
    return watch.WhyAgain(store_, view_, pause, steps_down);
  }
  void Wait() { store_.owner = store::etcd::EpochOwner{.name = "head1 pid 1", .epoch = 42}; }

  using Rows = sweep::ReaderTables::Rows;
  static sweep::ReaderTables Read() {
    return {std::make_shared<const Rows>(Rows{{Guid(1), routing::Row(64, 3)}}), Guid(), nullptr};
  }

  SayingStore store_;
  sweep::FabricView view_ = *sweep::EmptyView();
};

TEST_F(SuccessionTest, AMasterGoesOn) {
  SuccessionWatch watch({});
  view_.sm.state = SmState::kMaster;
  EXPECT_EQ(Why(watch), "");
}

TEST_F(SuccessionTest, AfterAFailedStartOnlyThatItWasStoppedStaysTrue) {
  Succession failed;
  failed.contends = Contends::kWithUnresponsiveOwner;
  failed.unresponsive_master = Guid(5);
  failed.continues = failed.yields = failed.trusts_record = true;
  failed.tables = Read();
  failed.stopped_for = seconds(14);
  const Succession next = failed.AfterFailure();
  EXPECT_EQ(next.contends, Contends::kNo);
  EXPECT_EQ(next.unresponsive_master, Guid());
  EXPECT_FALSE(next.continues || next.yields || next.trusts_record);
  EXPECT_TRUE(next.tables.empty());
  EXPECT_EQ(next.stopped_for, seconds(14));
}

TEST_F(SuccessionTest, AMasterThatWasStoppedSaysSoUntilItIsMasterAgain) {
  SuccessionWatch watch({});
  view_.sm.state = SmState::kMaster;
  EXPECT_THAT(Why(watch, seconds(14)), HasSubstr("was stopped"));
  EXPECT_EQ(watch.successor().stopped_for, seconds(14));
  Wait();
  SuccessionWatch waiting(watch.successor());
  view_.sm.state = SmState::kNotActive;
  view_.sm.watched_master = WatchedMaster::kUnresponsive;
  EXPECT_NE(Why(waiting), "");
  EXPECT_EQ(waiting.successor().stopped_for, seconds(14));
  store_.owner.reset();
  SuccessionWatch contending(waiting.successor());
  store_.why = "another fabricd has written";
  EXPECT_NE(Why(contending), "");
  EXPECT_EQ(contending.successor().stopped_for, seconds(14));
  view_.sm.state = SmState::kMaster;
  EXPECT_NE(Why(contending), "");
  EXPECT_EQ(contending.successor().stopped_for, seconds(0));
}

TEST_F(SuccessionTest, OneThatWasStoppedBeforeItWasMasterHasWrittenNothing) {
  SuccessionWatch watch({});
  view_.sm.state = SmState::kDiscovering;
  EXPECT_NE(Why(watch, seconds(14)), "");
  EXPECT_EQ(watch.successor().stopped_for, seconds(0));
}

TEST_F(SuccessionTest, AWaitingNodeTakesThePlaceOfAMasterThatDoesNotRespond) {
  SuccessionWatch watch({});
  Wait();
  EXPECT_EQ(Why(watch), "");
  view_.sm.watched_master = WatchedMaster::kUnresponsive;
  view_.sm.watched_guid = Guid(0x17);
  view_.reader_tables = Read();
  EXPECT_EQ(Why(watch), "neither the master nor its port responds");
  const Succession& next = watch.successor();
  EXPECT_EQ(next.contends, Contends::kWithUnresponsiveOwner);
  EXPECT_TRUE(next.continues);
  EXPECT_EQ(next.unresponsive_master, Guid(0x17));
  EXPECT_EQ(next.unresponsive_epoch, 42) << "an owner that has started again is not suspected";
  EXPECT_TRUE(next.doubts_polls) << "a link may be cut on their path";
  view_.sm.watched_port_responds = true;
  EXPECT_EQ(Why(watch), "the master does not respond");
  EXPECT_FALSE(next.doubts_polls);
  EXPECT_FALSE(next.MayTrust(store_)) << "the owner of the epoch may have changed tables";
  store_.contending = true;
  EXPECT_TRUE(next.MayTrust(store_)) << "the owner has its epoch still";
}

TEST_F(SuccessionTest, ItContendsWithAnIdleOwnerWhereNoMasterIsToBeSeen) {
  SuccessionWatch watch({});
  Wait();
  view_.sm.watched_master = WatchedMaster::kNone;
  EXPECT_NE(Why(watch), "");
  EXPECT_EQ(watch.successor().contends, Contends::kWithIdleOwner);
}

// It was lost while this node started to wait, so that no sweep has found that master.
TEST_F(SuccessionTest, ItContendsAtOnceWithAnOwnerThatHasNoLink) {
  SuccessionWatch watch({});
  Wait();
  store_.owner->role = FabricRole::kNoLink;
  EXPECT_EQ(Why(watch), "") << "it may be seen by the sweep under way";
  view_.sm.watched_master = WatchedMaster::kThere;
  EXPECT_EQ(Why(watch), "") << "it responds: the link is back";
  view_.sm.watched_master = WatchedMaster::kNoMaster;
  EXPECT_NE(Why(watch), "");
  EXPECT_EQ(watch.successor().contends, Contends::kWithOwnerWithoutLink);
  store_.owner->role = FabricRole::kMaster;
  EXPECT_EQ(Why(watch), "");
}

TEST_F(SuccessionTest, ANodeSaysThatItsPortHasNoLinkAfterAWhile) {
  SuccessionWatch watch({});
  Instant now;
  const auto role = [&](milliseconds later) { return watch.Role(view_.sm, now += later); };
  EXPECT_EQ(role(seconds(1)), FabricRole::kOther);
  view_.sm.state = SmState::kMaster;
  EXPECT_EQ(role(seconds(1)), FabricRole::kMaster);
  view_.sm.has_link = false;
  EXPECT_EQ(role(seconds(1)), FabricRole::kMaster);
  EXPECT_EQ(role(milliseconds(1599)), FabricRole::kMaster);
  view_.sm.has_link = true;  // A flap moves no mastership.
  EXPECT_EQ(role(seconds(1)), FabricRole::kMaster);
  view_.sm.has_link = false;
  EXPECT_EQ(role(seconds(1)), FabricRole::kMaster);
  EXPECT_EQ(role(milliseconds(1600)), FabricRole::kNoLink);
  view_.sm.has_link = true;
  EXPECT_EQ(role(seconds(1)), FabricRole::kMaster);
}

TEST_F(SuccessionTest, TheRecordOfAnOwnerThatHasResignedIsTrusted) {
  SuccessionWatch watch({});
  Wait();
  store_.why = "nobody has the epoch";
  view_.reader_tables = Read();
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_FALSE(watch.successor().trusts_record);
  store_.kept = true;
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_TRUE(watch.successor().MayTrust(store_));
}

TEST_F(SuccessionTest, AStoppedMasterStartsAgainAndDoesNotContend) {
  SuccessionWatch watch({.contends = Contends::kWithUnresponsiveOwner});
  view_.sm.state = SmState::kMaster;
  EXPECT_THAT(Why(watch, seconds(20)), HasSubstr("was stopped for 20000 ms"));
  EXPECT_EQ(watch.successor().contends, Contends::kNo);
}

TEST_F(SuccessionTest, ANodeThatStepsDownLetsAnotherTakeTheEpochFirst) {
  SuccessionWatch watch({});
  view_.sm.state = SmState::kMaster;
  EXPECT_EQ(Why(watch, {}, /*steps_down=*/true), "stepping down");
  store::etcd::EtcdStoreOptions options;
  watch.successor().AddTo(options);
  EXPECT_GT(options.yields, milliseconds(0));
}

TEST_F(SuccessionTest, AContenderWaitsAgainWhereAnotherSmIsMaster) {
  SuccessionWatch watch({.contends = Contends::kWithUnresponsiveOwner});
  store_.contending = true;
  view_.sm.state = SmState::kDiscovering;
  EXPECT_EQ(Why(watch), "");
  view_.sm.state = SmState::kStandby;
  view_.sm.has_other_master = true;
  EXPECT_EQ(Why(watch), "another SM is master");
  EXPECT_EQ(watch.successor().contends, Contends::kNo);
}

// The fabric had no answer for a moment: all switches are not to be read again for that.
TEST_F(SuccessionTest, TheTablesOfAContenderAreKeptWhenAnotherSmIsMaster) {
  const sweep::ReaderTables read = Read();
  SuccessionWatch contender(
      {.contends = Contends::kWithUnresponsiveOwner, .continues = true, .tables = read});
  store_.contending = true;
  view_.sm.state = SmState::kStandby;
  view_.sm.has_other_master = true;
  EXPECT_EQ(Why(contender), "another SM is master");
  SuccessionWatch waiting(contender.successor());
  Wait();
  view_.sm.state = SmState::kNotActive;
  view_.sm.watched_master = WatchedMaster::kUnresponsive;
  EXPECT_NE(Why(waiting), "");
  EXPECT_EQ(waiting.successor().tables.read, read.read);
  view_.reader_tables = Read();
  EXPECT_NE(Why(waiting), "");
  EXPECT_EQ(waiting.successor().tables.read, view_.reader_tables.read);
}

// The state changed while it was about to become master.
TEST_F(SuccessionTest, ANodeThatHasNotBeenMasterTriesAgainAsBefore) {
  SuccessionWatch watch({.contends = Contends::kWithUnresponsiveOwner, .continues = true});
  store_.why = "another fabricd has written meanwhile";
  view_.sm.state = SmState::kDiscovering;
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_EQ(watch.successor().contends, Contends::kWithUnresponsiveOwner);
  EXPECT_TRUE(watch.successor().continues);
  EXPECT_FALSE(watch.successor().trusts_record) << "the owner had lost its epoch";
  store_.kept = true;
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_TRUE(watch.successor().trusts_record);
  view_.sm.state = SmState::kMaster;
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_EQ(watch.successor().contends, Contends::kNo);
}

// It has started again a moment ago, and has not read all tables yet.
TEST_F(SuccessionTest, TablesReadBeforeAreKeptBesideThoseComputedSince) {
  sweep::ReaderTables before = Read(), now;
  before.master = Guid(0x17);
  now.computed = std::make_shared<const Rows>();
  SuccessionWatch watch({.tables = before});
  Wait();
  view_.reader_tables = now;
  (void)Why(watch);
  EXPECT_EQ(watch.successor().tables.read, before.read);
  EXPECT_EQ(watch.successor().tables.master, Guid(0x17));
  EXPECT_EQ(watch.successor().tables.computed, now.computed);
}

// All switches forward by the adaptive routing of another manager, for example.
TEST_F(SuccessionTest, AReadingThatFoundNoTableReplacesTheOneBefore) {
  SuccessionWatch watch({.tables = Read()});
  Wait();
  view_.reader_tables.read = std::make_shared<const Rows>();
  (void)Why(watch);
  EXPECT_EQ(watch.successor().tables.read, view_.reader_tables.read);
}

TEST_F(SuccessionTest, AMasterKeepsNoTablesOfTheTimeBefore) {
  SuccessionWatch watch({.tables = Read()});
  view_.sm.state = SmState::kMaster;
  (void)Why(watch);
  EXPECT_TRUE(watch.succession().tables.empty());
}

// A contender asks the former master for 0.4 s only, since it was polled before. Here the polls
// were of another process.
TEST_F(SuccessionTest, AContenderWaitsAgainWhereAnotherFabricdHasHadTheEpoch) {
  const sweep::ReaderTables read = Read();
  SuccessionWatch watch({.contends = Contends::kWithUnresponsiveOwner,
                         .unresponsive_master = Guid(0x17),
                         .stopped_for = seconds(3),
                         .tables = read});
  store_.number = 0;
  store_.why = "another fabricd uses it";
  view_.sm.state = SmState::kStandby;
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_EQ(watch.successor().contends, Contends::kNo);
  EXPECT_EQ(watch.successor().unresponsive_master, Guid());
  EXPECT_EQ(watch.successor().stopped_for, seconds(3));
  EXPECT_EQ(watch.successor().tables.read, read.read);
}

TEST_F(SuccessionTest, OneThatWaitsAfterAllAsksTheMasterAfresh) {
  SuccessionWatch watch({.contends = Contends::kWithUnresponsiveOwner,
                         .unresponsive_master = Guid(0x17),
                         .doubts_polls = true});
  Wait();
  sweep::SmOptions options;
  watch.Begin(options, store_, Instant());
  EXPECT_EQ(options.unresponsive_master, Guid());
  EXPECT_FALSE(options.doubts_polls);
}

TEST_F(SuccessionTest, AContenderKnowsWhichMasterTheWaitingNodeHasSeen) {
  SuccessionWatch watch({});
  Wait();
  view_.sm.guid = Guid(0x16);
  view_.sm.last_master = Guid(0x99);
  view_.sm.watched_master = WatchedMaster::kNone;
  EXPECT_NE(Why(watch), "");
  EXPECT_EQ(watch.successor().last_master, Guid(0x99));
  SuccessionWatch next(watch.successor());
  sweep::SmOptions options;
  next.Begin(options, store_, Instant());
  EXPECT_EQ(options.last_master, Guid()) << "it waits again, and sees for itself";
  store_.owner.reset();
  next.Begin(options, store_, Instant());
  EXPECT_EQ(options.last_master, Guid(0x99));
}

TEST_F(SuccessionTest, AContenderGoesOnWhileNoSmHasAnsweredAsMaster) {
  SuccessionWatch watch({.contends = Contends::kWithOwnerWithoutLink});
  store_.contending = true;
  store_.number = 0;
  view_.sm.state = SmState::kStandby;
  view_.sm.last_master = Guid(0x99);  // The one that does not respond.
  EXPECT_EQ(Why(watch), "") << "another SM is preferred, or may be busy";
  view_.sm.has_other_master = true;
  EXPECT_EQ(Why(watch), "another SM is master");
}

TEST_F(SuccessionTest, ANodeThatWasMasterItselfDoesNotKnowWhichSmIsMasterNow) {
  SuccessionWatch watch({});
  view_.sm.state = SmState::kMaster;
  view_.sm.guid = view_.sm.last_master = Guid(0x16);
  EXPECT_NE(Why(watch, seconds(14)), "");
  EXPECT_EQ(watch.successor().last_master, Guid());
}

TEST_F(SuccessionTest, AMasterBesideAnotherContendsWhenThatOneIsMasterNoMore) {
  SuccessionWatch watch({.contends = Contends::kWithIdleOwner});
  store_.beside = true;
  view_.sm.state = SmState::kMaster;
  store_.why = "no other fabricd is master with it any more";
  EXPECT_EQ(Why(watch), store_.why);
  EXPECT_EQ(watch.successor().contends, Contends::kWithIdleOwner);
}

}  // namespace
}  // namespace fabricd::shell
