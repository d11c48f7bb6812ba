// SPDX-License-Identifier: Apache-2.0
// What starts and ends what. Whole courses of it: tests/golden/core.
#include "sweep/activity/activities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/activity/activity_fixture.h"

namespace fabricd::sweep {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Order = Mastership::Order;

class ActivitiesTest : public testing::Test, protected ActivityFixture {
 protected:
  // As the start of a core does.
  void Start() {
    mastership_.Start();
    activities_.StartHeavySweep("start", kNow);
  }
  // The own node does not answer, so the sweep ends.
  void FailDiscovery() {
    Instant now = kNow;
    while (activities_.state() == CoreState::kDiscovering) {
      std::vector<mad::OutgoingMad> sent;
      std::vector<mad::Completion> completions;
      engine.Pump(now, sent, completions);
      for (const auto& each : completions) activities_.OnCompletion(each, now);
      activities_.Advance(now);
      now = std::max(now, std::min(engine.NextDeadline(), activities_.NextDeadline()));
    }
  }

  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  LidManager lids_{options, questions_, {}};
  Planner planner_{options, questions_, effects_.log};
  Mastership mastership_{options, observed.own(), devices, engine, questions_, effects_};
  Remediation remediation_{
      {observed.snapshot(), lids_.table(), planner_.routes(), observed.local(), options},
      effects_,
      questions_,
      {}};
  PartitionKeeper partitions_{options, effects_, questions_, {}};
  TakeoverGuard guard_{options, questions_, {}};
  Agenda agenda_{options};
  CommandQueue commands_{effects_.finished};
  SweepJournal journal_{engine, effects_};
  ViewPublisher view_;
  Programming programming_{ground(),   observed, lids_, planner_, remediation_, partitions_,
                           questions_, journal_, view_, nullptr,  nullptr};
  Activities activities_{ground(),     options,     observed, agenda_,      commands_, mastership_,
                         remediation_, partitions_, guard_,   programming_, journal_,  view_};
};

TEST_F(ActivitiesTest, AHeavySweepBeginsWithTheOwnNode) {
  Start();
  EXPECT_EQ(activities_.state(), CoreState::kDiscovering);
  EXPECT_EQ(activities_.phase(), Phase::kDiscovering);
  const auto sent = Sent(kNow);
  ASSERT_THAT(sent, Not(IsEmpty()));
  EXPECT_EQ(sent[0].attribute, wire::AttributeId::kNodeInfo);
  EXPECT_EQ(sent[0].path->hops(), 0u);
}

TEST_F(ActivitiesTest, AHeavySweepDropsRequestsReportsAndQuestions) {
  activities_.follower().Report({small.switches[0], PortNum(0)}, "trap 128", kNow);
  activities_.follower().SurveyUndone({small.switches[0]}, kNow);
  programming_.AssignLids();
  EXPECT_TRUE(programming_.IsPending());
  Start();
  EXPECT_FALSE(activities_.surveys());
  EXPECT_EQ(activities_.follower().due(), kNever);
  EXPECT_FALSE(programming_.IsPending());
  EXPECT_THAT(Sent(kNow), SizeIs(1));  // The own NodeInfo.
}

TEST_F(ActivitiesTest, AnotherMasterEndsEverythingAndRefusesCommandsThatWait) {
  Start();
  activities_.OnCommand({7, /*heavy=*/true}, kNow);
  activities_.Apply({Order::Kind::kBeStandby}, kNow);
  EXPECT_EQ(activities_.state(), CoreState::kStandby);
  EXPECT_EQ(engine.size(), 0u);
  ASSERT_THAT(effects_.finished, SizeIs(1));
  EXPECT_EQ(effects_.finished[0].command, 7u);
  EXPECT_FALSE(effects_.finished[0].status.ok());
  EXPECT_FALSE(agenda_.WantsSweep());
}

TEST_F(ActivitiesTest, ASweepThatCannotReadTheOwnNodeIsRepeatedLater) {
  Start();
  activities_.OnCommand({7, /*heavy=*/true}, kNow);
  FailDiscovery();
  EXPECT_EQ(activities_.state(), CoreState::kIdle);
  EXPECT_NE(agenda_.next_retry(), kNever);
  EXPECT_FALSE(view_.subnet_up());
}

TEST_F(ActivitiesTest, BeforeItMaySweepTheCoreRefusesCommands) {
  activities_.OnCommand({7, /*heavy=*/false}, kNow);
  ASSERT_THAT(effects_.finished, SizeIs(1));
  EXPECT_FALSE(effects_.finished[0].status.ok());
}

TEST_F(ActivitiesTest, OptionsAreAdoptedWhereAHeavySweepStarts) {
  CoreOptions other;
  other.lmc = 2;
  agenda_.WantOptions(other);
  activities_.Advance(kNow);
  EXPECT_EQ(options.lmc, 0);
  Start();
  EXPECT_EQ(options.lmc, 2);
}

TEST_F(ActivitiesTest, OnlyADiscoveryIsPatientAndOnlyUntilAChangeIsReported) {
  EXPECT_FALSE(activities_.MayBePatient(kNow));
  Start();
  EXPECT_TRUE(activities_.MayBePatient(kNow));
  activities_.follower().Report({small.switches[0], PortNum(0)}, "trap 128", kNow);
  EXPECT_FALSE(activities_.MayBePatient(kNow));
}

TEST_F(ActivitiesTest, AnOwnPortThatComesUpLeadsToASweepWhileIdle) {
  activities_.OnLocalPort({mad::LocalPortEvent::Kind::kPortActive});
  EXPECT_FALSE(agenda_.WantsSweep());  // It was up before.
  wire::PortInfo down;
  down.port_state = wire::PortState::kDown;
  observed.builder().SetPortInfo(small.Host(0), down);
  observed.Rebuild();
  activities_.OnLocalPort({mad::LocalPortEvent::Kind::kPortActive});
  EXPECT_TRUE(agenda_.WantsSweep());
}

}  // namespace
}  // namespace fabricd::sweep
