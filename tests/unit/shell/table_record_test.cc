// SPDX-License-Identifier: Apache-2.0
#include "shell/table_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "sim/generate/generate.h"
#include "store/memory_store.h"
#include "tests/unit/shell/table_rows.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::Pair;
using testing::UnorderedElementsAre;

class TableRecordTest : public testing::Test {
 protected:
  using Plan = std::shared_ptr<const routing::RoutingPlan>;

  TableRecordTest() {
    auto view = std::make_shared<sweep::FabricView>(*sweep::EmptyView());
    view->snapshot = *sim::Generate("superpod:sus=1,hosts=4,rails=2");
    auto plan = std::make_shared<routing::RoutingPlan>();
    plan->rows.resize(view->snapshot->node_index_end());
    view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return;
      switches_.push_back(node.index);
      plan->rows[node.index.value()] = std::make_shared<const routing::Row>(
          RowTo(static_cast<uint8_t>(1 + node.index.value()), 4096));
    });
    view->plan = plan;
    view->plan_stands = view->subnet_up = true;
    view->sm.state = wire::SmState::kMaster;
    view_ = *view;
  }

  void Show(sweep::Phase phase) {
    view_.phase = phase;
    shown_ = std::make_shared<const sweep::FabricView>(view_);
    record_.OnView(shown_, owns_);
  }
  void Turn(Instant now) { record_.OnTurn(shown_, owns_, 64, now); }
  void BeCalm() {
    Show(sweep::Phase::kIdle);
    Turn(now_);
    Turn(now_ += seconds(1));
  }
  // As a run that leads LID `lid` of the first switch to `port`.
  void Write(uint16_t lid, uint8_t port) { WriteFrom(lid, lid, port); }
  void WriteAll(uint8_t port) { WriteFrom(1, 4095, port); }
  void WriteFrom(uint16_t first, uint16_t last, uint8_t port) {
    auto plan = std::make_shared<routing::RoutingPlan>(*view_.plan);
    auto row = std::make_shared<routing::Row>(*plan->rows[switches_[0].value()]);
    for (size_t lid = first; lid <= last; ++lid) row->Set(lid, port);
    plan->rows[switches_[0].value()] = row;
    view_.plan = plan;
    view_.table_writes = std::make_shared<const sweep::TableWrites>(
        sweep::TableWrites{{switches_[0], static_cast<uint16_t>(first / 64)}});
    Show(sweep::Phase::kProgramming);
    if (is_long_) Last();
  }
  // The run goes on until its change is written.
  void Last() {
    Turn(now_);
    Turn(now_ += TableRecord::kMostDelay);
  }
  // The tables of all switches by that plan.
  sweep::ReaderTables TablesOf(const Plan& plan) {
    sweep::ReaderTables::Rows rows;
    for (const NodeIndex index : switches_) rows[GuidOf(index)] = *plan->rows[index.value()];
    return {std::make_shared<const sweep::ReaderTables::Rows>(std::move(rows)), {}, nullptr};
  }
  fabricd::Guid GuidOf(NodeIndex index) { return view_.snapshot->node(index)->guid(); }
  RecordedTables Recorded() { return *LoadTables(*store_.LoadRows()); }
  std::shared_ptr<const sweep::SwitchTables> VouchedOf(const Plan& read) {
    return Vouched(TablesOf(read), Recorded(), Guid());
  }

  sweep::FabricView view_ = *sweep::EmptyView();
  std::shared_ptr<const sweep::FabricView> shown_;
  std::vector<NodeIndex> switches_;
  store::MemoryStore store_;
  int writes_ = 0;
  bool takes_ = true, owns_ = true;
  bool is_long_ = true;  // Each run lasts as long as Last().
  TableRecord record_{[this](const auto& job) {
    if (takes_) job(store_);
    if (takes_) ++writes_;
    return takes_;
  }};
  Instant now_ = Instant() + seconds(100);
};

TEST_F(TableRecordTest, StandsASecondAfterTheSubnetIsUp) {
  Show(sweep::Phase::kIdle);
  Turn(now_);
  Turn(now_ + milliseconds(999));
  EXPECT_THAT(Recorded().digests, IsEmpty());
  Turn(now_ + seconds(1));
  const RecordedTables recorded = Recorded();
  EXPECT_THAT(recorded.window, Optional(64u));
  for (const NodeIndex index : switches_)
    EXPECT_EQ(recorded.digests.at(GuidOf(index)), DigestOf(*view_.plan->rows[index.value()]));
  EXPECT_EQ(recorded.digests.size(), switches_.size());
  const int writes = writes_;
  Turn(now_ + seconds(60));
  EXPECT_EQ(writes_, writes) << "an unchanged fabric is recorded once";
}

TEST_F(TableRecordTest, StandsWhileASweepWritesNothing) {
  BeCalm();
  for (const auto phase : {sweep::Phase::kDiscovering, sweep::Phase::kSurveying,
                           sweep::Phase::kRouting, sweep::Phase::kProgramming}) {
    Show(phase);
    Turn(now_ += seconds(5));
    ASSERT_NE(VouchedOf(view_.plan), nullptr);
    EXPECT_THAT(VouchedOf(view_.plan)->unread, IsEmpty());
  }
}

TEST_F(TableRecordTest, OnlyBlocksThatARunWritesAreReadAgain) {
  BeCalm();
  const Plan before = view_.plan;
  Show(sweep::Phase::kSurveying);
  Write(70, 9);
  for (const Plan& read : {before, view_.plan}) {  // By one who has read before it, or after.
    const auto vouched = VouchedOf(read);
    ASSERT_NE(vouched, nullptr);
    EXPECT_EQ(vouched->rows.size(), switches_.size());
    EXPECT_THAT(vouched->unread, UnorderedElementsAre(Pair(GuidOf(switches_[0]), ElementsAre(1))));
  }
  Write(200, 7);
  EXPECT_THAT(VouchedOf(before)->unread,
              UnorderedElementsAre(Pair(GuidOf(switches_[0]), ElementsAre(1, 3))));
}

TEST_F(TableRecordTest, AConfirmedChangeIsNotReadAgainByAnEarlierReader) {
  BeCalm();
  const Plan before = view_.plan;
  Write(70, 9);
  Write(70, 8);
  BeCalm();
  const auto vouched = VouchedOf(before);
  ASSERT_NE(vouched, nullptr);
  EXPECT_THAT(vouched->unread, IsEmpty());
  EXPECT_EQ(vouched->rows.at(GuidOf(switches_[0]))[70], 8);
}

TEST_F(TableRecordTest, HasTheChangesBetweenAnEarlierReadAndTheFirstDigests) {
  Write(1, 1);  // The first plan of this epoch.
  const Plan before = view_.plan;
  Write(70, 9);
  Write(200, 7);
  EXPECT_EQ(VouchedOf(before), nullptr) << "nothing confirms what these do not change";
  BeCalm();
  const auto vouched = VouchedOf(before);
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.size(), switches_.size());
  EXPECT_THAT(vouched->unread, IsEmpty());
  EXPECT_EQ(vouched->rows.at(GuidOf(switches_[0]))[70], 9);
}

TEST_F(TableRecordTest, TooManyChangesBeforeTheFirstDigestsMakeRoom) {
  Write(1, 1);
  const Plan early = view_.plan;
  Write(70, 9);
  Plan late;
  for (uint8_t port = 10; port < 130; ++port) {
    WriteFrom(1000, 4095, port);
    if (port != 70) continue;
    late = view_.plan;
    Write(90, 7);
  }
  EXPECT_LE(store_.LoadRows()->size(), RecordedTables::kSlots);
  BeCalm();
  EXPECT_EQ(VouchedOf(late)->rows.size(), switches_.size());
  EXPECT_FALSE(VouchedOf(early)->rows.contains(GuidOf(switches_[0])))
      << "the change of LID 70 made room";
}

TEST_F(TableRecordTest, AShortRunIsRecordedWhenItEnds) {
  BeCalm();
  const Plan before = view_.plan;
  is_long_ = false;
  Write(70, 9);
  Turn(now_);
  Turn(now_ += TableRecord::kMostDelay - milliseconds(1));
  EXPECT_THAT(VouchedOf(before)->unread, IsEmpty());
  Show(sweep::Phase::kIdle);
  Turn(now_);
  EXPECT_THAT(VouchedOf(before)->unread, Not(IsEmpty()));
}

TEST_F(TableRecordTest, AChangeThatWaitsIsWrittenWhenTheLastTurnWas) {
  for (const bool owns : {true, false}) {
    BeCalm();
    const Plan before = view_.plan;
    is_long_ = false;
    Write(owns ? 70 : 200, 9);
    record_.OnEnd(owns);
    EXPECT_EQ(VouchedOf(before)->unread.empty(), !owns);
  }
}

TEST_F(TableRecordTest, AChangeThatWaitsIsWrittenWhenTheLinkIsLost) {
  BeCalm();
  const Plan before = view_.plan;
  is_long_ = false;
  Write(70, 9);
  view_.sm.has_link = false;
  Show(sweep::Phase::kProgramming);
  EXPECT_THAT(VouchedOf(before)->unread, Not(IsEmpty()));
}

TEST_F(TableRecordTest, ChangesWithinTheDelayAreOneWrite) {
  BeCalm();
  const Plan before = view_.plan;
  const int writes = writes_;
  is_long_ = false;
  for (uint16_t lid = 100; lid < 100 + TableRecord::kMostWaiting - 1; ++lid) Write(lid, 9);
  EXPECT_EQ(writes_, writes);
  Last();
  EXPECT_EQ(writes_, writes + 1);
  EXPECT_EQ(Recorded().changes.size(), TableRecord::kMostWaiting - 1);
  for (uint16_t lid = 200; lid < 200 + TableRecord::kMostWaiting; ++lid) Write(lid, 9);
  EXPECT_EQ(writes_, writes + 2) << "as many as may wait";
}

TEST_F(TableRecordTest, APlanThatWasNamedAndGivenUpIsNoPartOfIt) {
  BeCalm();
  const Plan before = view_.plan;
  Write(70, 9);
  view_.plan = before;
  BeCalm();
  const auto vouched = VouchedOf(before);
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.size(), switches_.size());
  EXPECT_EQ(vouched->rows.at(GuidOf(switches_[0])), *before->rows[switches_[0].value()]);
}

TEST_F(TableRecordTest, AMasterOfAnEarlierReleaseMakesItOld) {
  BeCalm();
  ASSERT_NE(VouchedOf(view_.plan), nullptr);
  const RowKey mark{"tables", "0"};
  ASSERT_TRUE(store_.ChangeRows({{mark, "0x01 02\n"}}).ok());
  EXPECT_EQ(VouchedOf(view_.plan), nullptr);
  ASSERT_TRUE(store_.ChangeRows({{mark, std::nullopt}}).ok());
  EXPECT_EQ(VouchedOf(view_.plan), nullptr);
}

TEST_F(TableRecordTest, TooManyChangesWithoutCalmWithdrawIt) {
  BeCalm();
  const Plan before = view_.plan;
  for (uint8_t port = 100; port < 130; ++port) WriteAll(port);
  EXPECT_NE(VouchedOf(before), nullptr);
  for (uint8_t port = 130; port < 200; ++port) WriteAll(port);
  EXPECT_EQ(VouchedOf(before), nullptr);
  BeCalm();
  EXPECT_NE(VouchedOf(view_.plan), nullptr);
}

TEST_F(TableRecordTest, ChangesOfLongAgoMakeRoom) {
  BeCalm();
  const Plan before = view_.plan;
  size_t rows = 0;
  Write(70, 9);
  for (uint8_t port = 100; port < 240; ++port) {
    WriteFrom(1000, 4095, port);
    BeCalm();
    rows = std::max(rows, store_.LoadRows()->size());
  }
  EXPECT_LE(rows, RecordedTables::kSlots + 4) << "digests, base, mark and window";
  const auto vouched = VouchedOf(before);
  ASSERT_NE(vouched, nullptr) << "other switches";
  EXPECT_FALSE(vouched->rows.contains(GuidOf(switches_[0]))) << "it misses changes of that one";
  EXPECT_EQ(VouchedOf(view_.plan)->rows.size(), switches_.size());
}

TEST_F(TableRecordTest, ManySmallChangesAreKept) {
  BeCalm();
  const Plan before = view_.plan;
  for (int i = 0; i < 300; ++i) {
    Write(static_cast<uint16_t>(64 + i), 9);
    if (i % 50 == 0) BeCalm();
  }
  EXPECT_EQ(Recorded().changes.size(), 300u);
  EXPECT_EQ(VouchedOf(before)->rows.size(), switches_.size());
}

TEST_F(TableRecordTest, AChangeOfTooManyBlocksWithdrawsIt) {
  BeCalm();
  auto writes = std::make_shared<sweep::TableWrites>();
  for (const NodeIndex index : switches_)
    for (uint16_t block = 0; block < 768; ++block) writes->push_back({index, block});
  auto plan = std::make_shared<routing::RoutingPlan>(*view_.plan);
  for (const NodeIndex index : switches_)
    plan->rows[index.value()] = std::make_shared<const routing::Row>(RowTo(99, 0xC000));
  view_.plan = plan;
  view_.table_writes = writes;
  Show(sweep::Phase::kProgramming);
  Last();
  EXPECT_THAT(Recorded().digests, IsEmpty());
  const StoredRows rows = *store_.LoadRows();
  for (const auto& [key, text] : rows)
    EXPECT_LE(text.size(), TableRecord::kMostOfChange) << key.key;
}

TEST_F(TableRecordTest, OfAnEarlierEpochIsWithdrawnByTheNextOwnerMasterOrNot) {
  ASSERT_TRUE(store_
                  .ChangeRows({{RecordedTables::DigestKey(0), "0x01 02\n"},
                               {{"tables", "0"}, "0x01 02\n"},
                               {RecordedTables::ChangesKey(5), "5\n"}})
                  .ok());
  view_.sm.state = wire::SmState::kStandby;
  owns_ = false;
  Show(sweep::Phase::kDiscovering);
  EXPECT_EQ(Recorded().digests.size(), 1u) << "it is not this SM's yet";
  owns_ = true;
  Show(sweep::Phase::kStandby);
  EXPECT_THAT(*store_.LoadRows(), IsEmpty()) << "also the one of an earlier release";
  Show(sweep::Phase::kStandby);
  EXPECT_EQ(writes_, 1);
}

TEST_F(TableRecordTest, IsWithdrawnWhereTheEpochWasLostMeanwhile) {
  BeCalm();
  owns_ = false;
  Write(70, 9);
  EXPECT_FALSE(Recorded().digests.empty()) << "it cannot write";
  owns_ = true;
  Turn(now_);
  EXPECT_THAT(Recorded().digests, IsEmpty());
}

// The other one writes tables of its own, and this one may be master again later.
TEST_F(TableRecordTest, IsWithdrawnWhileAnotherSmIsMaster) {
  BeCalm();
  ASSERT_NE(VouchedOf(view_.plan), nullptr);
  view_.sm.state = wire::SmState::kStandby;
  Show(sweep::Phase::kStandby);
  EXPECT_EQ(VouchedOf(view_.plan), nullptr);
  view_.sm.state = wire::SmState::kMaster;
  Show(sweep::Phase::kIdle);
  Turn(now_);
  EXPECT_EQ(VouchedOf(view_.plan), nullptr);
  BeCalm();
  EXPECT_NE(VouchedOf(view_.plan), nullptr);
}

TEST_F(TableRecordTest, AMasterWhosePortHasNoLinkWritesNothing) {
  BeCalm();
  const int writes = writes_;
  view_.sm.has_link = false;
  Show(sweep::Phase::kRouting);
  Write(70, 9);
  EXPECT_EQ(writes_, writes);
}

TEST_F(TableRecordTest, IsWrittenAgainWhereTheStoreHasRefused) {
  Show(sweep::Phase::kIdle);
  Turn(now_);
  store_.FailWrites(Unavailable("etcd is away"));
  Turn(now_ + seconds(1));
  store_.FailWrites(absl::OkStatus());
  EXPECT_THAT(Recorded().digests, IsEmpty());
  Turn(now_ + seconds(2));
  Turn(now_ + seconds(3));
  EXPECT_FALSE(Recorded().digests.empty());
}

TEST_F(TableRecordTest, AChangeThatTheStoreRefusesWithdrawsIt) {
  BeCalm();
  store_.FailWrites(Unavailable("etcd is away"));
  Write(70, 9);
  store_.FailWrites(absl::OkStatus());
  Turn(now_);
  EXPECT_THAT(Recorded().digests, IsEmpty());
}

TEST_F(TableRecordTest, ChangesThatTheStoreRefusedComeWithTheNextOnes) {
  BeCalm();
  const Plan before = view_.plan;
  Write(70, 9);
  store_.FailWrites(Unavailable("etcd is away"));
  Write(200, 7);
  owns_ = false;  // The lease is over.
  Write(300, 7);
  store_.FailWrites(absl::OkStatus());
  owns_ = true;
  BeCalm();
  const auto vouched = VouchedOf(before);
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.size(), switches_.size());
  EXPECT_THAT(vouched->unread, IsEmpty());
}

TEST_F(TableRecordTest, IsTriedAgainWhereTheQueueIsFull) {
  BeCalm();
  takes_ = false;
  Write(70, 9);
  takes_ = true;
  Turn(now_);
  EXPECT_THAT(Recorded().digests, IsEmpty());
  BeCalm();
  EXPECT_FALSE(Recorded().digests.empty());
}

}  // namespace
}  // namespace fabricd::shell
