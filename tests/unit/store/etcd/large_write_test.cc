// SPDX-License-Identifier: Apache-2.0
// Writes that are too large for one transaction of etcd.
#include "store/etcd/batch_text.h"
#include "tests/unit/store/etcd/etcd_fixture.h"
#include "tests/unit/store/etcd/forwarding_client.h"

namespace fabricd::store::etcd {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

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

TEST_F(EtcdTest, ALargeWriteOfAnOldEpochChangesNothing) {
  SharedRows old(*client_, {kPrefix, "node", "before", seconds(60)});
  ASSERT_TRUE(old.Attach(std::nullopt).ok());
  SharedRows next(*client_, {kPrefix, "node", "after", seconds(60)});
  ASSERT_TRUE(next.Attach(std::nullopt).ok());
  EXPECT_EQ(old.Write(ManyChanges(500, "x")).outcome, SharedRows::Outcome::kTakenOver);
  EXPECT_THAT(Shared().rows, IsEmpty());
}

// A machine whose time is what a test says; the leases are long.
class LargeWriteTest : public EtcdTest {
 protected:
  SharedRowsOptions OptionsOf(const std::string& instance) {
    return {.prefix = kPrefix, .instance = instance, .lease = seconds(600), .clock = [this] {
              return now_;
            }};
  }
  size_t Keys(const std::string& prefix) {
    const auto read = client_->Range({kPrefix + prefix, EndOfPrefix(kPrefix + prefix)});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->kvs.size() : 0;
  }

  std::chrono::nanoseconds now_ = seconds(1000);
};

TEST_F(LargeWriteTest, IsDoneBeforeItsRowsAreCarriedOver) {
  SharedRows rows(*client_, OptionsOf("node"));
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "x")).outcome, SharedRows::Outcome::kDone);
  EXPECT_THAT(Shared().rows, SizeIs(300));
  EXPECT_THAT(*rows.Load(), SizeIs(300));
  now_ += kCarryOverAfter - seconds(1);
  rows.CarryOverIfDue(2);
  EXPECT_EQ(Keys("data/"), 0u);
  now_ += seconds(1);
  rows.CarryOverIfDue(2);
  EXPECT_THAT(Keys("data/"), AllOf(Gt(100u), Lt(kMostChanges * 2)));
  EXPECT_THAT(Shared().rows, SizeIs(300));
  rows.CarryOverIfDue(2);
  EXPECT_EQ(Keys("data/"), 300u);
  EXPECT_EQ(Keys("control/batch/") + Keys("control/commit"), 0u);
  rows.CarryOverIfDue(2);
}

TEST_F(LargeWriteTest, LaterWritesWinAlsoWhereAnotherOwnerCarriesItOver) {
  for (const bool is_carried_in_part : {false, true}) {
    SharedRows rows(*client_, OptionsOf("node"));
    ASSERT_TRUE(rows.Attach(std::nullopt, /*by_force=*/true).ok());
    ASSERT_EQ(rows.Write(ManyChanges(300, "old")).outcome, SharedRows::Outcome::kDone);
    now_ += kCarryOverAfter;
    rows.CarryOverIfDue(is_carried_in_part ? 1 : 0);
    // Beside the batch, then instead of some of it.
    ASSERT_EQ(rows.Write({{"row/other/1", "new"}}).outcome, SharedRows::Outcome::kDone);
    EXPECT_GT(Keys("control/batch/"), 0u);
    ASSERT_EQ(rows.Write({{"row/many/1", "new"}}).outcome, SharedRows::Outcome::kDone);
    EXPECT_EQ(Keys("control/batch/"), 0u);
    ASSERT_EQ(rows.Write(ManyChanges(301, "newer")).outcome, SharedRows::Outcome::kDone);
    ASSERT_EQ(rows.Write({{"row/other/1", std::nullopt}}).outcome, SharedRows::Outcome::kDone);
    EXPECT_GT(Keys("control/batch/"), 0u);
    SharedRows next(*client_, OptionsOf("next"));
    ASSERT_TRUE(next.Attach(std::nullopt, /*by_force=*/true).ok());
    now_ += kCarryOverAfter;
    rows.CarryOverIfDue(100);
    EXPECT_TRUE(rows.is_superseded());
    EXPECT_EQ(Keys("data/"), 300u);
    EXPECT_THAT(*next.Load(), SizeIs(301));
    ASSERT_EQ(next.Write({{"row/many/1", "newest"}}).outcome, SharedRows::Outcome::kDone);
    const Contents found = Shared();
    EXPECT_THAT(found.rows, SizeIs(301));
    EXPECT_EQ(found.rows.at({"many", "1"}), "newest");
    EXPECT_EQ(found.rows.at({"many", "2"}), "newer");
    EXPECT_EQ(Keys("control/batch/"), 0u);
    ASSERT_EQ(next.Write(Difference(*next.Load(), {})).outcome, SharedRows::Outcome::kDone);
    ASSERT_EQ(next.CarryOver().outcome, SharedRows::Outcome::kDone);
  }
}

// Of an owner that had put them just before its epoch was taken.
TEST_F(LargeWriteTest, PartsOfAnEarlierOwnerAreNotPartOfIt) {
  SharedRows rows(*client_, OptionsOf("node"));
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  const auto left = EncodeChanges({{"row/many/1", "left"}, {"row/left/1", "left"}}, 2000);
  ASSERT_TRUE(client_->Put(std::string(kPrefix) + "control/batch/000001", left[0], 0).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "x")).outcome, SharedRows::Outcome::kDone);
  EXPECT_EQ(Shared().rows.at({"many", "1"}), "x");
  EXPECT_THAT(Shared().rows, SizeIs(300));
  EXPECT_EQ(Keys("control/batch/"), 1u);
}

// A contender that has read before the carry-over would start again, and discover the fabric twice.
TEST_F(LargeWriteTest, CarryingItOverIsNoNewWrite) {
  SharedRows rows(*client_, OptionsOf("node"));
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "x")).outcome, SharedRows::Outcome::kDone);
  const std::string read = SharedRows::ReadControl(*client_, kPrefix)->sequence;
  ASSERT_EQ(rows.CarryOver().outcome, SharedRows::Outcome::kDone);
  const std::string carried = SharedRows::ReadControl(*client_, kPrefix)->sequence;
  EXPECT_NE(carried, read) << "an attempt that arrives late is refused";
  SharedRows next(*client_, OptionsOf("next"));
  ASSERT_TRUE(next.Attach(std::nullopt, /*by_force=*/true).ok());
  EXPECT_TRUE(next.HasFound(read));
  ASSERT_EQ(rows.Write({{"row/many/1", "y"}}).outcome, SharedRows::Outcome::kTakenOver);
  ASSERT_TRUE(rows.Attach(std::nullopt, /*by_force=*/true).ok());
  EXPECT_FALSE(rows.HasFound(carried)) << "another one has had the epoch";
}

// An owner knows its own writes after it has carried rows over too.
TEST_F(LargeWriteTest, ALaterTakeFindsTheWritesOfThisObjectAlone) {
  SharedRows rows(*client_, OptionsOf("node"));
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "x")).outcome, SharedRows::Outcome::kDone);
  ASSERT_EQ(rows.CarryOver().outcome, SharedRows::Outcome::kDone);
  const std::string known = rows.sequence();
  ASSERT_EQ(rows.Write({{"row/many/1", "y"}}).outcome, SharedRows::Outcome::kDone);
  rows.epoch().Forget();
  ASSERT_TRUE(rows.Attach(known).ok());
  EXPECT_FALSE(rows.is_superseded());
}

// So it is carried over once, however often the epoch is taken again.
TEST_F(LargeWriteTest, GoesOnWhereItWasAfterTheEpochWasTakenAgain) {
  SharedRows rows(*client_, OptionsOf("node"));
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  ASSERT_EQ(rows.Write(ManyChanges(300, "x")).outcome, SharedRows::Outcome::kDone);
  now_ += kCarryOverAfter;
  rows.CarryOverIfDue(3);
  rows.epoch().Forget();
  ASSERT_TRUE(rows.Attach(std::nullopt).ok());
  rows.CarryOverIfDue(1);
  EXPECT_EQ(Keys("data/"), 300u);
}

TEST_F(LargeWriteTest, AStoreCarriesItOverInItsTurns) {
  options_.clock = [this] { return now_; };
  options_.lease = seconds(600);
  options_.has_thread = false;
  const auto store = MustOpen(head1_);
  RowChanges changes;
  for (int i = 0; i < 1000; ++i) changes[{"many", std::to_string(i)}] = "x";
  ASSERT_TRUE(store->ChangeRows(changes).ok());
  store->Turn();
  EXPECT_EQ(Keys("data/"), 0u);
  now_ += kCarryOverAfter;
  store->Turn();
  // Not in one: a requester may be waiting.
  EXPECT_THAT(Keys("data/"), AllOf(Gt(0u), Lt(1000u)));
  store->Turn();
  EXPECT_EQ(Keys("data/"), 1000u);
  EXPECT_EQ(Keys("control/batch/"), 0u);
  EXPECT_TRUE(store->ChangeRows({{{"many", "1"}, "y"}}).ok());
}

// The process ends between the commit of a large write and its end.
TEST_F(EtcdTest, TheNextOwnerHasACommittedWrite) {
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
  const auto rows = store->LoadRows();
  EXPECT_EQ(rows->size(), 300u);
  EXPECT_EQ(rows->at({"many", "1"}), "new");
  ASSERT_TRUE(store->ChangeRows({{{"many", "1"}, "newer"}}).ok());
  EXPECT_EQ(Shared().rows.at({"many", "1"}), "newer");
  EXPECT_EQ(Shared().rows.size(), 300u);
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

}  // namespace
}  // namespace fabricd::store::etcd
