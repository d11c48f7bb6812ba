// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/remediation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/sweep/remediate/remediation_fixture.h"

namespace fabricd::sweep {
namespace {

using policy::HoldKind;
using policy::HoldState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(RemediationTest, AHoldTakesEffectOnceItIsDurable) {
  Create(Wanted(HoldKind::kDrain, Port(kTrunk())), 7);
  ASSERT_NE(Asked<EvaluateIntent>(), nullptr);
  EXPECT_THAT(Asked<EvaluateIntent>()->intent.closed_links, ElementsAre(kTrunk()));
  EXPECT_EQ(Asked<EvaluateIntent>()->sm_port, local_);
  GiveAnswer(IntentEvaluated{});
  ASSERT_NE(Asked<PersistHolds>(), nullptr);
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(effects_.finished, IsEmpty());
  EXPECT_EQ(remediation_->TakeReroute(), "");
  Answer();
  EXPECT_THAT(remediation_->intent().closed_links, ElementsAre(kTrunk()));
  EXPECT_EQ(remediation_->TakeReroute(), "hold 1");
  EXPECT_EQ(remediation_->TakeReroute(), "");
  ASSERT_EQ(effects_.finished.size(), 1u);
  EXPECT_EQ(effects_.finished[0].command, 7u);
  EXPECT_EQ(effects_.finished[0].hold->hold.id, 1u);
  EXPECT_EQ(effects_.finished[0].hold->hold.created, 1'000'000 + 3'600'000);
  EXPECT_THAT(Told(), ElementsAre("HoldCreated"));
}

TEST_F(RemediationTest, AHoldThatCannotBeStoredHasNoEffect) {
  Create(Wanted(HoldKind::kDrain, Port(kTrunk())));
  Answer(Unavailable("disk full"));
  EXPECT_EQ(effects_.finished.back().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(remediation_->View(now_)->holds, IsEmpty());
  // The next one is tried.
  EXPECT_EQ(Make(Wanted(HoldKind::kDrain, Port(kTrunk()))), 1u);
}

TEST_F(RemediationTest, AGuardRefusesWithTheConsequences) {
  routing::Consequences harm;
  harm.cut_off = {fabric_.Host(1)};
  Create(Wanted(HoldKind::kDrain, Switch(1)));
  Answer({}, harm);
  EXPECT_EQ(effects_.finished.back().status.code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_NE(effects_.finished.back().hold, nullptr);
  EXPECT_THAT(effects_.finished.back().hold->consequences.cut_off, ElementsAre(fabric_.Host(1)));
  EXPECT_TRUE(remediation_->intent().empty());
  policy::Hold forced = Wanted(HoldKind::kDrain, Switch(1));
  forced.forced = true;
  Create(forced);
  Answer({}, harm);
  EXPECT_TRUE(effects_.finished.back().status.ok());
  EXPECT_THAT(remediation_->intent().closed_switches, ElementsAre(fabric_.switches[1]));
}

TEST_F(RemediationTest, CuttingOffTheTargetItselfIsNotRefused) {
  routing::Consequences harm;
  harm.cut_off = {fabric_.Host(1)};
  Create(Wanted(HoldKind::kDisable, Port(fabric_.Host(1))));
  Answer({}, harm);
  EXPECT_TRUE(effects_.finished.back().status.ok()) << effects_.finished.back().status;
}

TEST_F(RemediationTest, ADryRunChangesNothing) {
  Create(Wanted(HoldKind::kDrain, Port(kTrunk())), 1, true);
  Answer();
  EXPECT_TRUE(effects_.finished.back().status.ok());
  EXPECT_THAT(stored_, IsEmpty());
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(RemediationTest, CommandsWaitForEachOtherInABoundedQueue) {
  for (uint64_t i = 1; i <= HoldKeeper::kMaxWaiting + 2; ++i)
    Create(Wanted(HoldKind::kDrain, Port({fabric_.switches[0], PortNum(i % 30 + 1)})), i);
  ASSERT_EQ(effects_.finished.size(), 1u);
  EXPECT_EQ(effects_.finished[0].status.code(), absl::StatusCode::kResourceExhausted);
  Answer();
  EXPECT_EQ(effects_.finished.size(), HoldKeeper::kMaxWaiting + 2);
}

TEST_F(RemediationTest, ARepeatedRequestReturnsTheExistingHold) {
  const uint64_t id = Make(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))));
  Create(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))), 9);
  EXPECT_EQ(effects_.finished.back().command, 9u);
  EXPECT_EQ(effects_.finished.back().hold->hold.id, id);
  EXPECT_TRUE(effects_.finished.back().hold->existing);
}

TEST_F(RemediationTest, RenewalOnlyExtendsAHold) {
  const uint64_t id = Make(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))));
  CreateHold renewal;
  renewal.command = 9;
  renewal.hold = Wanted(HoldKind::kCordon, Port(fabric_.Host(1)));
  renewal.ttl = std::chrono::hours(2);
  renewal.renews = true;
  effects_.events.clear();
  remediation_->On(renewal, now_);
  Answer();
  EXPECT_TRUE(effects_.finished.back().status.ok());
  EXPECT_EQ(effects_.finished.back().hold->hold.id, id);
  const policy::Hold shown = Shown(id).hold;
  EXPECT_TRUE(shown.expires);
  EXPECT_EQ(Shown(id).state, HoldState::kInEffect);
  EXPECT_THAT(effects_.events, IsEmpty());
}

TEST_F(RemediationTest, ACordonIsInEffectAtOnceWithoutEvaluation) {
  Create(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))));
  EXPECT_EQ(Asked<EvaluateIntent>(), nullptr);
  Answer();
  EXPECT_EQ(Shown(1).state, HoldState::kInEffect);
  EXPECT_EQ(remediation_->TakeReroute(), "");
  EXPECT_THAT(Told(), ElementsAre("HoldCreated", "HoldInEffect"));
}

TEST_F(RemediationTest, DeletingAHoldOfAnyKindEndsItsEffect) {
  for (HoldKind kind : {HoldKind::kCordon, HoldKind::kDrain, HoldKind::kIsolate}) {
    const uint64_t id = Make(Wanted(kind, Port(fabric_.Host(1))));
    remediation_->On(DeleteHold{5, {id, "alice"}}, now_);
    Answer();
    EXPECT_TRUE(effects_.finished.back().status.ok());
    EXPECT_TRUE(remediation_->intent().empty());
    EXPECT_THAT(remediation_->View(now_)->holds, IsEmpty());
  }
  EXPECT_THAT(Told(), Contains("HoldDeleted"));
}

TEST_F(RemediationTest, ATargetIsHeldWhileAnyHoldIsActive) {
  policy::Hold hold = Wanted(HoldKind::kIsolate, Port(fabric_.Host(1)));
  const uint64_t first = Make(hold);
  hold.owner = "bob";
  Create(hold);
  EXPECT_EQ(Asked<EvaluateIntent>(), nullptr);  // It changes nothing.
  Answer();
  remediation_->On(DeleteHold{5, {first, "alice"}}, now_);
  Answer();
  EXPECT_THAT(remediation_->intent().isolated, ElementsAre(fabric_.Host(1)));
}

TEST_F(RemediationTest, ADrainIsInEffectWhenThePacketsAreOut) {
  const uint64_t id = Make(Wanted(HoldKind::kDrain, Port(kTrunk())));
  EXPECT_EQ(Shown(id).state, HoldState::kPending);
  const uint64_t generation = remediation_->generation();
  remediation_->OnApplied(generation - 1, now_);  // A plan of before.
  EXPECT_EQ(Shown(id).state, HoldState::kPending);
  // Without routes there are no packets: in effect at once.
  remediation_->OnApplied(generation, now_);
  EXPECT_EQ(Shown(id).state, HoldState::kInEffect);
}

TEST_F(RemediationTest, HoldsAreActiveAfterARestart) {
  Make(Wanted(HoldKind::kDrain, Port(kTrunk())));
  Make(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))));
  policy::StoredHolds stored;
  for (const PersistHolds& write : stored_)
    for (const policy::Hold& hold : write.put) stored.holds.push_back(hold);
  stored.highest_id = 9;
  snapshot_ = fabric::SnapshotBuilder().Build();
  Begin(stored);
  EXPECT_THAT(remediation_->intent().closed_links, ElementsAre(kTrunk()));
  EXPECT_NE(remediation_->TakeReroute(), "");
  EXPECT_EQ(Shown(1).state, HoldState::kPending);
  EXPECT_EQ(Shown(2).state, HoldState::kInEffect);
  EXPECT_EQ(Make(Wanted(HoldKind::kCordon, Port(fabric_.Host(2)))), 10u);
}

TEST_F(RemediationTest, VanishedNodesAreReportedAndRemembered) {
  Told();
  const fabric::Node node = *snapshot_->node(fabric_.Host(2).node);
  SetState(fabric_.Host(2), wire::PortState::kDown, wire::PortPhysicalState::kPolling);
  fabric_.builder.RemoveNode(node.index);
  Look();
  ASSERT_EQ(effects_.events.size(), 2u);
  EXPECT_EQ(effects_.events[0].type, "NodeVanished");
  EXPECT_EQ(effects_.events[0].node, node.guid());
  // The link that it took along names both of its ends.
  EXPECT_EQ(effects_.events[1].type, "LinkDown");
  EXPECT_THAT((std::vector{effects_.events[1].node, effects_.events[1].peer}),
              Contains(node.guid()));
  ASSERT_EQ(remediation_->View(now_)->gone.size(), 1u);
  const policy::GoneNode gone = remediation_->View(now_)->gone[0];
  EXPECT_EQ(gone.node, node.guid());
  EXPECT_EQ(gone.description, node.description);
  EXPECT_FALSE(gone.is_switch);
  const PortRef peer = node.port(PortNum(1)).peer;
  EXPECT_THAT(gone.facing,
              ElementsAre(policy::HeldPort{snapshot_->node(peer.node)->guid(), peer.port}));
  EXPECT_EQ(gone.since, now_);
}

TEST_F(RemediationTest, HoldsExpire) {
  Make(Wanted(HoldKind::kDrain, Port(kTrunk())), minutes(1));
  Told();
  EXPECT_EQ(remediation_->NextDeadline(), now_ + minutes(1));
  Wait(seconds(59));
  EXPECT_FALSE(remediation_->intent().empty());
  Wait(seconds(2));
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(Told(), Contains("HoldExpired"));
  EXPECT_EQ(remediation_->NextDeadline(), kNever);
}

TEST_F(RemediationTest, HoldsLastAsLongAsAskedForWhenTheWallClockIsSet) {
  for (const policy::WallMs step : {7'200'000L, -7'200'000L, 1'800'000'000'000L}) {
    SCOPED_TRACE(step);
    const uint64_t before = Make(Wanted(HoldKind::kDrain, Port(kTrunk())), hours(1));
    const policy::WallMs expires = *Shown(before).hold.expires;
    remediation_->On(WallClockSet{kEpoch + step}, now_);
    Answer(absl::UnavailableError("disk full"));
    EXPECT_EQ(Shown(before).hold.expires, expires);  // As the store has it.
    Wait(seconds(10));
    EXPECT_EQ(Shown(before).hold.expires, expires + step);
    EXPECT_EQ(stored_.back().put.at(0).expires, expires + step);
    const uint64_t after = Make(Wanted(HoldKind::kCordon, Port(fabric_.Host(1))), hours(1));
    EXPECT_EQ(Shown(after).hold.expires, expires + step + 10'000);
    Wait(hours(1) - seconds(11));
    EXPECT_NE(remediation_->View(now_)->holds.size(), 0u);
    EXPECT_THAT(Told(), Not(Contains("HoldExpired")));
    Wait(seconds(12));
    EXPECT_THAT(remediation_->View(now_)->holds, IsEmpty());
    remediation_->On(WallClockSet{kEpoch}, now_);
    Answer();
    Told();
  }
}

TEST_F(RemediationTest, HoldsOfBeforeLastNoLongerThanTheirTtlAfterAClockWasSetBack) {
  const uint64_t id = Make(Wanted(HoldKind::kDrain, Port(kTrunk())), hours(1));
  policy::StoredHolds stored{{stored_.back().put.at(0)}, id};
  Begin(stored, kEpoch - 50'000'000);  // Set back by 14 h while the program did not run.
  Answer();
  EXPECT_EQ(remediation_->NextDeadline(), now_ + hours(1));
  EXPECT_EQ(stored_.back().put.at(0).expires, *stored.holds[0].expires - 50'000'000);
  Begin(stored, kEpoch + 50'000'000);  // Set forward: nothing tells how long it was really off.
  remediation_->OnTimer(now_);
  Answer();
  EXPECT_THAT(remediation_->View(now_)->holds, IsEmpty());
}

TEST_F(RemediationTest, ADisabledPortIsRememberedUntilItIsEnabled) {
  const PortRef port{fabric_.switches[1], PortNum(1)};  // Host 1 is behind it.
  const uint64_t id = Make(Wanted(HoldKind::kDisable, Port(port)));
  EXPECT_THAT(remediation_->intent().disabled, ElementsAre(port));
  remediation_->OnApplied(remediation_->generation(), now_);
  EXPECT_EQ(Shown(id).state, HoldState::kPending);  // It shows LinkUp.
  SetState(port, wire::PortState::kDown, wire::PortPhysicalState::kDisabled);
  Look();
  remediation_->OnApplied(remediation_->generation(), now_);
  EXPECT_EQ(Shown(id).state, HoldState::kInEffect);

  remediation_->TakeReroute();
  remediation_->On(DeleteHold{5, {id, "alice"}}, now_);
  Answer();
  EXPECT_TRUE(stored_.back().put.at(0).lifted);
  EXPECT_THAT(remediation_->View(now_)->holds, IsEmpty());
  EXPECT_THAT(remediation_->intent().reenabled, ElementsAre(port));
  EXPECT_NE(remediation_->TakeReroute(), "");
  remediation_->OnApplied(remediation_->generation(), now_);
  EXPECT_THAT(remediation_->intent().reenabled, ElementsAre(port));  // It still shows Disabled.
  SetState(port, wire::PortState::kDown, wire::PortPhysicalState::kPolling);
  Look();
  remediation_->OnApplied(remediation_->generation(), now_);
  Answer();
  EXPECT_THAT(stored_.back().remove, ElementsAre(id));
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_EQ(remediation_->TakeReroute(), "");
}

}  // namespace
}  // namespace fabricd::sweep
