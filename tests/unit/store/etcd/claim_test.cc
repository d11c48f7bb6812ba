// SPDX-License-Identifier: Apache-2.0
// Claim(): the epoch of an owner that is alive is taken by a fabricd that becomes master.
#include <algorithm>

#include "store/etcd/waiting_store.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/store/etcd/etcd_fixture.h"

namespace fabricd::store::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClaimTest : public EtcdTest {
 protected:
  std::unique_ptr<SharedStore> Contend(std::vector<std::string> endpoints = {}) {
    options_.contends = contends_;
    auto store = MustOpen(head2_, std::move(endpoints));
    options_.contends = EtcdStoreOptions::Contends::kNo;
    return store;
  }

  EtcdStoreOptions::Contends contends_ = EtcdStoreOptions::Contends::kWithUnresponsiveOwner;
};

TEST_F(ClaimTest, AContenderReadsAndDoesNotWriteUntilItsClaim) {
  const auto owner = MustOpen(head1_);
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  const auto contender = Contend();
  ASSERT_NE(contender, nullptr);
  EXPECT_TRUE(contender->contends());
  EXPECT_EQ(contender->epoch(), 0);
  EXPECT_THAT(*contender->LoadLids(), ElementsAre(Record(1, 10)));
  EXPECT_EQ(contender->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  std::this_thread::sleep_for(options_.retry * 4);
  EXPECT_EQ(contender->why_reopen(), "") << "it waits for the claim, however long";
  EXPECT_TRUE(owner->PutLids({Record(3, 12)}).ok());
}

TEST_F(ClaimTest, AClaimTakesTheEpochOfAnOwnerThatIsAlive) {
  const auto owner = MustOpen(head1_);
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  const auto contender = Contend();
  const auto claim = contender->Claim();
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(claim->continues);
  EXPECT_FALSE(contender->contends());
  EXPECT_TRUE(contender->Confirm().ok());
  EXPECT_TRUE(contender->PutLids({Record(2, 11)}).ok());
  EXPECT_FALSE(contender->Claim()->continues) << "of one mastership";
  // The old owner finds out by asking, by writing, or within one look.
  EXPECT_EQ(owner->Confirm().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(owner->PutLids({Record(3, 12)}).ok());
  EXPECT_TRUE(WaitFor([&] { return !owner->why_reopen().empty(); }));
  EXPECT_EQ(Shared().lids.size(), 2u);
}

// It has been heard of since: it was stopped, for example, and has noticed.
TEST_F(ClaimTest, AContenderWaitsWhereTheOwnerHasAnotherEpochThanTheUnresponsiveOne) {
  auto owner = MustOpen(head1_);
  options_.unresponsive_epoch = owner->epoch();
  EXPECT_TRUE(Contend()->contends());
  owner.reset();
  owner = MustOpen(head1_);
  options_.contends = contends_;
  EXPECT_EQ(Open(head2_).status().code(), absl::StatusCode::kAborted);
  const StoreParts parts{.client = [this]() -> absl::StatusOr<std::unique_ptr<Client>> {
                           return cluster_->MakeClient();
                         },
                         .local = [this] { return OpenSqliteStore(head2_.path()); }};
  const auto waiting = OpenOrWait(parts, options_, /*may_wait=*/true);
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  EXPECT_FALSE((*waiting)->contends());
  EXPECT_EQ((*waiting)->other_owner()->epoch, owner->epoch());
}

TEST_F(ClaimTest, AnIdleOwnerNoticesThatItsEpochWasTaken) {
  const auto owner = MustOpen(head1_);
  const auto contender = Contend();
  ASSERT_TRUE(contender->Claim().ok());
  EXPECT_TRUE(WaitFor([&] { return !owner->why_reopen().empty(); }));
  EXPECT_TRUE(contender->Confirm().ok());
  EXPECT_EQ(contender->why_reopen(), "");
}

// The owner has lost its fabric port, say, and API clients still reach it.
TEST_F(ClaimTest, AContenderWhoseStateIsOldHasTheEpochAndOpensAgain) {
  auto owner = MustOpen(head1_);
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  auto contender = Contend();
  ASSERT_TRUE(owner->PutLids({Record(2, 11)}).ok());
  EXPECT_EQ(contender->Claim().status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(contender->why_reopen(), HasSubstr("has written"));
  EXPECT_TRUE(contender->has_owner_kept_epoch());
  EXPECT_FALSE(owner->PutLids({Record(3, 12)}).ok()) << "nothing is lost from here on";
  contender.reset();
  const auto next = MustOpen(head2_);
  ASSERT_NE(next, nullptr);
  EXPECT_THAT(*next->LoadLids(), ElementsAre(Record(1, 10), Record(2, 11)));
  EXPECT_TRUE(next->Claim().ok());
}

TEST_F(ClaimTest, AClaimWithoutEtcdIsGrantedAndTakesTheEpochLater) {
  const auto owner = MustOpen(head1_);
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  fabricd::support::TcpProxy proxy(cluster_->client_options().endpoints[0]);
  const auto contender = Contend({proxy.address()});
  ASSERT_NE(contender, nullptr);
  proxy.Set(fabricd::support::TcpProxy::Mode::kSwallow);
  const auto claim = contender->Claim();
  EXPECT_TRUE(claim.ok()) << "jobs come first: " << claim.status();
  EXPECT_EQ(contender->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  proxy.Set(fabricd::support::TcpProxy::Mode::kPass);
  EXPECT_TRUE(WaitFor([&] { return contender->PutLids({Record(2, 11)}).ok(); }));
  EXPECT_TRUE(WaitFor([&] { return !owner->why_reopen().empty(); }));
}

TEST_F(ClaimTest, AnOwnersClaimNeedsNoForce) {
  const auto owner = MustOpen(head1_);
  const int64_t epoch = owner->epoch();
  const auto claim = owner->Claim();
  ASSERT_TRUE(claim.ok());
  EXPECT_FALSE(claim->continues);
  EXPECT_EQ(owner->epoch(), epoch);
}

// ---- an owner that cannot be seen on the fabric

TEST_F(ClaimTest, BesideAMasterOfAnotherPartRoutingGoesOnAndChangesAreRefused) {
  const auto owner = MustOpen(head1_);
  owner->SetStatement({.role = FabricRole::kMaster, .about = "head1"});
  ASSERT_TRUE(owner->PutLids({Record(1, 10)}).ok());
  contends_ = EtcdStoreOptions::Contends::kWithIdleOwner;
  const auto contender = Contend();
  ASSERT_TRUE(WaitFor([&] { return !owner->nodes().empty(); }));
  const auto claim = contender->Claim();
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_FALSE(claim->continues);
  EXPECT_TRUE(contender->is_beside_master());
  EXPECT_EQ(contender->PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(owner->PutLids({Record(3, 12)}).ok());
  std::this_thread::sleep_for(options_.retry * 4);
  EXPECT_EQ(contender->why_reopen(), "");
  EXPECT_TRUE(owner->Confirm().ok());
  owner->SetStatement({.role = FabricRole::kNoLink, .about = "head1"});
  EXPECT_TRUE(WaitFor([&] { return !contender->why_reopen().empty(); }));
}

TEST_F(ClaimTest, AnOwnerThatIsNoMasterLosesTheEpoch) {
  const auto owner = MustOpen(head1_);
  owner->SetStatement({.role = FabricRole::kOther, .about = "head1"});
  contends_ = EtcdStoreOptions::Contends::kWithIdleOwner;
  const auto contender = Contend();
  const auto claim = contender->Claim();
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_FALSE(contender->is_beside_master());
  EXPECT_TRUE(contender->PutLids({Record(2, 11)}).ok());
}

TEST_F(ClaimTest, AnOwnerThatHasNoLinkLosesTheEpochUnlessItHasOneAtTheClaim) {
  const auto owner = MustOpen(head1_);
  contends_ = EtcdStoreOptions::Contends::kWithOwnerWithoutLink;
  const auto say = [&](FabricRole role) {
    owner->SetStatement({.role = role, .about = "head1"});
    return WaitFor([&] {
      const auto view = SharedRows::ReadControl(*client_, kPrefix);
      return view.ok() && view->OwnerIs(role);
    });
  };
  ASSERT_TRUE(say(FabricRole::kMaster));
  {
    const auto contender = Contend();
    EXPECT_EQ(contender->Claim().status().code(), absl::StatusCode::kAborted);
    EXPECT_NE(contender->why_reopen(), "");
    EXPECT_FALSE(contender->is_beside_master());
    EXPECT_TRUE(owner->Confirm().ok());
  }
  ASSERT_TRUE(say(FabricRole::kNoLink));
  const auto contender = Contend();
  const auto claim = contender->Claim();
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(contender->PutLids({Record(2, 11)}).ok());
}

// ---- what a waiting node knows of the owner's end, and nodes of each other

class WaitingTest : public EtcdTest {
 protected:
  std::unique_ptr<SharedStore> Wait() {
    auto local = OpenSqliteStore(head2_.path());
    EXPECT_TRUE(local.ok());
    auto store = OpenWaitingStore(cluster_->MakeClient(), *std::move(local), options_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
};

TEST_F(WaitingTest, AWaitingNodeKnowsTheRoleOfTheOwner) {
  const auto owner = MustOpen(head1_);
  const auto waiting = Wait();
  for (const FabricRole role : {FabricRole::kMaster, FabricRole::kNoLink}) {
    owner->SetStatement({.role = role, .about = "head1"});
    EXPECT_TRUE(WaitFor([&] { return waiting->other_owner()->role == role; }));
  }
}

TEST_F(WaitingTest, AnOwnerThatEndsInOrderHasResigned) {
  auto owner = MustOpen(head1_);
  const auto waiting = Wait();
  EXPECT_EQ(waiting->why_reopen(), "");
  owner.reset();
  EXPECT_TRUE(WaitFor([&] { return !waiting->why_reopen().empty(); }));
  EXPECT_TRUE(waiting->has_owner_kept_epoch());
}

TEST_F(WaitingTest, AnOwnerWhoseLeaseHasEndedHasNotResigned) {
  SharedRows dead(*client_, {kPrefix, "dead", "dead", seconds(2)});
  ASSERT_TRUE(dead.Attach(std::nullopt).ok());
  const auto waiting = Wait();
  EXPECT_TRUE(WaitFor([&] { return !waiting->why_reopen().empty(); }));
  EXPECT_FALSE(waiting->has_owner_kept_epoch());
}

TEST_F(WaitingTest, OneThatHasSteppedDownLetsAnotherTakeTheEpochFirst) {
  MustOpen(head1_).reset();
  options_.yields = seconds(1);
  const auto waiting = Wait();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(waiting->why_reopen(), "");
  EXPECT_TRUE(WaitFor([&] { return !waiting->why_reopen().empty(); })) << "nobody came";
}

TEST_F(WaitingTest, OneThatHasSteppedDownDoesNotYieldToAnotherThatHasSteppedDownSince) {
  MustOpen(head1_).reset();
  options_.yields = seconds(60);
  options_.retry = seconds(1);  // So that it does not see the other one's epoch.
  const auto waiting = Wait();
  MustOpen(head1_).reset();
  EXPECT_TRUE(WaitFor([&] { return !waiting->why_reopen().empty(); }));
}

TEST_F(WaitingTest, NodesKnowOfEachOther) {
  const auto owner = MustOpen(head1_);
  auto waiting = Wait();
  owner->SetStatement({FabricRole::kMaster, "name a"});
  waiting->SetStatement({FabricRole::kOther, "name b"});
  const auto abouts = [](const SharedStore& store) {
    std::vector<std::string> texts;
    for (const Node& node : store.nodes()) texts.push_back(node.statement.about);
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_TRUE(WaitFor([&] { return abouts(*owner).size() == 2; }));
  EXPECT_TRUE(WaitFor([&] { return abouts(*waiting).size() == 2; }));
  EXPECT_THAT(abouts(*owner), ElementsAre("name a", "name b"));
  waiting->SetStatement({FabricRole::kOther, "name c"});
  EXPECT_TRUE(WaitFor([&] { return abouts(*owner).back() == "name c"; }));
  waiting.reset();
  EXPECT_TRUE(WaitFor([&] { return abouts(*owner).size() == 1; }));
}

}  // namespace
}  // namespace fabricd::store::etcd
