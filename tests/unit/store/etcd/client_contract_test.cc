// SPDX-License-Identifier: Apache-2.0
// What fabricd relies on of etcd: the same tests on real etcds and on the simulated one.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "store/etcd/client.h"
#include "store/etcd/epoch.h"
#include "tests/unit/store/etcd/client_kinds.h"
#include "tests/unit/store/etcd/forwarding_client.h"
#include "tests/unit/store/etcd/watch_recorder.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Field = Comparison::Field;

TEST(EndOfPrefix, IsTheFirstKeyBehindAllThatBeginWithIt) {
  EXPECT_EQ(EndOfPrefix("a/"), "a0");
  EXPECT_EQ(EndOfPrefix("a\xFF\xFF"), "b");
  EXPECT_EQ(EndOfPrefix("\xFF"), std::string(1, '\0'));
  EXPECT_EQ(EndOfPrefix(""), std::string(1, '\0'));
}

class ClientContract : public ::testing::TestWithParam<ClientKind> {
 protected:
  void SetUp() override { Use(GetParam().make()); }
  void Use(std::unique_ptr<ClientHome> home) {
    home_ = std::move(home);
    client_ = &home_->client();
  }
  int64_t Put(const std::string& key, const std::string& value, int64_t lease = 0) {
    const auto revision = client_->Put(key, value, lease);
    EXPECT_TRUE(revision.ok()) << revision.status();
    return revision.value_or(0);
  }
  int64_t Grant(seconds ttl) {
    const auto lease = client_->GrantLease(ttl);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? lease->id : 0;
  }
  std::vector<KeyValue> Read(const std::string& key) {
    const auto read = client_->Range({key});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->kvs : std::vector<KeyValue>();
  }
  std::unique_ptr<ClientHome> home_;
  Client* client_ = nullptr;
};

TEST_P(ClientContract, ALimitOfZeroSendsNothing) {
  client_->Limit(milliseconds(0));
  EXPECT_EQ(client_->Put("a", "1", 0).status().code(), absl::StatusCode::kUnavailable);
  client_->Limit(std::nullopt);
  EXPECT_THAT(Read("a"), IsEmpty());
  {
    const LimitedCalls limited(*client_, seconds(3));
    Put("a", "1");
  }
  EXPECT_THAT(Read("a"), SizeIs(1));
}

TEST_P(ClientContract, WritesReadsAndDeletes) {
  const std::string bytes("a\0b\xFF", 4);
  const int64_t first = Put("/p/1", bytes), second = Put("/p/2", "two");
  EXPECT_EQ(second, first + 1);
  Put("/q", "other");
  const auto all = client_->Range({"/p/", EndOfPrefix("/p/")});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->kvs, ElementsAre(KeyValue{"/p/1", bytes, first, first, 1, 0},
                                    KeyValue{"/p/2", "two", second, second, 1, 0}));
  EXPECT_EQ(all->revision, second + 1);
  EXPECT_NE(all->cluster, 0u);
  Put("/p/2", "new");
  const auto before = client_->Range({.key = "/p/2", .revision = second});
  EXPECT_EQ(before->kvs.at(0).value, "two");
  EXPECT_EQ(*client_->DeleteRange("/p/", EndOfPrefix("/p/")), 2);
  EXPECT_TRUE(client_->Range({"/p/1"})->kvs.empty());
  EXPECT_EQ(client_->Range({"/q"})->kvs.size(), 1u);
  const auto status = client_->Status();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->version, HasSubstr("3."));
  EXPECT_NE(status->leader, 0u);
}

TEST_P(ClientContract, ATransactionIsCarriedOutOnlyIfAllComparisonsHold) {
  const int64_t revision = Put("a", "1");
  const std::vector<Change> changes = {{"b", "2"}, {"a", "", true}};
  const auto refused = client_->Commit(
      {{{"a", Field::kModRevision, revision}, {"c", Field::kVersion, 1}}, changes, {{"a"}, {"c"}}});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_FALSE(refused->succeeded);
  ASSERT_EQ(refused->kvs.size(), 1u);
  EXPECT_EQ(refused->kvs[0].value, "1");
  EXPECT_TRUE(client_->Range({"b"})->kvs.empty());
  const auto done = client_->Commit(
      {{{"a", Field::kModRevision, revision}, {"c", Field::kCreateRevision, 0}}, changes});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->succeeded);
  EXPECT_EQ(done->revision, revision + 1);
  EXPECT_TRUE(client_->Range({"a"})->kvs.empty());
  EXPECT_EQ(client_->Range({"b"})->kvs.at(0).mod_revision, revision + 1);
}

TEST_P(ClientContract, ATransactionAboveTheBoundsIsRefusedAndChangesNothing) {
  Transaction many;
  for (int i = 0; i < 129; ++i) many.changes.push_back({"many" + std::to_string(i), "x"});
  EXPECT_EQ(client_->Commit(many).status().code(), absl::StatusCode::kInvalidArgument);
  const Transaction large{{}, {{"large", std::string(2 << 20, 'x')}}};
  EXPECT_EQ(client_->Commit(large).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(client_->Range({"a", "z"})->kvs.empty());
}

TEST_P(ClientContract, ARangeOfManyPagesIsOfOneRevision) {
  for (int i = 0; i < 25; ++i) Put("k" + std::string(1, static_cast<char>('a' + i)), "v");
  const auto all = RangeAll(*client_, {"k", EndOfPrefix("k")}, 7);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->kvs.size(), 25u);
  EXPECT_EQ(all->kvs.back().key, "ky");
  Put("kz", "later");
  EXPECT_EQ(
      RangeAll(*client_, {.key = "k", .range_end = "l", .revision = all->revision}, 7)->kvs.size(),
      25u);
}

TEST_P(ClientContract, ALeaseKeepsItsKeysWhileItLives) {
  const auto lease = client_->GrantLease(seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_GE(lease->ttl, seconds(1));
  Put("leased", "x", lease->id);
  EXPECT_EQ(client_->Range({"leased"})->kvs.at(0).lease, lease->id);
  const auto left = client_->KeepAlive(lease->id);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(*left, lease->ttl);
  ASSERT_TRUE(client_->RevokeLease(lease->id).ok());
  EXPECT_TRUE(client_->Range({"leased"})->kvs.empty());
  EXPECT_EQ(client_->KeepAlive(lease->id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->RevokeLease(lease->id).code(), absl::StatusCode::kNotFound);
}

TEST_P(ClientContract, AWatchReportsEachChangeOnce) {
  const int64_t before = Put("/w/old", "0");
  WatchRecorder recorder;
  const auto watch = client_->StartWatch({"/w/", EndOfPrefix("/w/"), before}, recorder);
  Put("/w/a", "1");
  Put("/other", "x");
  ASSERT_TRUE(client_->DeleteRange("/w/a", "").ok());
  EXPECT_THAT(recorder.WaitFor(3), ElementsAre("/w/old=0", "/w/a=1", "/w/a deleted"));
  EXPECT_EQ(recorder.revision(), before + 3);
}

TEST_P(ClientContract, AWatchFromBeforeTheCompactionSaysSo) {
  const int64_t first = Put("/w/a", "1");
  const int64_t last = Put("/w/a", "2");
  home_->Compact(last);
  WatchRecorder recorder;
  const auto watch = client_->StartWatch({"/w/", EndOfPrefix("/w/"), first}, recorder);
  EXPECT_THAT(recorder.WaitFor(1), ElementsAre("compacted at " + std::to_string(last)));
  EXPECT_EQ(client_->Range({.key = "/w/a", .revision = first}).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_P(ClientContract, AKeyThatComesAgainBeginsANewLife) {
  const int64_t first = Put("a", "1");
  const int64_t second = Put("a", "2");
  EXPECT_THAT(Read("a"), ElementsAre(KeyValue{"a", "2", first, second, 2, 0}));
  EXPECT_EQ(*client_->DeleteRange("a", ""), 1);
  EXPECT_EQ(*client_->DeleteRange("a", ""), 0);
  const int64_t third = Put("a", "3");
  EXPECT_EQ(third, second + 2);
  EXPECT_THAT(Read("a"), ElementsAre(KeyValue{"a", "3", third, third, 1, 0}));
  EXPECT_THAT(client_->Range({.key = "a", .revision = second + 1})->kvs, IsEmpty());
}

TEST_P(ClientContract, ATransactionThatChangesNothingHasNoRevisionOfItsOwn) {
  const int64_t revision = Put("a", "1");
  const auto nothing = client_->Commit({{{"a", Field::kVersion, 1}}, {{"b", "", true}}});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_TRUE(nothing->succeeded);
  EXPECT_EQ(nothing->revision, revision);
  const auto refused = client_->Commit({{{"a", Field::kVersion, 2}}, {{"b", "x"}}, {{"a"}}});
  EXPECT_FALSE(refused->succeeded);
  EXPECT_EQ(refused->revision, revision);
}

TEST_P(ClientContract, AKeyIsPutOnceInATransaction) {
  const auto code = [&](std::vector<Change> changes) {
    return client_->Commit({{}, std::move(changes)}).status().code();
  };
  EXPECT_EQ(code({{"a", "1"}, {"a", "2"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"k/1", "1"}, {"k/", "", true, "k0"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"k/1", "", true}, {"k/", "", true, "k0"}}), absl::StatusCode::kOk);
  EXPECT_THAT(Read("a"), IsEmpty());
  EXPECT_EQ(code({{"", "1"}}), absl::StatusCode::kInvalidArgument);
}

TEST_P(ClientContract, RangesEndWhereTheyShould) {
  for (const char* key : {"a", "b", "b1", "c"}) Put(key, "x");
  const std::string all(1, '\0');
  EXPECT_THAT(client_->Range({"b", "c"})->kvs, SizeIs(2));
  EXPECT_THAT(client_->Range({"b", all})->kvs, SizeIs(3));
  EXPECT_THAT(client_->Range({all, all})->kvs, SizeIs(4));
  EXPECT_THAT(client_->Range({"c", "a"})->kvs, IsEmpty());
  const auto some = client_->Range({.key = "a", .range_end = "d", .limit = 2});
  EXPECT_TRUE(some->more);
  EXPECT_THAT(some->kvs, SizeIs(2));
  EXPECT_FALSE(client_->Range({.key = "a", .range_end = "d", .limit = 4})->more);
  EXPECT_EQ(client_->Range({.key = "a", .revision = some->revision + 1}).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_P(ClientContract, KeysEndWithTheirLeaseAndAreOfTheLastOneOnly) {
  const int64_t lease = Grant(seconds(60)), other = Grant(seconds(60));
  Put("a", "1", lease);
  Put("b", "1", lease);
  Put("c", "1", lease);
  Put("b", "2", other);
  Put("c", "2");
  const int64_t before = Put("d", "1");
  ASSERT_TRUE(client_->RevokeLease(lease).ok());
  EXPECT_THAT(Read("a"), IsEmpty());
  EXPECT_EQ(Read("b").at(0).lease, other);
  EXPECT_EQ(Read("c").at(0).lease, 0);
  EXPECT_EQ(client_->Range({"a"})->revision, before + 1);
}

TEST_P(ClientContract, ALeaseThatIsOverHoldsNoKey) {
  const int64_t lease = Grant(seconds(60));
  ASSERT_TRUE(client_->RevokeLease(lease).ok());
  EXPECT_EQ(client_->Put("a", "1", lease).status().code(), absl::StatusCode::kNotFound);
  Transaction put;
  put.changes = {{"b", "1"}, {"a", "1", false, "", lease}};
  EXPECT_EQ(client_->Commit(put).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Read("b"), IsEmpty());
}

TEST_P(ClientContract, ALeaseEndsByItselfWhereNothingKeepsItAlive) {
  const auto lease = client_->GrantLease(seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  Put("a", "1", lease->id);
  home_->Pass(lease->ttl - milliseconds(500));
  EXPECT_THAT(Read("a"), SizeIs(1));
  ASSERT_TRUE(client_->KeepAlive(lease->id).ok());
  home_->Pass(lease->ttl - milliseconds(500));
  EXPECT_THAT(Read("a"), SizeIs(1));
  home_->Pass(milliseconds(2500));
  EXPECT_THAT(Read("a"), IsEmpty());
  EXPECT_EQ(client_->KeepAlive(lease->id).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(ClientContract, CompactedRevisionsCannotBeRead) {
  const int64_t first = Put("a", "1"), second = Put("b", "1"), third = Put("a", "2");
  home_->Compact(second);
  EXPECT_EQ(client_->Range({.key = "a", .revision = first}).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(client_->Range({.key = "a", .revision = second})->kvs.at(0).value, "1");
  EXPECT_EQ(client_->Range({.key = "a", .revision = third})->kvs.at(0).value, "2");
}

// As an operator may compact at any time.
class CompactingClient final : public ForwardingClient {
 public:
  CompactingClient(Client& real, ClientHome& home, int compactions)
      : ForwardingClient(real), home_(home), left_(compactions) {}
  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    if (request.revision != 0 && left_-- > 0) {
      const auto put = real_.Put("other", "x", 0);
      EXPECT_TRUE(put.ok()) << put.status();
      home_.Compact(put.value_or(0));
    }
    return real_.Range(request);
  }

 private:
  ClientHome& home_;
  int left_;
};

TEST_P(ClientContract, ARangeOfManyPagesBeginsAgainWhereItsRevisionIsCompacted) {
  for (int i = 0; i < 9; ++i) Put("k" + std::to_string(i), "v");
  CompactingClient once(*client_, *home_, 1);
  const auto read = RangeAll(once, {"k", EndOfPrefix("k")}, 4);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->kvs, SizeIs(9));
  CompactingClient ever(*client_, *home_, 1000);
  EXPECT_EQ(RangeAll(ever, {"k", EndOfPrefix("k")}, 4).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_P(ClientContract, AFullDatabaseRefusesAllThatMakesItLarger) {
  Use(GetParam().make_small());
  Put("a", "1");
  const int64_t lease = Grant(seconds(60));
  home_->Fill();
  const auto put = client_->Put("b", "1", 0);
  EXPECT_EQ(put.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(put.status()), HasSubstr("database space exceeded"));
  // Also where its comparisons do not hold.
  EXPECT_EQ(client_->Commit({{{"a", Field::kVersion, 7}}, {{"b", "1"}}, {{"a"}}}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(client_->GrantLease(seconds(60)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Read("a"), SizeIs(1));
  EXPECT_TRUE(client_->KeepAlive(lease).ok());
  EXPECT_TRUE(client_->RevokeLease(lease).ok());
  EXPECT_TRUE(client_->Commit({{}, {{"a", "", true}}})->succeeded);
  EXPECT_THAT(Read("a"), IsEmpty());
}

TEST_P(ClientContract, AnEpochIsConfirmedToItsWriterOnlyWhileEtcdTakesWrites) {
  Use(GetParam().make_small());
  Epoch epoch(*client_);
  const auto lease = epoch.Grant(seconds(60));
  ASSERT_TRUE(lease.ok()) << lease.status();
  epoch.Begin("epoch", *client_->Put("epoch", "head1", *lease));
  EXPECT_TRUE(epoch.ConfirmAsWriter().ok()) << epoch.ConfirmAsWriter();
  EXPECT_THAT(Read("epoch"), SizeIs(1));
  EXPECT_THAT(Read("epoch/never"), IsEmpty());
  home_->Fill();
  EXPECT_EQ(epoch.ConfirmAsWriter().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(epoch.Confirm().ok()) << "it is ours all the same";
  ASSERT_TRUE(client_->Commit({{}, {{"epoch", "", true}}})->succeeded);
  EXPECT_EQ(epoch.Confirm().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(epoch.revision(), 0);
}

INSTANTIATE_TEST_SUITE_P(Etcds, ClientContract, ::testing::ValuesIn(ClientKinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace fabricd::store::etcd
