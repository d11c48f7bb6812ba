// SPDX-License-Identifier: Apache-2.0
// The store of several nodes, and what it does while etcd does not.
#include "store/etcd/etcd_store.h"

#include "store/etcd/batch_text.h"
#include "store/etcd/presence.h"
#include "store/etcd/schema.h"
#include "tests/unit/store/etcd/etcd_fixture.h"
#include "tests/unit/store/etcd/forwarding_client.h"

namespace fabricd::store::etcd {
namespace {

using fabricd::support::TcpProxy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Clock = std::chrono::steady_clock;

FlatChanges ManyChanges(size_t count, const std::string& value) {
  FlatChanges changes;
  for (size_t i = 0; i < count; ++i) changes["row/many/" + std::to_string(i)] = value;
  return changes;
}

TEST(BatchText, ChangesComeBackFromTheirParts) {
  FlatChanges changes = ManyChanges(50, std::string("a\0b", 3));
  changes["gone"] = std::nullopt;
  changes["empty"] = "";
  const auto parts = EncodeChanges(changes, 100);
  EXPECT_GT(parts.size(), 10u);
  FlatChanges read;
  for (const std::string& part : parts) EXPECT_TRUE(DecodeChanges(part, read));
  EXPECT_EQ(read, changes);
  EXPECT_FALSE(DecodeChanges(parts[0].substr(0, parts[0].size() - 1), read));
  EXPECT_FALSE(DecodeChanges("x", read));
  EXPECT_THAT(EncodeChanges({}, 100), IsEmpty());
}

TEST(Statements, NameTheNewestLayoutThatTheirVersionKnows) {
  const NodeStatement statement{true, "head1 2\nMASTER"};
  EXPECT_EQ(ReadStatement(StatementText(statement)), statement);
  EXPECT_EQ(SchemaOf(StatementText(statement)), kSchema);
  EXPECT_EQ(SchemaOf("- 12\nhead1"), 12);
  // Of a version that did not name one.
  EXPECT_TRUE(ReadStatement("master\nhead1 2").is_master);
  for (const char* text : {"master\nhead1 2", "-", "", "- x\n2"}) EXPECT_EQ(SchemaOf(text), 1);
}

TEST_F(EtcdTest, OnlyOneFabricdHasTheEpoch) {
  options_.name = "head1 pid 17";
  auto first = MustOpen(head1_);
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(first->PutLids({Record(1, 10)}).ok());
  const auto second = Open(head2_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(second.status()), HasSubstr("head1 pid 17"));
  ASSERT_TRUE(first->PutLids({Record(2, 11)}).ok());
  // An orderly end gives the epoch back at once.
  first.reset();
  const auto next = MustOpen(head2_);
  ASSERT_NE(next, nullptr);
  EXPECT_THAT(*next->LoadLids(), ElementsAre(Record(1, 10), Record(2, 11)));
}

TEST_F(EtcdTest, TheEpochOfADeadOwnerEndsWithItsLease) {
  SharedRows dead(*client_, {kPrefix, "dead", "dead", seconds(2)});
  ASSERT_TRUE(dead.Attach(std::nullopt).ok());
  ASSERT_EQ(dead.Write({{"row/a/1", "x"}}).outcome, SharedRows::Outcome::kDone);
  std::unique_ptr<Store> next;
  EXPECT_TRUE(WaitFor([&] {
    auto store = Open(head2_);
    if (store.ok()) next = *std::move(store);
    return next != nullptr;
  }));
  ASSERT_NE(next, nullptr);
  EXPECT_THAT(*next->LoadRows(), SizeIs(1));
  // The dead one was only stopped: it sees by its own clock that the lease is over.
  EXPECT_EQ(dead.Write({{"row/a/1", "y"}}).outcome, SharedRows::Outcome::kEpochOver);
  EXPECT_EQ(Shared().rows.at({"a", "1"}), "x");
}

TEST_F(EtcdTest, AWriteOfAnOldEpochIsRefusedByEtcd) {
  SharedRows old(*client_, {kPrefix, "node", "before", seconds(60)});
  ASSERT_TRUE(old.Attach(std::nullopt).ok());
  ASSERT_EQ(old.Write({{"row/a/1", "x"}}).outcome, SharedRows::Outcome::kDone);
  // The same instance, after a restart: it need not wait for the lease.
  SharedRows next(*client_, {kPrefix, "node", "after", seconds(60)});
  ASSERT_TRUE(next.Attach(std::nullopt).ok());
  EXPECT_GT(next.epoch().revision(), old.epoch().revision());
  EXPECT_EQ(old.Write({{"row/a/1", "y"}}).outcome, SharedRows::Outcome::kTakenOver);
  ASSERT_EQ(next.Write({{"row/a/1", "z"}}).outcome, SharedRows::Outcome::kDone);
  // What the old one knows is older than what was written since: it cannot begin again.
  EXPECT_EQ(old.Attach(old.sequence()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Shared().rows.at({"a", "1"}), "z");
}

// An attempt to open may have taken the epoch and then failed: the copy is not new by that.
TEST_F(EtcdTest, AnOwnTakeDoesNotHideTheWritesOfAnother) {
  SharedRows rows(*client_, {kPrefix, "node", "", seconds(60)});
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write({{"row/a/1", "x"}}).outcome, SharedRows::Outcome::kDone);
  const std::string known = rows.sequence();
  SharedRows other(*client_, {kPrefix, "other", "", seconds(60)});
  ASSERT_TRUE(other.Attach(std::nullopt, /*by_force=*/true).ok());
  ASSERT_EQ(other.Write({{"row/a/1", "y"}}).outcome, SharedRows::Outcome::kDone);
  ASSERT_TRUE(rows.Attach(std::nullopt, /*by_force=*/true).ok());
  EXPECT_FALSE(rows.HasFound(known));
  EXPECT_TRUE(rows.HasFound(other.sequence()));
  EXPECT_EQ(rows.Attach(known).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(rows.Attach(other.sequence()).ok());
}

TEST_F(EtcdTest, ALargeWriteOfAnOldEpochChangesNothing) {
  SharedRows old(*client_, {kPrefix, "node", "before", seconds(60)});
  ASSERT_TRUE(old.Attach(std::nullopt).ok());
  SharedRows next(*client_, {kPrefix, "node", "after", seconds(60)});
  ASSERT_TRUE(next.Attach(std::nullopt).ok());
  EXPECT_EQ(old.Write(ManyChanges(500, "x")).outcome, SharedRows::Outcome::kTakenOver);
  EXPECT_THAT(Shared().rows, IsEmpty());
}

// The process ends between the commit of a large write and its end.
TEST_F(EtcdTest, TheNextOwnerFinishesACommittedWrite) {
  {
    SharedRows rows(*client_, {kPrefix, "node", "", seconds(60)});
    ASSERT_TRUE(rows.Attach(std::nullopt).ok());
    ASSERT_EQ(rows.Write({{"row/many/1", "old"}, {"row/gone/1", "old"}}).outcome,
              SharedRows::Outcome::kDone);
    rows.epoch().Release();
  }
  FlatChanges changes = ManyChanges(300, "new");
  changes["row/gone/1"] = std::nullopt;
  const auto parts = EncodeChanges(changes, 2000);
  for (size_t i = 0; i < parts.size(); ++i)
    ASSERT_TRUE(client_->Put(fmt::format("/fabricd/control/batch/{:06}", i), parts[i], 0).ok());
  // Not committed: not there.
  EXPECT_EQ(Shared().rows.size(), 2u);
  ASSERT_TRUE(client_->Put("/fabricd/control/commit", std::to_string(parts.size()), 0).ok());
  EXPECT_EQ(Shared().rows.size(), 300u);
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  const auto rows = store->LoadRows();
  EXPECT_EQ(rows->size(), 300u);
  EXPECT_EQ(rows->at({"many", "1"}), "new");
  EXPECT_THAT(client_->Range({"/fabricd/control/batch/", "/fabricd/control/commiu"})->kvs,
              IsEmpty());
}

// The client of a process that dies at a large write's commit, just after an attempt of before has
// arrived late: the one that deleted the parts of the write before.
class LateClient final : public ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;
  bool dies_at_commit = false;

  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    if (is_dead_) return absl::UnavailableError("dead");
    bool is_commit = false;
    for (const Change& change : transaction.changes) {
      if (!change.key.ends_with("control/commit")) continue;
      is_commit = !change.is_delete;
      if (change.is_delete) deletion_ = transaction;
    }
    if (!is_commit || !dies_at_commit) return real_.Commit(transaction);
    EXPECT_TRUE(real_.Commit(deletion_).ok());
    is_dead_ = true;
    return real_.Commit(transaction);
  }

 private:
  Transaction deletion_;
  bool is_dead_ = false;
};

TEST_F(EtcdTest, ALateDeletionLeavesThePartsOfTheNextWrite) {
  LateClient client(*client_);
  SharedRows rows(client, {kPrefix, "node", "", seconds(60)});
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "old")).outcome, SharedRows::Outcome::kDone);
  client.dies_at_commit = true;
  ASSERT_EQ(rows.Write(ManyChanges(300, "new")).outcome, SharedRows::Outcome::kDone);
  const Contents found = Shared();
  EXPECT_THAT(found.rows, SizeIs(300));
  EXPECT_EQ(found.rows.at({"many", "1"}), "new");
}

TEST_F(EtcdTest, PartsOfAWriteThatWasNotCommittedAreDeleted) {
  MustOpen(head1_).reset();
  ASSERT_TRUE(client_->Put("/fabricd/control/batch/000000", "half of", 0).ok());
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(*store->LoadRows(), IsEmpty());
  EXPECT_THAT(client_->Range({"/fabricd/control/batch/000000"})->kvs, IsEmpty());
}

TEST_F(EtcdTest, ARowBeyondTheBoundIsRefusedAndNothingElseIs) {
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->ChangeRows({{{"a", "1"}, "x"}, {{"a", "2"}, std::string(1 << 20, 'x')}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(store->writable().ok());
  EXPECT_THAT(Shared().rows, IsEmpty());
}

TEST_F(EtcdTest, RefusesANewerSchemaAndValuesOfOthers) {
  MustOpen(head1_).reset();
  ASSERT_TRUE(client_->Put("/fabricd/control/schema", "2", 0).ok());
  const auto newer = Open(head1_);
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(newer.status()), HasSubstr("schema version 2 is newer than this fabricd"));
  ASSERT_TRUE(client_->Put("/fabricd/control/schema", "two", 0).ok());
  EXPECT_EQ(Open(head1_).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(client_->Put("/fabricd/control/schema", "1", 0).ok());
  ASSERT_TRUE(client_->Put("/fabricd/data/lid/0x0000000000000001", "x", 0).ok());
  const auto faulty = Open(head1_);
  EXPECT_EQ(faulty.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(faulty.status()), HasSubstr("lid/0x0000000000000001: no LID record"));
}

TEST_F(EtcdTest, StateThatIsOnlyHereOrOnlyInACopyIsNotHidden) {
  {
    auto local = OpenSqliteStore(head1_.path());
    ASSERT_TRUE(local.ok());
    ASSERT_TRUE((*local)->PutLids({Record(1, 10)}).ok());
  }
  const auto own = Open(head1_);
  EXPECT_EQ(own.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(own.status()), HasSubstr("has state of its own (1 LIDs, 0 holds, 0 rows)"));
  ASSERT_TRUE(MustOpen(head2_)->PutLids({Record(2, 11)}).ok());
  ASSERT_TRUE(client_->DeleteRange(kPrefix, EndOfPrefix(kPrefix)).ok());
  const auto lost = Open(head2_);
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(lost.status()), HasSubstr("is empty, but the state directory has a copy"));
}

TEST_F(EtcdTest, RefusesWritesAtOnceWhileEtcdIsAwayAndGoesOnWhenItIsBack) {
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  cluster_->Kill(0);
  EXPECT_EQ(store->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  const auto begun = Clock::now();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(store->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(Clock::now() - begun, milliseconds(200));
  EXPECT_THAT(Message(store->writable()), HasSubstr("etcd at 127.0.0.1:"));
  // Reads answer, and what is of this node is written.
  EXPECT_EQ(LidsOf(*store), 1u);
  EXPECT_TRUE(store->AppendAudit({AuditRecord()}).ok());
  cluster_->Start(0);
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); })) << store->writable();
  ASSERT_TRUE(store->PutLids({Record(2, 11)}).ok());
  EXPECT_THAT(Shared().lids, ElementsAre(Record(1, 10), Record(2, 11)));
}

TEST_F(EtcdTest, NoticesThatEtcdIsAwayWithoutAWrite) {
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  cluster_->Kill(0);
  EXPECT_TRUE(WaitFor([&] { return absl::IsUnavailable(store->writable()); }));
}

// It was reported as failed, so it must not be there later.
TEST_F(EtcdTest, AWriteThatWasReportedAsFailedIsUndoneWhereItWasCarriedOut) {
  // The end of an attempt cancels the call: long after it has arrived, also on a busy machine.
  timeout_ = milliseconds(1600);
  options_.lease = seconds(10);
  TcpProxy proxy(cluster_->endpoints()[0]);
  const auto store = MustOpen(head1_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  ASSERT_TRUE(store->ChangeRows({{{"a", "1"}, "old"}}).ok());
  // Each way takes longer than a call may: the write arrives, its answer does not.
  proxy.Delay(milliseconds(1700));
  EXPECT_EQ(store->ChangeRows({{{"a", "1"}, "new"}, {{"a", "2"}, "new"}}).code(),
            absl::StatusCode::kUnavailable);
  // Nor is it known to be as it was.
  EXPECT_EQ(store->ChangeRows({{{"a", "1"}, "old"}}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(WaitFor([&] { return Shared().rows.size() == 2; })) << "the write has not arrived";
  proxy.Delay(milliseconds(0));
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); })) << store->writable();
  EXPECT_EQ(Shared().rows, (StoredRows{{{"a", "1"}, "old"}}));
  EXPECT_EQ(*store->LoadRows(), (StoredRows{{{"a", "1"}, "old"}}));
}

TEST_F(EtcdTest, StartsWithItsCopyWhileEtcdIsAway) {
  {
    const auto store = MustOpen(head1_);
    ASSERT_NE(store, nullptr);
    ASSERT_TRUE(store->PutLids({Record(1, 10), Record(2, 11)}).ok());
    ASSERT_TRUE(store->RemoveLids({Guid(2)}).ok());
    policy::Hold hold;
    hold.id = 5;
    hold.owner = "ops";
    ASSERT_TRUE(store->ChangeHolds({hold}, {}).ok());
    ASSERT_TRUE(store->ChangeHolds({}, {5}).ok());
    ASSERT_TRUE(store->ChangeRows({{{"a", "1"}, "x"}}).ok());
  }
  cluster_->Kill(0);
  // A node that never had a copy does not know which LIDs are in use.
  const auto unknown = Open(head2_);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(unknown.status()), HasSubstr("has no copy of"));
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(*store->LoadLids(), ElementsAre(Record(1, 10)));
  EXPECT_EQ(store->LoadHolds()->highest_id, 5u);
  EXPECT_EQ(*store->LoadRows(), (StoredRows{{{"a", "1"}, "x"}}));
  EXPECT_EQ(store->PutLids({Record(3, 12)}).code(), absl::StatusCode::kUnavailable);
  cluster_->Start(0);
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); })) << store->writable();
  EXPECT_TRUE(store->PutLids({Record(3, 12)}).ok());
}

TEST_F(EtcdTest, AnOldCopyIsNotWrittenBack) {
  { ASSERT_TRUE(MustOpen(head1_)->PutLids({Record(1, 10)}).ok()); }
  { ASSERT_TRUE(MustOpen(head2_)->PutLids({Record(2, 11)}).ok()); }
  cluster_->Kill(0);
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(LidsOf(*store), 1u);
  cluster_->Start(0);
  EXPECT_TRUE(WaitFor([&] { return absl::IsFailedPrecondition(store->writable()); }))
      << store->writable();
  EXPECT_EQ(Shared().lids.size(), 2u);
}

TEST_F(EtcdTest, LatencyDelaysWritesAndNothingElse) {
  TcpProxy proxy(cluster_->endpoints()[0]);
  timeout_ = milliseconds(3000);
  const auto store = MustOpen(head1_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  proxy.Delay(milliseconds(100));
  const auto begun = Clock::now();
  ASSERT_TRUE(store->PutLids(ManyRecords(300)).ok());
  EXPECT_GT(Clock::now() - begun, milliseconds(200));
  EXPECT_EQ(Shared().lids.size(), 300u);
  EXPECT_TRUE(store->writable().ok());
}

TEST_F(EtcdTest, CompactionOfTheHistoryLosesNoState) {
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  for (uint16_t lid = 1; lid <= 20; ++lid) ASSERT_TRUE(store->PutLids({Record(1, lid)}).ok());
  const int64_t revision = client_->Range({"x"})->revision;
  cluster_->Control(fmt::format("compact {}", revision));
  ASSERT_TRUE(store->PutLids({Record(2, 30)}).ok());
  EXPECT_THAT(Shared().lids, ElementsAre(Record(1, 20), Record(2, 30)));
}

class EtcdOfThreeTest : public EtcdTest {
 protected:
  EtcdOfThreeTest() : EtcdTest(3) { timeout_ = milliseconds(3000); }
};

// The deadline of calls is that of the daemon: an election ends within it.
TEST_F(EtcdOfThreeTest, LosesNothingAcknowledgedWhenMembersAreKilled) {
  auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  std::vector<LidRecord> acknowledged;
  uint16_t lid = 0;
  const auto write = [&] {
    ++lid;
    const LidRecord record = Record(0x1000u + lid, lid);
    const absl::Status status = store->PutLids({record});
    if (status.ok()) acknowledged.push_back(record);
    return status;
  };
  EXPECT_TRUE(write().ok());
  cluster_->Kill(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(write().ok()) << store->writable();
  // All are gone, and back.
  for (size_t member = 1; member < 3; ++member) cluster_->Kill(member);
  EXPECT_EQ(write().code(), absl::StatusCode::kUnavailable);
  for (size_t member = 0; member < 3; ++member) cluster_->Start(member);
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); })) << store->writable();
  EXPECT_TRUE(write().ok());
  store.reset();
  EXPECT_EQ(*MustOpen(head2_)->LoadLids(), acknowledged);
}

}  // namespace
}  // namespace fabricd::store::etcd
