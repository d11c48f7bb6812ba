// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/verdict_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/daemon/verdicts/verdict_fabric.h"

namespace fabricd::daemon {
namespace {

using policy::Verdict;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class VerdictKeeperTest : public ::testing::Test {
 protected:
  VerdictKeeperTest() {
    options_.responder.actions.configured = policy::Action::kCordon;
    // Without the vendor's registers it is less.
    options_.responder.actions.min_confidence = 0.3;
  }

  void Make(policy::StoredVerdicts stored = {}) {
    keeper_ = std::make_unique<VerdictKeeper>(options_, patterns_, names_, std::move(stored));
  }
  VerdictEffects Assess() {
    if (keeper_ == nullptr) Make();
    VerdictEffects effects = keeper_->Assess(fabric_.Inputs());
    fabric_.now += std::chrono::minutes(1);
    if (effects.publish != nullptr) view_ = effects.publish;
    return effects;
  }
  // Made by the core.
  void Carry(const VerdictEffects& effects) {
    for (const auto& creation : effects.create) {
      fabric_.Hold(++last_id_, creation.command);
      keeper_->OnHoldAnswer(creation.link, last_id_, fabric_.now);
    }
  }
  absl::Status Do(VerdictCommand command, VerdictEffects& effects) {
    return keeper_->Do(command, fabric_.Inputs(), effects);
  }

  VerdictFabric fabric_;
  VerdictOptions options_;
  const fabric::HostPatterns patterns_;
  const fabric::NodeNameMap names_;
  std::unique_ptr<VerdictKeeper> keeper_;
  std::shared_ptr<const query::VerdictView> view_;
  uint64_t last_id_ = 0;
};

TEST_F(VerdictKeeperTest, WithoutTelemetryThereAreNoVerdicts) {
  fabric_.counters.view.state = telemetry::State::kOff;
  EXPECT_EQ(Assess().publish, nullptr);
  fabric_.counters.view.state = telemetry::State::kPolling;
  ASSERT_NE(Assess().publish, nullptr);
  EXPECT_TRUE(view_->enabled);
  fabric_.counters.view.state = telemetry::State::kWaiting;
  ASSERT_NE(Assess().publish, nullptr);
  EXPECT_FALSE(view_->enabled);
}

TEST_F(VerdictKeeperTest, CountersThatWereNotReadYetAreNoBlackout) {
  using telemetry::ViewMaker;
  // Long enough for all that was read to be stale.
  fabric_.counters.view.at += 10 * ViewMaker::kMinute;
  fabric_.counters.view.polls_since = fabric_.counters.view.at - 10 * ViewMaker::kSecond;
  EXPECT_THAT(Assess().events, IsEmpty());
  EXPECT_THAT(view_->findings, IsEmpty());
  fabric_.counters.view.at += 10 * ViewMaker::kMinute;
  EXPECT_THAT(Assess().events, Contains(Field(&fabric::FabricEvent::type, "CommonCauseFound")));
  EXPECT_THAT(view_->findings,
              ElementsAre(Field(&policy::CommonFinding::cause, policy::CommonCause::kBlackout)));
}

TEST_F(VerdictKeeperTest, BesideTheMasterItsStoredVerdictsAreShown) {
  fabric_.Flap(1);
  Carry(Assess());
  Assess();
  VerdictEffects remarked;
  ASSERT_TRUE(
      Do({VerdictCommand::Kind::kAcknowledge, fabric_.Leaf(2), "ops", "seen", {}}, remarked).ok());
  const StoredRows rows = keeper_->Rows(fabric_.now, VerdictFabric::kWall);
  const auto stored = policy::LoadVerdicts(rows);
  ASSERT_TRUE(stored.ok());
  // A node that polls nothing, and has not read the fabric yet.
  options_.interval = std::chrono::hours(1);
  Make();
  fabric_.counters.view = telemetry::TelemetryView();
  fabric_.view->sm.state = wire::SmState::kNotActive;
  keeper_->Follow(*stored);
  const auto snapshot = std::exchange(fabric_.view->snapshot, sweep::EmptyView()->snapshot);
  Assess();
  EXPECT_EQ(view_->Find(fabric_.Leaf(2)), nullptr);
  fabric_.view->snapshot = snapshot;
  const VerdictEffects effects = Assess();
  EXPECT_EQ(Assess().publish, nullptr) << "nothing has changed";
  EXPECT_TRUE(view_->enabled);
  const query::VerdictRecord* record = view_->Find(fabric_.Leaf(2));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(query::VerdictOf(*record), Verdict::kFlapping);
  EXPECT_EQ(record->a, fabric_.Host(1)) << "of a host's link, the host";
  EXPECT_EQ(record->response.hold, 1u);
  EXPECT_EQ(record->response.acknowledged->by, "ops");
  EXPECT_FALSE(record->standing.is_known);
  EXPECT_EQ(view_->counts[static_cast<size_t>(Verdict::kFlapping)], 1u);
  EXPECT_EQ(view_->in_effect, 1u);
  EXPECT_THAT(effects.events, IsEmpty());
  EXPECT_THAT(effects.create, IsEmpty());
  EXPECT_EQ(keeper_->Rows(fabric_.now, VerdictFabric::kWall), rows) << "it stores nothing";
  ASSERT_NE(keeper_->Evaluate(fabric_.Host(1), fabric_.Inputs()), nullptr);
  EXPECT_EQ(keeper_->Evaluate(fabric_.Host(2), fabric_.Inputs()), nullptr);
  keeper_->Follow({});
  Assess();
  EXPECT_THAT(view_->records, IsEmpty());
}

TEST_F(VerdictKeeperTest, ABadLinkIsShownAndCordonedAtItsHost) {
  fabric_.Flap(1);
  const VerdictEffects effects = Assess();
  const query::VerdictRecord* record = view_->Find(fabric_.Leaf(2));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(query::VerdictOf(*record), Verdict::kFlapping);
  EXPECT_EQ(record->a, fabric_.Host(1));
  EXPECT_EQ(record, view_->Find(fabric_.Host(1)));
  EXPECT_EQ(view_->counts[static_cast<size_t>(Verdict::kFlapping)], 1u);
  ASSERT_THAT(effects.events, SizeIs(1));
  const fabric::FabricEvent& event = effects.events[0];
  EXPECT_EQ(event.type, "VerdictChanged");
  EXPECT_EQ(event.subject, "node2 mlx5_0/1 ↔ leaf/2");
  EXPECT_EQ(event.node, fabric_.GuidOf(fabric_.Host(1)));
  EXPECT_THAT(event.facts, Contains(Pair("verdict", "FLAPPING")));
  EXPECT_THAT(event.facts, Contains(Pair("before", "HEALTHY")));
  ASSERT_THAT(effects.create, SizeIs(1)) << record->response.held_back;
  const sweep::CreateHold& command = effects.create[0].command;
  EXPECT_EQ(command.hold.owner, "telemetry");
  EXPECT_EQ(command.hold.kind, policy::HoldKind::kCordon);
  EXPECT_EQ(command.hold.target.name, "node2 mlx5_0/1");
  EXPECT_THAT(command.hold.reason, HasSubstr("FLAPPING: "));
  EXPECT_EQ(command.ttl, std::chrono::hours(24));
  Carry(effects);
  const VerdictEffects second = Assess();
  EXPECT_THAT(second.create, IsEmpty());
  EXPECT_THAT(second.events, IsEmpty());
  EXPECT_EQ(view_->Find(fabric_.Leaf(2))->response.hold, 1u);
  EXPECT_EQ(view_->in_effect, 1u);
}

TEST_F(VerdictKeeperTest, ARestartKeepsVerdictsAndHoldsAndRepeatsNothing) {
  fabric_.Flap(1);
  Carry(Assess());
  Assess();
  const StoredRows rows = keeper_->Rows(fabric_.now, VerdictFabric::kWall);
  auto stored = policy::LoadVerdicts(rows);
  ASSERT_TRUE(stored.ok()) << stored.status();
  Make(*std::move(stored));
  EXPECT_EQ(keeper_->Rows(fabric_.now, VerdictFabric::kWall), rows);
  const VerdictEffects effects = Assess();
  EXPECT_THAT(effects.create, IsEmpty());
  EXPECT_THAT(effects.remove, IsEmpty());
  const query::VerdictRecord* record = view_->Find(fabric_.Leaf(2));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(query::VerdictOf(*record), Verdict::kFlapping);
  EXPECT_EQ(record->response.hold, 1u);
}

TEST_F(VerdictKeeperTest, LinkDownsBeforeATakeoverCountAfterIt) {
  const auto downs = [&] {
    const auto record = keeper_->Evaluate(fabric_.Host(1), fabric_.Inputs());
    return record->evidence->a.Find(policy::Signal::kLinkDowns, policy::Window::k24h)->count;
  };
  fabric_.Flap(1, 1);
  Assess();
  EXPECT_EQ(downs(), 1u);
  auto stored = policy::LoadVerdicts(keeper_->Rows(fabric_.now, VerdictFabric::kWall));
  ASSERT_TRUE(stored.ok()) << stored.status();
  Make(*std::move(stored));
  fabric_.ForgetErrors();
  Assess();
  EXPECT_EQ(downs(), 1u);
  fabric_.Flap(1, 1);
  Assess();
  EXPECT_EQ(downs(), 2u);
}

TEST_F(VerdictKeeperTest, AnOverruleReleasesTheHoldAndEmitsAnEvent) {
  fabric_.Flap(1);
  Carry(Assess());
  Assess();
  VerdictEffects effects;
  VerdictCommand command{VerdictCommand::Kind::kOverrule, fabric_.Leaf(2), "slurm", "job 7", {}};
  ASSERT_TRUE(Do(command, effects).ok());
  ASSERT_THAT(effects.events, SizeIs(1));
  EXPECT_EQ(effects.events[0].type, "VerdictOverruled");
  EXPECT_THAT(effects.events[0].message, HasSubstr("slurm: job 7"));
  const VerdictEffects after = Assess();
  ASSERT_THAT(after.remove, SizeIs(1));
  EXPECT_EQ(after.remove[0].request.id, 1u);
  EXPECT_EQ(view_->Find(fabric_.Leaf(2))->response.overruled->by, "slurm");
}

TEST_F(VerdictKeeperTest, ARepairedLinkIsReleasedAtOnce) {
  fabric_.Flap(1);
  Carry(Assess());
  Assess();
  VerdictEffects effects;
  VerdictCommand command{VerdictCommand::Kind::kRelease, fabric_.Host(1), "ops", "new cable", {}};
  ASSERT_TRUE(Do(command, effects).ok());
  EXPECT_EQ(effects.events[0].type, "VerdictReleased");
}

TEST_F(VerdictKeeperTest, RemarksNeedABadVerdict) {
  Assess();
  VerdictEffects effects;
  for (const auto kind : {VerdictCommand::Kind::kAcknowledge, VerdictCommand::Kind::kOverrule,
                          VerdictCommand::Kind::kRelease})
    EXPECT_EQ(Do({kind, fabric_.Leaf(1), "ops", "x", {}}, effects).code(),
              absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(effects.events, IsEmpty());
}

TEST_F(VerdictKeeperTest, NoActionIsTakenOnAnExcludedNode) {
  options_.exclude = {{fabric_.GuidOf(fabric_.Host(1)), std::nullopt}};
  fabric_.Flap(1);
  EXPECT_THAT(Assess().create, IsEmpty());
  EXPECT_EQ(view_->Find(fabric_.Leaf(2))->response.held_back, "excluded by the configuration");
}

TEST_F(VerdictKeeperTest, AStandbyActsOnNothing) {
  fabric_.view->sm.state = wire::SmState::kStandby;
  fabric_.Flap(1);
  EXPECT_THAT(Assess().create, IsEmpty());
  EXPECT_EQ(query::VerdictOf(*view_->Find(fabric_.Leaf(2))), Verdict::kFlapping);
}

TEST_F(VerdictKeeperTest, AHealthyLinkIsEvaluatedWhenAskedFor) {
  Assess();
  EXPECT_EQ(view_->Find(fabric_.Leaf(3)), nullptr);
  const auto record = keeper_->Evaluate(fabric_.Leaf(3), fabric_.Inputs());
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->a, fabric_.Host(2));
  EXPECT_EQ(query::VerdictOf(*record), Verdict::kHealthy);
  EXPECT_NE(record->evidence, nullptr);
  EXPECT_FALSE(record->found.rows.empty());
  EXPECT_EQ(keeper_->Evaluate({NodeIndex(77), PortNum(1)}, fabric_.Inputs()), nullptr);
}

TEST_F(VerdictKeeperTest, ChangedOptionsKeepVerdicts) {
  fabric_.Flap(1);
  Carry(Assess());
  options_.responder.actions.configured = policy::Action::kRecommend;
  options_.assessor.clocks.clean = std::chrono::hours(3);
  keeper_->SetOptions(options_, fabric_.now, VerdictFabric::kWall);
  const VerdictEffects effects = Assess();
  EXPECT_THAT(effects.remove, IsEmpty());
  EXPECT_EQ(query::VerdictOf(*view_->Find(fabric_.Leaf(2))), Verdict::kFlapping);
  EXPECT_EQ(view_->configured, policy::Action::kRecommend);
}

TEST_F(VerdictKeeperTest, ManyChangesAtOnceAreABoundedNumberOfEvents) {
  for (size_t host = 0; host < 6; ++host) fabric_.Flap(host);
  const VerdictEffects effects = Assess();
  EXPECT_LE(effects.events.size(), VerdictKeeper::kMostEvents + 8);
  EXPECT_LE(effects.create.size(), 2u) << "the breaker, and one of the hosts is our own";
}

}  // namespace
}  // namespace fabricd::daemon
