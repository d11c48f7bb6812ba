// SPDX-License-Identifier: Apache-2.0
// An etcd that hangs keeps no takeover waiting: members accept what is sent, and never answer.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "store/etcd/waiting_store.h"
#include "tests/unit/store/etcd/etcd_fixture.h"
#include "tests/unit/store/etcd/forwarding_client.h"

namespace fabricd::store::etcd {
namespace {

using fabricd::support::TcpProxy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// From the call `after` on the network swallows everything.
class HangingClient final : public ForwardingClient {
 public:
  HangingClient(std::unique_ptr<Client> real, TcpProxy& proxy, int after)
      : ForwardingClient(*real), owned_(std::move(real)), proxy_(proxy), left_(after) {}

  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    Count();
    return real_.Range(request);
  }
  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    Count();
    return real_.Commit(transaction);
  }
  absl::StatusOr<Lease> GrantLease(std::chrono::seconds ttl) override {
    Count();
    return real_.GrantLease(ttl);
  }
  bool hangs() const { return left_ < 0; }

 private:
  void Count() {
    if (--left_ == -1) proxy_.Set(TcpProxy::Mode::kSwallow);
  }

  const std::unique_ptr<Client> owned_;
  TcpProxy& proxy_;
  int left_;
};

class HangingTest : public EtcdTest {
 protected:
  explicit HangingTest(size_t members = 1) : EtcdTest(members) {
    timeout_ = milliseconds(3000);
    options_.takeover_limit = kLimit;
  }
  static constexpr milliseconds kLimit{500};
  // On a busy machine, and less than the timeout of one call.
  static constexpr milliseconds kSlack{1000};

  // Of head2, which has a copy: what it knows is one LID.
  void MakeCopy() {
    const auto store = MustOpen(head2_);
    ASSERT_NE(store, nullptr);
    ASSERT_TRUE(store->PutLids({Record(1, 10)}).ok());
  }
  std::unique_ptr<Client> ClientAt(const std::string& address) {
    ClientOptions reach = cluster_->client_options();
    reach.endpoints = {address};
    auto client = MakeGrpcClient(reach);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<SharedStore> Wait(const std::string& address) {
    auto waiting = OpenWaitingStore(ClientAt(address), *OpenSqliteStore(head2_.path()), options_);
    EXPECT_TRUE(waiting.ok()) << waiting.status();
    return waiting.ok() ? *std::move(waiting) : nullptr;
  }
  static milliseconds Since(Clock::time_point begun) {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - begun);
  }
};

// Whichever call is the first without an answer: they share one limit.
TEST_F(HangingTest, AStoreWithACopyOpensWithinTheLimit) {
  for (const bool contends : {false, true}) {
    int after = 0;
    for (bool hangs = true; hangs; ++after) {
      SCOPED_TRACE(testing::Message() << (contends ? "contends" : "owns") << ", after " << after);
      MakeCopy();
      std::unique_ptr<SharedStore> owner;
      if (contends) {
        owner = MustOpen(head1_);
        ASSERT_NE(Wait(cluster_->endpoints()[0]), nullptr) << "its copy is as new as the owner";
      }
      TcpProxy proxy(cluster_->endpoints()[0]);
      auto client = std::make_unique<HangingClient>(ClientAt(proxy.address()), proxy, after);
      const HangingClient& counted = *client;
      EtcdStoreOptions options = options_;
      if (contends) options.contends = EtcdStoreOptions::Contends::kWithUnresponsiveOwner;
      options.has_thread = false;
      const auto begun = Clock::now();
      auto store = OpenEtcdStore(std::move(client), *OpenSqliteStore(head2_.path()), options);
      ASSERT_TRUE(store.ok()) << store.status();
      EXPECT_LT(Since(begun), kLimit + kSlack);
      EXPECT_THAT(*(*store)->LoadLids(), ElementsAre(Record(1, 10)));
      hangs = counted.hangs();
      if (!hangs) break;
      if ((*store)->epoch() != 0) continue;  // The state was read; the history was not.
      EXPECT_EQ((*store)->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
      // It takes the epoch as soon as it can.
      const auto claims = Clock::now();
      const auto claimed = (*store)->Claim();
      EXPECT_TRUE(claimed.ok()) << claimed.status();
      EXPECT_LT(Since(claims), kSlack) << "etcd was away when it was last asked";
      proxy.Set(TcpProxy::Mode::kRefuse);
      proxy.Set(TcpProxy::Mode::kPass);
      EXPECT_TRUE(WaitFor([&] {
        (*store)->Turn();
        return (*store)->PutLids({Record(2, 11)}).ok();
      }));
      ASSERT_TRUE((*store)->RemoveLids({Guid(2)}).ok());
      // What has been taken and not been used ends with its lease.
      store->reset();
      owner.reset();
    }
    EXPECT_GE(after, contends ? 2 : 4) << "calls of an opening";
  }
}

TEST_F(HangingTest, AStoreWithoutACopyIsNotLimited) {
  timeout_ = kLimit + kSlack;
  TcpProxy proxy(cluster_->endpoints()[0]);
  proxy.Set(TcpProxy::Mode::kSwallow);
  const auto begun = Clock::now();
  EXPECT_THAT(Message(Open(head1_, {proxy.address()}).status()), HasSubstr("has no copy of"));
  EXPECT_GE(Since(begun), kLimit + kSlack);
}

TEST_F(HangingTest, AClaimIsGrantedWithinTheLimit) {
  MakeCopy();
  const auto owner = MustOpen(head1_);
  TcpProxy proxy(cluster_->endpoints()[0]);
  options_.contends = EtcdStoreOptions::Contends::kWithIdleOwner;
  const auto contender = MustOpen(head2_, {proxy.address()});
  ASSERT_NE(contender, nullptr);
  proxy.Set(TcpProxy::Mode::kSwallow);
  const auto begun = Clock::now();
  EXPECT_TRUE(contender->Claim().ok());
  EXPECT_LT(Since(begun), kLimit + kSlack);
}

// Its thread waits for an answer, and the lease of what it has said of itself is not given back.
TEST_F(HangingTest, AStoreThatWaitsEndsAtOnce) {
  const auto owner = MustOpen(head1_);
  TcpProxy proxy(cluster_->endpoints()[0]);
  auto waiting = Wait(proxy.address());
  ASSERT_NE(waiting, nullptr);
  waiting->SetStatement({.role = FabricRole::kOther, .about = "head2"});
  ASSERT_TRUE(WaitFor([&] { return waiting->nodes().size() == 1; }));
  proxy.Set(TcpProxy::Mode::kSwallow);
  std::this_thread::sleep_for(milliseconds(300));
  const auto begun = Clock::now();
  waiting.reset();
  EXPECT_LT(Since(begun), kSlack);
}

class HangingMemberTest : public HangingTest {
 protected:
  HangingMemberTest() : HangingTest(3) {}
};

// The machine of the master had a member, and that is asked first.
TEST_F(HangingMemberTest, TheOthersAreAskedWithinTheLimit) {
  MakeCopy();
  cluster_->Pause(0);
  cluster_->WaitUntilReady();  // With a leader again.
  options_.takeover_limit = milliseconds(1000);
  const auto store = MustOpen(head2_);
  cluster_->Continue(0);
  ASSERT_NE(store, nullptr);
  EXPECT_NE(store->epoch(), 0);
  EXPECT_TRUE(store->writable().ok()) << store->writable();
}

}  // namespace
}  // namespace fabricd::store::etcd
