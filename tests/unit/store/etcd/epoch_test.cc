// SPDX-License-Identifier: Apache-2.0
// Who has the epoch: a store that has lost it, one that waits for it, and what each knows.
#include <atomic>

#include "store/etcd/waiting_store.h"
#include "tests/unit/store/etcd/etcd_fixture.h"

namespace fabricd::store::etcd {
namespace {

using fabricd::support::EtcdCluster;
using fabricd::support::TcpProxy;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST_F(EtcdTest, IsRefusedForGoodOnceAnotherHasWritten) {
  options_.lease = seconds(1);
  TcpProxy proxy(cluster_->endpoints()[0]);
  const auto store = MustOpen(head1_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  // A partition: the lease runs out, and the other node takes the epoch.
  proxy.Set(TcpProxy::Mode::kRefuse);
  std::unique_ptr<Store> other;
  EXPECT_TRUE(WaitFor([&] {
    auto opened = Open(head2_);
    if (opened.ok()) other = *std::move(opened);
    return other != nullptr;
  }));
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(other->PutLids({Record(2, 11)}).ok());
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(WaitFor([&] { return absl::IsFailedPrecondition(store->writable()); }))
      << store->writable();
  EXPECT_THAT(Message(store->writable()), HasSubstr("another fabricd has had the epoch"));
  EXPECT_EQ(store->PutLids({Record(3, 12)}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Shared().lids.size(), 2u);
  EXPECT_THAT(store->why_reopen(), HasSubstr("another fabricd has had the epoch"));
  EXPECT_EQ(store->epoch(), 0);
}

// Also where it may not take the epoch: one that is not master must not go on with old state.
TEST_F(EtcdTest, IsSupersededOnceAnotherHasTheEpoch) {
  options_.lease = seconds(1);
  for (const bool may_take : {true, false}) {
    TcpProxy proxy(cluster_->endpoints()[0]);
    options_.may_take = [may_take] { return may_take; };
    const auto store = MustOpen(head1_, {proxy.address()});
    ASSERT_NE(store, nullptr);
    EXPECT_NE(store->epoch(), 0);
    proxy.Set(TcpProxy::Mode::kRefuse);
    EXPECT_TRUE(WaitFor([&] { return store->epoch() == 0; }));
    EXPECT_EQ(store->why_reopen(), "");
    std::unique_ptr<SharedStore> other;
    EXPECT_TRUE(WaitFor([&] {
      auto opened = Open(head2_);
      if (opened.ok()) other = *std::move(opened);
      return other != nullptr;
    }));
    proxy.Set(TcpProxy::Mode::kPass);
    EXPECT_TRUE(WaitFor([&] { return !store->why_reopen().empty(); })) << may_take;
  }
}

TEST_F(EtcdTest, AWaitingStoreFollowsTheOwnerUntilTheEpochIsFree) {
  options_.name = "head1 pid 17";
  options_.endpoint = "head1:7471";
  auto owner = MustOpen(head1_);
  ASSERT_NE(owner, nullptr);
  ASSERT_TRUE(owner->PutLids({Record(1, 1000)}).ok());
  auto local = OpenSqliteStore(head2_.path());
  ASSERT_TRUE(local.ok());
  const auto opened = OpenWaitingStore(cluster_->MakeClient(), *std::move(local), options_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  SharedStore& waiting = **opened;
  EXPECT_EQ(
      waiting.other_owner(),
      (EpochOwner{.name = "head1 pid 17", .endpoint = "head1:7471", .epoch = owner->epoch()}));
  EXPECT_EQ(LidsOf(waiting), 1u);
  EXPECT_EQ(waiting.PutLids({Record(2, 11)}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(waiting.AppendAudit({AuditRecord()}).ok());
  // Also a write beyond the bounds of a transaction.
  ASSERT_TRUE(owner->PutLids(ManyRecords(300)).ok());
  EXPECT_TRUE(WaitFor([&] { return LidsOf(waiting) >= 300; }));
  EXPECT_EQ(waiting.epoch(), 0);
  EXPECT_EQ(waiting.why_reopen(), "");
  owner.reset();
  EXPECT_TRUE(WaitFor([&] { return !waiting.why_reopen().empty(); }));
  EXPECT_THAT(waiting.why_reopen(), HasSubstr("nobody has the epoch"));
}

TEST_F(EtcdTest, AWaitingStoreGoesOnWithItsCopyWhereEtcdIsAwayForLong) {
  const auto owner = MustOpen(head1_);
  ASSERT_NE(owner, nullptr);
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  TcpProxy proxy(cluster_->endpoints()[0]);
  {
    auto local = OpenSqliteStore(head2_.path());
    ASSERT_TRUE(local.ok());
    ClientOptions reach = cluster_->client_options();
    reach.endpoints = {proxy.address()};
    reach.timeout = reach.attempt_timeout = milliseconds(200);
    const auto opened = OpenWaitingStore(*MakeGrpcClient(reach), *std::move(local), options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    proxy.Set(TcpProxy::Mode::kRefuse);
    const auto begun = Clock::now();
    EXPECT_TRUE(WaitFor([&] { return !(*opened)->why_reopen().empty(); }));
    EXPECT_GE(Clock::now() - begun, options_.lease - seconds(1));
  }
  const auto store = MustOpen(head2_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(LidsOf(*store), 1u);
  // It is not the owner, and learns so.
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(WaitFor([&] { return !store->why_reopen().empty(); }));
}

// The only thing that still knows the state must not end.
TEST_F(EtcdTest, IsNotSupersededWhereEtcdHasLostItsData) {
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  ASSERT_TRUE(client_->DeleteRange(kPrefix, EndOfPrefix(kPrefix)).ok());
  EXPECT_TRUE(WaitFor([&] { return !store->PutLids({Record(2, 11)}).ok(); }));
  EXPECT_TRUE(WaitFor([&] {
    return Message(store->writable()).find("has lost its data") != std::string::npos;
  })) << store->writable();
  EXPECT_EQ(store->why_reopen(), "");
  EXPECT_EQ(LidsOf(*store), 1u);
}

TEST_F(EtcdTest, GoesOnAfterItsLeaseRanOutWhereNoOtherHasWritten) {
  options_.lease = seconds(1);
  TcpProxy proxy(cluster_->endpoints()[0]);
  const auto store = MustOpen(head1_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  proxy.Set(TcpProxy::Mode::kRefuse);
  EXPECT_TRUE(WaitFor([&] { return client_->Range({"/fabricd/control/epoch"})->kvs.empty(); }));
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); })) << store->writable();
  EXPECT_TRUE(store->PutLids({Record(2, 11)}).ok());
}

// The other one has shown what it found, also a write that was not acknowledged and is undone here.
TEST_F(EtcdTest, IsSupersededWhereAnotherHasHadTheEpochAndHasWrittenNothing) {
  options_.lease = seconds(1);
  TcpProxy proxy(cluster_->endpoints()[0]);
  const auto store = MustOpen(head1_, {proxy.address()});
  ASSERT_NE(store, nullptr);
  proxy.Set(TcpProxy::Mode::kRefuse);
  EXPECT_TRUE(WaitFor([&] { return Open(head2_).ok(); }));
  EXPECT_TRUE(client_->Range({"/fabricd/control/epoch"})->kvs.empty());
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(WaitFor([&] { return !store->why_reopen().empty(); }));
}

TEST_F(EtcdTest, StartsWithItsCopyWhileEtcdIsFull) {
  EtcdCluster small({.members = 1, .arguments = {"--quota-backend-bytes=8388608"}});
  cluster_ = &small;
  client_ = small.MakeClient();
  { ASSERT_TRUE(MustOpen(head1_)->PutLids({Record(1, 10)}).ok()); }
  for (int i = 0; i < 100; ++i)
    if (!client_->Put("fill" + std::to_string(i), std::string(1 << 20, 'x'), 0).ok()) break;
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(LidsOf(*store), 1u);
  EXPECT_THAT(Message(store->PutLids({Record(2, 11)})), HasSubstr("database space exceeded"));
}

TEST_F(EtcdTest, AnOwnerKeepsTheEpochWhileEtcdIsFull) {
  EtcdCluster small({.members = 1, .arguments = {"--quota-backend-bytes=8388608"}});
  cluster_ = &small;
  client_ = small.MakeClient();
  const auto store = MustOpen(head1_);
  const int64_t epoch = store->epoch();
  for (int i = 0; i < 100; ++i)
    if (!client_->Put("fill" + std::to_string(i), std::string(1 << 20, 'x'), 0).ok()) break;
  EXPECT_THAT(Message(store->PutLids({Record(1, 10)})), HasSubstr("database space exceeded"));
  const auto end = std::chrono::steady_clock::now() + 2 * options_.lease;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(store->epoch(), epoch);
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_FALSE(store->writable().ok());
  EXPECT_FALSE(client_->Range({"/fabricd/control/epoch"})->kvs.empty());
}

TEST_F(EtcdTest, WaitsWithTheEpochWhileItMayNotTakeIt) {
  std::atomic<bool> is_master = true;
  options_.may_take = [&] { return is_master.load(); };
  const auto store = MustOpen(head1_);
  ASSERT_NE(store, nullptr);
  is_master = false;
  cluster_->Kill(0);
  EXPECT_TRUE(WaitFor([&] { return !store->writable().ok(); }));
  cluster_->Start(0);
  EXPECT_TRUE(WaitFor(
      [&] { return Message(store->writable()).find("is not the master") != std::string::npos; }));
  is_master = true;
  EXPECT_TRUE(WaitFor([&] { return store->writable().ok(); }));
}

}  // namespace
}  // namespace fabricd::store::etcd
