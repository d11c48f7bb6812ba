// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/remediation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "policy/target.h"
#include "tests/unit/sweep/small_fabric.h"

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

// Four hosts on two switches; the SM is on host 0. Everything is ACTIVE.
class RemediationTest : public testing::Test {
 protected:
  RemediationTest() : fabric_(4) {
    for (size_t i = 0; i < fabric_.hosts.size(); ++i)
      SetState(fabric_.Host(i), wire::PortState::kActive);
    SetState(kTrunk(), wire::PortState::kActive);
    auto lids = std::make_shared<fabric::LidTable>();
    for (uint16_t i = 0; i < 4; ++i) lids->Assign(fabric_.Host(i), {Lid(10 + i), 0});
    for (uint16_t i = 0; i < 2; ++i)
      lids->Assign({fabric_.switches[i], PortNum(0)}, {Lid(1 + i), 0});
    lids_ = std::move(lids);
    local_ = fabric_.Host(0);
    Begin({});
  }
  void Begin(policy::StoredHolds holds, policy::WallMs epoch = kEpoch) {
    remediation_ =
        std::make_unique<Remediation>(KnownFabric{snapshot_, lids_, routes_, local_, options_},
                                      effects_, questions_, std::move(holds));
    remediation_->Begin(epoch, now_);
    snapshot_ = fabric_.builder.Build();
    remediation_->OnSnapshot(now_);
  }
  static constexpr policy::WallMs kEpoch = 1'000'000;
  PortRef kTrunk() const { return {fabric_.switches[0], PortNum(36)}; }
  // Of both ends.
  void SetState(PortRef port, wire::PortState state,
                wire::PortPhysicalState physical = wire::PortPhysicalState::kLinkUp) {
    const PortRef peer = fabric_.builder.node(port.node)->port(port.port).peer;
    for (PortRef end : {port, peer}) {
      if (end.IsNone()) continue;
      wire::PortInfo info = fabric_.builder.node(end.node)->port(end.port).info;
      info.port_state = state;
      info.port_physical_state = physical;
      fabric_.builder.SetPortInfo(end, info);
    }
  }
  void Look() {
    snapshot_ = fabric_.builder.Build();
    remediation_->OnSnapshot(now_);
  }
  // Down and up again, seen in two looks.
  void Flap(PortRef port) {
    SetState(port, wire::PortState::kDown);
    Look();
    SetState(port, wire::PortState::kInit);
    Look();
    SetState(port, wire::PortState::kActive);
    Look();
  }
  policy::Hold Wanted(HoldKind kind, policy::HoldTarget target) {
    policy::Hold hold;
    hold.kind = kind;
    hold.target = std::move(target);
    hold.owner = "alice";
    hold.reason = "why not";
    return hold;
  }
  policy::HoldTarget Port(PortRef port) {
    return policy::TargetOfPort(port, *snapshot_, nullptr, local_);
  }
  policy::HoldTarget Switch(int which) {
    const fabric::Node& node = *snapshot_->node(fabric_.switches[which]);
    return {policy::TargetKind::kSwitch, "sw", {node.guid()}, {}, {}};
  }
  void Create(policy::Hold hold, uint64_t command = 1, bool validate_only = false,
              std::optional<Duration> ttl = {}) {
    remediation_->On(CreateHold{command, std::move(hold), ttl, absl::OkStatus(), validate_only},
                     now_);
  }
  // The question that waits; null: none of this kind.
  template <typename T>
  const T* Asked() const {
    return effects_.questions.empty() ? nullptr : std::get_if<T>(&effects_.questions.front().what);
  }
  template <typename T>
  void GiveAnswer(T what) {
    const QuestionId id = std::exchange(effects_.questions, {}).front().id;
    ASSERT_TRUE(questions_.Close({id, what}));
    remediation_->On(std::move(what), now_);
  }
  // Lets the judge and the store say yes to all that is asked.
  void Answer(const absl::Status& status = absl::OkStatus(),
              routing::Consequences consequences = {}) {
    while (!effects_.questions.empty()) {
      if (Asked<EvaluateIntent>() != nullptr) {
        GiveAnswer(IntentEvaluated{consequences});
      } else {
        stored_.push_back(*Asked<PersistHolds>());
        GiveAnswer(Persisted{status});
      }
    }
  }
  uint64_t Make(policy::Hold hold, std::optional<Duration> ttl = {}) {
    Create(std::move(hold), 1, false, ttl);
    Answer();
    EXPECT_TRUE(effects_.finished.back().status.ok()) << effects_.finished.back().status;
    return effects_.finished.back().hold->hold.id;
  }
  void Wait(Duration time) {
    const Instant end = now_ + time;
    while (remediation_->NextDeadline() <= end) {
      now_ = std::max(now_, remediation_->NextDeadline());
      remediation_->OnTimer(now_);
      Answer();
    }
    now_ = end;
  }
  policy::HoldStatus Shown(uint64_t id) {
    for (const auto& status : remediation_->View(now_)->holds)
      if (status.hold.id == id) return status;
    ADD_FAILURE() << id;
    return {};
  }
  std::vector<std::string> Told() {
    std::vector<std::string> types;
    for (const fabric::FabricEvent& event : std::exchange(effects_.events, {}))
      types.push_back(event.type);
    return types;
  }
  wire::Notice Trap(uint16_t number, uint16_t lid, uint8_t port = 0) {
    wire::Notice notice;
    notice.trap = number;
    notice.issuer_lid = Lid(lid);
    notice.details[2] = static_cast<uint8_t>(lid >> 8);
    notice.details[3] = static_cast<uint8_t>(lid & 0xFF);
    notice.details[4] = port;
    return notice;
  }

  SmallFabric fabric_;
  CoreOptions options_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_ = fabric::SnapshotBuilder().Build();
  std::shared_ptr<const fabric::LidTable> lids_;
  std::shared_ptr<const routing::RouteState> routes_;
  PortRef local_;
  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  std::unique_ptr<Remediation> remediation_;
  std::vector<PersistHolds> stored_;
  Instant now_{hours(1)};
};

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

TEST_F(RemediationTest, AFlappingLinkIsAvoidedUntilItIsQuiet) {
  for (int i = 0; i < 3; ++i) {
    Flap(kTrunk());
    Wait(seconds(1));
  }
  EXPECT_TRUE(remediation_->intent().empty());
  Flap(kTrunk());
  EXPECT_THAT(remediation_->intent().avoided_links, ElementsAre(kTrunk()));
  EXPECT_THAT(remediation_->TakeReroute(), HasSubstr("damping"));
  const auto told = Told();
  EXPECT_THAT(told, Contains("LinkSuppressed"));
  EXPECT_THAT(told, Contains("ConditionRaised"));
  EXPECT_THAT(told, Contains("LinkDown"));
  EXPECT_THAT(told, Contains("LinkUp"));
  auto view = remediation_->View(now_);
  ASSERT_EQ(view->damped.size(), 1u);
  EXPECT_TRUE(view->damped[0].suppressed);
  EXPECT_EQ(view->damped[0].flaps, 4u);
  ASSERT_EQ(view->conditions.size(), 1u);
  EXPECT_EQ(view->conditions[0].type, "LinkFlapping");
  EXPECT_EQ(view->conditions[0].recommended, HoldKind::kDrain);
  // More of the same changes no route.
  Flap(kTrunk());
  EXPECT_EQ(remediation_->TakeReroute(), "");
  Wait(minutes(29));
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(Told(), Contains("LinkReleased"));
  EXPECT_THAT(remediation_->View(now_)->conditions, IsEmpty());
}

TEST_F(RemediationTest, LinksOfHeldTargetsAreNotDamped) {
  Make(Wanted(HoldKind::kDrain, Switch(1)));
  for (int i = 0; i < 9; ++i) Flap(kTrunk());
  EXPECT_THAT(remediation_->View(now_)->damped, IsEmpty());
}

TEST_F(RemediationTest, AnUnresponsiveNodeIsNoFlap) {
  // The switch at the other end has not answered: its ports are gone, the cable's light is on.
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  Look();
  EXPECT_THAT(remediation_->View(now_)->damped, IsEmpty());
  EXPECT_THAT(Told(), Not(Contains("LinkDown")));
}

TEST_F(RemediationTest, EventsNameVanishedNodes) {
  fabric_.builder.SetDescription(fabric_.hosts[3], "node3 mlx5_0");
  fabric_.builder.SetDescription(fabric_.switches[1], "leaf1");
  Look();
  Told();
  // Its cable is out: the switch's port is down, and nothing leads to the host any more.
  SetState(fabric_.Host(3), wire::PortState::kDown, wire::PortPhysicalState::kPolling);
  fabric_.builder.RemoveNode(fabric_.hosts[3]);
  Look();
  ASSERT_EQ(effects_.events.size(), 2u);
  EXPECT_EQ(effects_.events[0].type, "NodeVanished");
  EXPECT_EQ(effects_.events[0].subject, "node3 mlx5_0");
  EXPECT_EQ(effects_.events[1].type, "LinkDown");
  EXPECT_EQ(effects_.events[1].subject, "leaf1/2 ↔ node3 mlx5_0/1");
  // And what comes of it later.
  for (int i = 0; i < 4; ++i) {
    Told();
    wire::NodeInfo info;
    info.node_type = wire::NodeType::kChannelAdapter;
    info.num_ports = 1;
    info.node_guid = Guid(0x103);
    info.port_guid = Guid(0x1003);
    info.local_port = PortNum(1);
    fabric_.builder.PutNode(info);
    fabric_.builder.SetDescription(fabric_.hosts[3], "node3 mlx5_0");
    fabric_.Cable(fabric_.Host(3), {fabric_.switches[1], PortNum(2)});
    Look();
    SetState(fabric_.Host(3), wire::PortState::kDown, wire::PortPhysicalState::kPolling);
    fabric_.builder.RemoveNode(fabric_.hosts[3]);
    Look();
  }
  const auto view = remediation_->View(now_);
  ASSERT_EQ(view->conditions.size(), 1u);
  EXPECT_EQ(view->conditions[0].subject, "leaf1/2 ↔ node3 mlx5_0/1");
  EXPECT_EQ(view->conditions[0].node, Guid(0x11));
  for (const fabric::FabricEvent& event : effects_.events)
    EXPECT_THAT(event.subject, Not(HasSubstr("node index"))) << event.type;
}

TEST_F(RemediationTest, NoisyTrapsMakeACondition) {
  for (int i = 0; i < 60; ++i)
    remediation_->OnTrap(Trap(wire::kTrapLocalLinkIntegrity, 2, 1), now_);
  const auto view = remediation_->View(now_);
  ASSERT_EQ(view->conditions.size(), 1u);
  const policy::Condition& condition = view->conditions[0];
  EXPECT_EQ(condition.type, "NoisyTraps");
  EXPECT_EQ(condition.node, Guid(0x11));
  EXPECT_EQ(condition.port, PortNum(1));
  EXPECT_EQ(condition.recommended, HoldKind::kCordon);
  EXPECT_THAT(condition.evidence, Contains(testing::Pair("threshold", "60")));
  EXPECT_EQ(condition.hold, 0u);
  EXPECT_THAT(stored_, IsEmpty());
  Wait(minutes(4));
  EXPECT_THAT(remediation_->View(now_)->conditions, IsEmpty());
}

TEST_F(RemediationTest, EnforcedConditionsHoldAndReleaseTheHost) {
  options_.policy.conditions.noisy_traps.mode = policy::ConditionMode::kEnforce;
  remediation_->OnOptions(now_);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 60; ++i)
      remediation_->OnTrap(Trap(wire::kTrapLocalLinkIntegrity, 2, 1), now_);
    Answer();
    const auto view = remediation_->View(now_);
    ASSERT_EQ(view->holds.size(), 1u);
    // The host behind the port that told it.
    EXPECT_EQ(view->holds[0].hold.kind, HoldKind::kCordon);
    EXPECT_EQ(view->holds[0].hold.owner, "fabricd");
    EXPECT_EQ(view->holds[0].hold.target.ports.at(0).node, Guid(0x101));
    EXPECT_EQ(view->conditions.at(0).hold, view->holds[0].hold.id);
    Wait(minutes(4));
    // Twice a week by itself, then somebody has to look.
    EXPECT_EQ(remediation_->View(now_)->holds.size(), round < 2 ? 0u : 1u) << round;
  }
  EXPECT_THAT(Told(), Contains("HoldKept"));
}

TEST_F(RemediationTest, AnExcludedNodeIsHeldOnceTheExclusionEnds) {
  policy::ConditionOptions& conditions = options_.policy.conditions;
  conditions.noisy_traps.mode = policy::ConditionMode::kEnforce;
  conditions.exclude = {
      {Guid(0x101), 1'000'000 + now_.time_since_epoch() / std::chrono::milliseconds(1) + 600'000}};
  remediation_->OnOptions(now_);
  for (const size_t holds : {0u, 1u}) {
    for (int i = 0; i < 60; ++i)
      remediation_->OnTrap(Trap(wire::kTrapLocalLinkIntegrity, 2, 1), now_);
    if (holds == 1) Answer();
    const auto view = remediation_->View(now_);
    EXPECT_EQ(view->holds.size(), holds);
    EXPECT_EQ(view->conditions.at(0).held_back.empty(), holds == 1);
    Wait(minutes(10));
  }
}

TEST_F(RemediationTest, TheBudgetAndTheBreakerHoldEnforcementBack) {
  options_.policy.conditions.noisy_traps.mode = policy::ConditionMode::kEnforce;
  remediation_->OnOptions(now_);
  const auto noise = [&](uint8_t port) {
    for (int i = 0; i < 60; ++i)
      remediation_->OnTrap(Trap(wire::kTrapLocalLinkIntegrity, 2, port), now_);
    Answer();
  };
  noise(1);
  noise(2);  // The second host of four.
  auto view = remediation_->View(now_);
  ASSERT_EQ(view->conditions.size(), 2u);
  EXPECT_EQ(view->holds.size(), 1u);
  EXPECT_THAT(view->conditions[1].held_back, HasSubstr("breaker"));
  options_.policy.holds.budget = 1;
  remediation_->OnOptions(now_);  // Resets the breaker.
  noise(36);
  view = remediation_->View(now_);
  ASSERT_EQ(view->conditions.size(), 3u);
  EXPECT_THAT(view->conditions[2].held_back, HasSubstr("budget of 1"));
}

TEST_F(RemediationTest, TimeOutsAndRefusedSetsMakeConditions) {
  mad::Completion silent;
  silent.outcome = mad::Completion::Outcome::kTimedOut;
  silent.device = fabric_.switches[1].value();
  for (int i = 0; i < 100; ++i) remediation_->OnCompletion(silent, now_);  // All given up at once.
  EXPECT_THAT(remediation_->View(now_)->conditions, IsEmpty());
  for (int i = 0; i < 4; ++i) {
    Wait(seconds(10));
    remediation_->OnCompletion(silent, now_);
  }
  mad::Completion refused;
  refused.outcome = mad::Completion::Outcome::kResponse;
  refused.method = wire::Method::kSet;
  refused.status = 0x1C;
  refused.device = fabric_.switches[0].value();
  for (int i = 0; i < 5; ++i) remediation_->OnCompletion(refused, now_);
  const auto view = remediation_->View(now_);
  ASSERT_EQ(view->conditions.size(), 2u);
  EXPECT_EQ(view->conditions[0].type, "SetErrors");
  EXPECT_EQ(view->conditions[0].node, Guid(0x10));
  EXPECT_EQ(view->conditions[1].type, "Unresponsive");
  EXPECT_EQ(view->conditions[1].node, Guid(0x11));
}

}  // namespace
}  // namespace fabricd::sweep
