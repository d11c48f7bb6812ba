// SPDX-License-Identifier: Apache-2.0
// Damped links and conditions of a Remediation, and the holds that enforce them.
#include <gmock/gmock.h>

#include "tests/unit/sweep/remediate/remediation_fixture.h"

namespace fabricd::sweep {
namespace {

using policy::HoldKind;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST_F(RemediationTest, AClearedLinkMayBeUsedAtOnce) {
  for (int i = 0; i < 4; ++i) Flap(kTrunk());
  ASSERT_THAT(remediation_->intent().avoided_links, ElementsAre(kTrunk()));
  remediation_->TakeReroute();
  remediation_->On(ClearDamping{1, kTrunk(), /*validate_only=*/true}, now_);
  EXPECT_THAT(remediation_->intent().avoided_links, ElementsAre(kTrunk()));
  EXPECT_EQ(remediation_->TakeReroute(), "");
  remediation_->On(ClearDamping{2, kTrunk()}, now_);
  EXPECT_TRUE(remediation_->intent().empty());
  EXPECT_THAT(remediation_->TakeReroute(), HasSubstr("end of the damping"));
  EXPECT_THAT(remediation_->View(now_)->conditions, IsEmpty());
  EXPECT_THAT(remediation_->View(now_)->damped, IsEmpty());
  // There is nothing more to clear.
  remediation_->On(ClearDamping{3, kTrunk()}, now_);
  EXPECT_EQ(remediation_->TakeReroute(), "");
  EXPECT_EQ(std::count_if(effects_.events.begin(), effects_.events.end(),
                          [](const auto& event) { return event.type == "LinkReleased"; }),
            1);
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

TEST_F(RemediationTest, OnlyTheSameLinkIsSuppressedAfterARestart) {
  for (int i = 0; i < 4; ++i) Flap(kTrunk());
  const policy::ActionRecord known = remediation_->View(now_)->actions;
  ASSERT_EQ(known.suppressed.size(), 1u);
  // The fabric is found after the start.
  const auto restart = [&](const policy::ActionRecord& actions) {
    snapshot_ = std::make_shared<const fabric::FabricSnapshot>();
    Begin({}, kEpoch, actions);
  };
  restart(known);
  ASSERT_EQ(remediation_->View(now_)->damped.size(), 1u);
  EXPECT_EQ(remediation_->View(now_)->actions, known);
  EXPECT_EQ(remediation_->View(now_)->conditions.at(0).type, "LinkFlapping");
  // Another cable, or a port that the switch does not have.
  for (const uint8_t port : {uint8_t{5}, uint8_t{250}}) {
    policy::ActionRecord other = known;
    other.suppressed[0].b.port = PortNum(port);
    restart(other);
    EXPECT_TRUE(remediation_->View(now_)->damped.empty());
    EXPECT_TRUE(remediation_->View(now_)->conditions.empty());
    EXPECT_EQ(remediation_->View(now_)->actions, policy::ActionRecord());
  }
  // It may come: a switch that does not respond now.
  policy::ActionRecord away = known;
  away.suppressed[0].b.node = Guid(0x999);
  restart(away);
  EXPECT_TRUE(remediation_->View(now_)->damped.empty());
  EXPECT_EQ(remediation_->View(now_)->actions, away);
  now_ += std::chrono::hours(1);
  SetState(fabric_.Host(3), wire::PortState::kInit);
  Look();
  EXPECT_EQ(remediation_->View(now_)->actions, policy::ActionRecord());
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
  mad::Completion unknown;  // An attribute that the device may not have.
  unknown.outcome = mad::Completion::Outcome::kTimedOut;
  unknown.may_be_unknown = true;
  unknown.device = fabric_.switches[0].value();
  for (int i = 0; i < 10; ++i) {
    Wait(seconds(10));
    remediation_->OnCompletion(unknown, now_);
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
