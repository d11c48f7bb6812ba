// SPDX-License-Identifier: Apache-2.0
// The store of several nodes, and what it does while etcd does not.
#include "store/etcd/etcd_store.h"

#include "store/etcd/presence.h"
#include "store/etcd/schema.h"
#include "store/etcd/waiting_store.h"
#include "store/memory_store.h"
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

TEST(Statements, NameTheNewestLayoutThatTheirVersionKnows) {
  const NodeStatement statement{FabricRole::kMaster, "head1 2\nMASTER"};
  EXPECT_EQ(ReadStatement(StatementText(statement)), statement);
  EXPECT_EQ(ReadStatement(StatementText({FabricRole::kNoLink, ""})).role, FabricRole::kNoLink);
  EXPECT_EQ(SchemaOf(StatementText(statement)), kSchema);
  EXPECT_EQ(SchemaOf("- 12\nhead1"), 12);
  // Of a version that did not name one.
  EXPECT_EQ(ReadStatement("master\nhead1 2").role, FabricRole::kMaster);
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

// A disk that takes what is written before the rows, and then is full.
class FullForRows final : public MemoryStore {
 public:
  bool is_full = false;
  absl::Status ChangeRows(const RowChanges& changes) override {
    return is_full ? absl::ResourceExhaustedError("disk full") : MemoryStore::ChangeRows(changes);
  }
};

TEST_F(EtcdTest, AWaitingNodeUndoesACopyThatFailedInPart) {
  const auto owner = MustOpen(head1_);
  ASSERT_TRUE(owner->ChangeRows({{{"a", "1"}, "x"}}).ok());
  auto local = std::make_unique<FullForRows>();
  FullForRows& disk = *local;
  options_.has_thread = false;
  // Each turn looks.
  std::chrono::nanoseconds now = seconds(1000);
  options_.clock = [&now] { return now += seconds(1); };
  const auto waiting =
      OpenWaitingStore(std::make_unique<ForwardingClient>(*client_), std::move(local), options_);
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  disk.is_full = true;
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  ASSERT_TRUE(owner->ChangeRows({{{"a", "1"}, "y"}}).ok());
  (*waiting)->Turn();
  EXPECT_EQ(LidsOf(disk), 1u) << "a part of it is there";
  EXPECT_THAT(Message((*waiting)->writable()), HasSubstr("disk full"));
  ASSERT_TRUE(owner->RemoveLids({Guid(1)}).ok());
  disk.is_full = false;
  (*waiting)->Turn();
  EXPECT_EQ(LidsOf(disk), 0u);
  EXPECT_EQ(disk.LoadRows()->at({"a", "1"}), "y");
  EXPECT_TRUE((*waiting)->writable().ok());
}

TEST_F(EtcdTest, ANodeTakesOverWhileItsDiskIsFullAndWritesItsCopyLater) {
  {
    const auto owner = MustOpen(head1_);
    ASSERT_TRUE(owner->ChangeRows({{{"a", "1"}, "x"}, {{"a", "2"}, "x"}}).ok());
  }
  auto local = std::make_unique<FullForRows>();
  FullForRows& disk = *local;
  ASSERT_TRUE(local->ChangeRows({{{"old", "1"}, "x"}}).ok());
  ASSERT_TRUE(local->PutMeta(kCopyKey, std::string(kPrefix) + " 0").ok());
  disk.is_full = true;
  const auto next =
      OpenEtcdStore(std::make_unique<ForwardingClient>(*client_), std::move(local), options_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ((*next)->LoadRows()->at({"a", "1"}), "x");
  ASSERT_TRUE((*next)->PutLids({Record(1, 10)}).ok());
  disk.is_full = false;
  ASSERT_TRUE((*next)->ChangeRows({{{"a", "2"}, std::nullopt}}).ok());
  EXPECT_TRUE(WaitFor([&] { return LidsOf(disk) == 1; }));
  const auto rows = disk.LoadRows();
  EXPECT_EQ(*rows, (StoredRows{{{"a", "1"}, "x"}}));
}

// The next transaction is carried out when Arrive() is called, and not answered.
class Delayed final : public ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;
  bool delays = false;
  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    if (!std::exchange(delays, false)) return real_.Commit(transaction);
    late_ = transaction;
    return absl::UnavailableError("no answer");
  }
  void Arrive() { EXPECT_TRUE(real_.Commit(late_)->succeeded); }

 private:
  Transaction late_;
};

TEST_F(EtcdTest, AnOwnWriteThatArrivesLateIsNotTakenForThatOfAnother) {
  Delayed client(*client_);
  SharedRows rows(client, {kPrefix, "node", "", seconds(60)});
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  const std::string known = rows.sequence();
  client.delays = true;
  ASSERT_EQ(rows.Write({{"row/a/1", "x"}}).outcome, SharedRows::Outcome::kNotReached);
  client.Arrive();
  EXPECT_EQ(rows.Write({{"row/a/2", "y"}}).outcome, SharedRows::Outcome::kEpochOver);
  EXPECT_FALSE(rows.is_superseded());
  ASSERT_TRUE(rows.Attach(known).ok());
  EXPECT_EQ(rows.Write({{"row/a/2", "y"}}).outcome, SharedRows::Outcome::kDone);
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

// Gives no answer about the shared history.
class WithoutHistory final : public ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;
  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    if (request.key.ends_with("control/history")) return absl::UnavailableError("no answer");
    return real_.Range(request);
  }
};

TEST_F(EtcdTest, ANewNodeDoesNotStartBeforeItHasTheHistory) {
  const auto open = [this](auto opens) {
    return opens(std::make_unique<WithoutHistory>(*client_), *OpenSqliteStore(head1_.path()),
                 options_);
  };
  EXPECT_EQ(open(OpenEtcdStore).status().code(), absl::StatusCode::kUnavailable);
  {
    const auto other = MustOpen(head2_);
    EXPECT_EQ(open(OpenWaitingStore).status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(MustOpen(head1_)->event_numbering().begin > 0);
  // It knows where to go on.
  const auto again = open(OpenEtcdStore);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->event_numbering().begin > 0);
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
