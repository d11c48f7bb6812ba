// SPDX-License-Identifier: Apache-2.0
// How a run begins, what it holds back, how it ends. What it writes: tests of the writers, and
// tests/golden/core.
#include "sweep/activity/programming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/plan/computing.h"
#include "tests/unit/sweep/activity/activity_fixture.h"

namespace fabricd::sweep {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;
using testing::SizeIs;

class ProgrammingTest : public testing::Test, protected ActivityFixture {
 protected:
  ProgrammingTest() {
    for (const NodeIndex node : small.switches) {
      wire::SwitchInfo info;
      info.linear_fdb_cap = 1024;
      observed.builder().SetSwitchInfo(node, info);
    }
    observed.Rebuild();
  }
  // The newest question of this kind, taken as the shell takes it.
  template <typename Task>
  std::optional<Question> Take() {
    for (const Question& each : effects_.questions)
      if (std::holds_alternative<Task>(each.what)) {
        Question found = each;
        std::erase_if(effects_.questions, [&](const auto& other) { return other.id == found.id; });
        return found;
      }
    return std::nullopt;
  }
  void StoreLids() {
    ASSERT_FALSE(programming_.AssignLids());
    const auto question = Take<PersistLids>();
    ASSERT_TRUE(question.has_value());
    ASSERT_TRUE(questions_.Close({question->id, Persisted{absl::OkStatus()}}));
    programming_.OnLidsStored(absl::OkStatus());
  }
  void AnswerPlan() {
    const auto question = Take<ComputePlan>();
    ASSERT_TRUE(question.has_value());
    PlanReady ready = CarryOut(std::get<ComputePlan>(question->what));
    ASSERT_TRUE(questions_.Close({question->id, ready}));
    programming_.OnPlan(std::move(ready), kNow);
  }
  // Of a change at one switch.
  void StartUrgent() {
    StoreLids();
    programming_.desired().pending().OnRunEnded({});
    programming_.desired().pending().Mark(small.switches[0]);
    programming_.desired().SetGoal(routing::ReplanGoal::kUrgent);
    programming_.Start(kNow);
  }

  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  LidManager lids_{options, questions_, {}};
  Planner planner_{options, questions_, effects_.log};
  Remediation remediation_{
      {observed.snapshot(), lids_.table(), planner_.routes(), observed.local(), options},
      effects_,
      questions_,
      {}};
  PartitionKeeper partitions_{options, effects_, questions_, {}};
  SweepJournal journal_{engine, effects_};
  ViewPublisher view_;
  Programming programming_{ground(),   observed, lids_, planner_, remediation_, partitions_,
                           questions_, journal_, view_, nullptr,  nullptr};
};

TEST_F(ProgrammingTest, LidsThatAreNotDurableAreStoredFirst) {
  EXPECT_FALSE(programming_.AssignLids());
  EXPECT_FALSE(programming_.AreLidsDurable());
  EXPECT_TRUE(programming_.IsPending());
  EXPECT_FALSE(programming_.under_way());
  StoreLids();
  EXPECT_TRUE(programming_.AreLidsDurable());
  EXPECT_TRUE(programming_.AssignLids());
  EXPECT_FALSE(programming_.IsPending());
}

TEST_F(ProgrammingTest, ARunAsksForAPlanAndForACheckOfTheCables) {
  StoreLids();
  programming_.Start(kNow);
  EXPECT_TRUE(programming_.under_way());
  EXPECT_TRUE(planner_.AwaitsPlan());
  EXPECT_TRUE(Take<ComputePlan>().has_value());
  EXPECT_TRUE(Take<CheckCables>().has_value());
  EXPECT_FALSE(programming_.done());
}

TEST_F(ProgrammingTest, TheRunWritesWhileThePlanIsMade) {
  StoreLids();
  programming_.Start(kNow);
  programming_.Advance(kNow);
  EXPECT_THAT(Sent(kNow), testing::Not(IsEmpty()));
}

TEST_F(ProgrammingTest, ChangesWaitForAnUrgentPlanAndAWhileForItsTables) {
  StartUrgent();
  EXPECT_TRUE(programming_.ComesBeforeChanges(kNow + std::chrono::minutes(1)));
  AnswerPlan();
  EXPECT_EQ(programming_.changes_wait_until(), kNow + Programming::kTimeToWrite);
  EXPECT_TRUE(programming_.ComesBeforeChanges(kNow + milliseconds(49)));
  EXPECT_FALSE(programming_.ComesBeforeChanges(kNow + milliseconds(50)));
}

TEST_F(ProgrammingTest, ChangesDoNotWaitForARunOverAllNodes) {
  StoreLids();
  programming_.desired().SetGoal(routing::ReplanGoal::kIdeal);
  programming_.Start(kNow);
  EXPECT_FALSE(programming_.ComesBeforeChanges(kNow));
}

TEST_F(ProgrammingTest, ASupersededRunLeavesItsNodesPending) {
  StartUrgent();
  programming_.Advance(kNow);
  EXPECT_THAT(programming_.Supersede(kNow), IsEmpty());
  EXPECT_FALSE(programming_.under_way());
  EXPECT_THAT(programming_.desired().pending().nodes(), testing::Contains(small.switches[0]));
}

TEST_F(ProgrammingTest, AfterCancelNoAnswerIsAwaited) {
  StoreLids();
  programming_.Start(kNow);
  const auto plan = Take<ComputePlan>();
  programming_.Cancel();
  EXPECT_FALSE(programming_.under_way());
  EXPECT_FALSE(programming_.IsPending());
  EXPECT_FALSE(questions_.Close({plan->id, PlanReady{}}).has_value());
  EXPECT_FALSE(questions_.IsOpen<CheckCables>());
}

TEST_F(ProgrammingTest, ThePhaseFollowsTheStageAndThePlan) {
  StoreLids();
  programming_.Start(kNow);
  EXPECT_EQ(programming_.phase(), Phase::kProgramming);
  EXPECT_EQ(programming_.progress().phase, Phase::kProgramming);
  EXPECT_FALSE(programming_.progress().step.empty());
}

}  // namespace
}  // namespace fabricd::sweep
