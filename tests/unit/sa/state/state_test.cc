// SPDX-License-Identifier: Apache-2.0
// What clients leave, over restarts, failed writes and ports that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sa/state/client_state_fixture.h"

namespace fabricd::sa {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reply;
using ::testing::SizeIs;

TEST_F(StateTest, APortThatLeavesTakesItsMembershipsAlong) {
  Join(kHost, kMgid);
  Join(kOther, kMgid);
  Join(kOther, Gid{kMgid.prefix, 2});
  Subscribe(kOther, 0xFFFF);
  Lose(kOther);
  EXPECT_THAT(MembersOf(kMgid), ElementsAre(GidOf(kHost).guid()));
  EXPECT_EQ(shell.clients->FindGroup({kMgid.prefix, 2}), nullptr);
  EXPECT_THAT(*shell.clients->subscriptions, IsEmpty());
}

TEST_F(StateTest, AMemberThatVanishesWithItsSwitchIsKeptForAWhile) {
  Join(kHost, kMgid);
  const auto whole = shell.made.input.snapshot;
  const auto lose_both = [&] {
    fabric::SnapshotBuilder builder(*whole);
    builder.RemoveNode(shell.made.fabric.node[kHost]);
    builder.RemoveNode(shell.made.fabric.node[kLeaf]);
    shell.made.input.snapshot = builder.Build();
    shell.ShowFabric();
  };
  lose_both();
  shell.Pass(SaState::kAbsence - std::chrono::seconds(1));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  shell.made.input.snapshot = whole;
  shell.ShowFabric();
  shell.Pass(SaState::kAbsence);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1)) << "it came back in time";
  lose_both();
  shell.Pass(SaState::kAbsence);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
}

// A link that bounces: the view without the port is late, and the port has joined again before.
TEST_F(StateTest, AViewPublishedBeforeAPortJoinedRemovesNothingOfThePort) {
  Join(kHost, kMgid);
  Subscribe(kHost, 0xFFFF);
  const auto whole = shell.made.input.snapshot;
  const Instant published = shell.now;
  shell.now += std::chrono::milliseconds(10);
  Join(kHost, kMgid);
  fabric::SnapshotBuilder builder(*whole);
  builder.RemoveNode(shell.made.fabric.node[kHost]);
  shell.made.input.snapshot = builder.Build();
  shell.ShowFabricPublishedAt(published);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  EXPECT_THAT(*shell.clients->subscriptions, SizeIs(1));
  shell.made.input.snapshot = whole;
  shell.ShowFabric();
  shell.Pass(SaState::kAbsence);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  Lose(kHost);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
}

TEST_F(StateTest, AViewOfAnUnfinishedSweepRemovesNoMember) {
  Join(kHost, kMgid);
  fabric::SnapshotBuilder builder(*shell.made.input.snapshot);
  builder.RemoveNode(shell.made.fabric.node[kHost]);
  shell.made.input.snapshot = builder.Build();
  shell.ShowFabric(false);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
}

TEST_F(StateTest, ARestartKeepsAllState) {
  wire::ServiceRecord service = Service(kHost, 7);
  shell.Set(service, kId | kServiceGid | kLease, LidOf(kHost));
  Join(kHost, kMgid);
  Join(kOther, kMgid, kJoinNon);
  Join(kHost, kBroadcast);
  Subscribe(kHost, 66);
  const ClientState before = *shell.clients;
  const fabric::MulticastGroups trees = *shell.groups;
  shell.clients = nullptr;
  shell.groups = nullptr;
  shell.Restart();
  ASSERT_NE(shell.clients, nullptr);
  EXPECT_EQ(*shell.groups, trees);
  EXPECT_EQ(*shell.state->Trees(), trees);
  EXPECT_EQ(*shell.clients->subscriptions, *before.subscriptions);
  const auto same = [](const auto& a, const auto& b) { return *a == *b; };
  EXPECT_TRUE(std::equal(before.services->begin(), before.services->end(),
                         shell.clients->services->begin(), shell.clients->services->end(), same));
  EXPECT_TRUE(std::equal(before.groups->begin(), before.groups->end(),
                         shell.clients->groups->begin(), shell.clients->groups->end(), same));
  EXPECT_THAT(shell.TakeReports(true), IsEmpty()) << "nothing has come or gone";
}

// Beside the owner of a shared state.
TEST_F(StateTest, TheStateOfAnotherNodeIsShownAndNothingChangesByItself) {
  shell.Set(Service(kHost, 7), kId | kServiceGid | kServicePKey | kLease, LidOf(kHost));
  Join(kHost, kMgid);
  Subscribe(kHost, 66);
  const StoredRows rows = std::exchange(shell.rows, {});
  const ClientState before = *shell.clients;
  const fabric::MulticastGroups trees = *shell.groups;
  shell.Restart();
  EXPECT_THAT(MembersOf(kMgid), IsEmpty());
  const int writes = shell.writes;
  shell.Step(StateReplaced{rows});
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  EXPECT_THAT(*shell.clients->services, SizeIs(1));
  EXPECT_EQ(*shell.clients->subscriptions, *before.subscriptions);
  EXPECT_EQ(*shell.groups, trees);
  // The owner lets the lease expire, and says so.
  shell.Pass(std::chrono::hours(1));
  shell.Step(TimePassed{});
  EXPECT_THAT(*shell.clients->services, SizeIs(1));
  EXPECT_EQ(shell.writes, writes);
  shell.Step(StateReplaced{{{{"service", "damaged"}, "x"}}});
  EXPECT_THAT(*shell.clients->services, SizeIs(1)) << "better old than none";
  shell.Step(StateReplaced{});
  EXPECT_THAT(*shell.clients->services, IsEmpty());
  EXPECT_THAT(MembersOf(kMgid), IsEmpty());
  EXPECT_EQ(shell.writes, writes);
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
}

TEST_F(StateTest, NothingIsAnsweredOrShownBeforeItIsDurable) {
  shell.disk_waits = true;
  const Reply none = shell.Set(Membership(kHost, kMgid), kCreateMask, LidOf(kHost));
  EXPECT_EQ(none.outcome, Outcome::kNotARequest);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
  const Reply second = shell.Set(Membership(kOther, kMgid), kCreateMask, LidOf(kOther));
  EXPECT_EQ(second.outcome, Outcome::kNotARequest);
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(1));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(2));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(2));
}

TEST_F(StateTest, NoReportIsSentBeforeTheSubscriptionIsAnswered) {
  shell.disk_waits = true;
  shell.Set(Membership(kOther, kMgid), kCreateMask, LidOf(kOther));
  shell.Set(Subscription(66), 0, LidOf(kHost));
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(1));
  EXPECT_THAT(shell.reports, IsEmpty()) << "of the group, before the answer";
  shell.Set(Membership(kOther, {kMgid.prefix, 2}), kCreateMask, LidOf(kOther));
  shell.FinishWrite();
  EXPECT_THAT(shell.reports, IsEmpty());
  shell.FinishWrite();
  EXPECT_THAT(TrapsOf(shell.reports), ElementsAre(66));
}

TEST_F(StateTest, AWriteThatFailsIsTriedAgainAndAnsweredThen) {
  shell.disk_fails = true;
  const auto join = [&] { return shell.Set(Membership(kHost, kMgid), kCreateMask, LidOf(kHost)); };
  EXPECT_EQ(join().outcome, Outcome::kNotARequest) << "no answer: the kernel takes BUSY for final";
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
  shell.Pass(SaState::kRetryWrite * 3);
  EXPECT_THAT(shell.arrived, IsEmpty());
  shell.disk_fails = false;
  shell.Pass(SaState::kRetryWrite * 2);
  ASSERT_THAT(shell.arrived, SizeIs(1));
  EXPECT_EQ(shell.HeaderOf(shell.arrived[0].payload).mad.status, wire::kStatusOk);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  EXPECT_EQ(Join(kHost, kMgid), wire::kStatusOk) << "asked for again, as a client does";
  shell.Restart();
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
}

TEST_F(StateTest, ARequestWithoutAChangeIsNotStored) {
  Join(kHost, kMgid);
  const int before = shell.writes;
  EXPECT_EQ(Join(kHost, kMgid), wire::kStatusOk);
  EXPECT_EQ(shell.writes, before);
}

TEST_F(StateTest, DamagedRowsAreRefused) {
  Join(kHost, kMgid);
  Subscribe(kHost, 66);
  shell.Set(Service(kHost, 7), kId | kServiceGid, LidOf(kHost));
  for (const auto& [key, value] : shell.rows) {
    StoredRows damaged = shell.rows;
    damaged[key].pop_back();
    EXPECT_EQ(SaState::Make(damaged, 0).status().code(), absl::StatusCode::kDataLoss) << key.table;
  }
}

}  // namespace
}  // namespace fabricd::sa
