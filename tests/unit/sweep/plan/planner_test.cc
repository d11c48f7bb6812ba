// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/events.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using routing::ReplanGoal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PlannerTest : public testing::Test {
 protected:
  static constexpr Instant kBegin{1000s};

  PlannerTest() { options_.sweep.settle_after = 10s; }
  ComputePlan Ask(ReplanGoal goal = ReplanGoal::kIdeal, Instant now = kBegin) {
    ComputePlan question = planner_.MakeQuestion(snapshot_, lids_, {}, goal, devices_, now);
    questions_.Ask(question);
    return question;
  }
  std::shared_ptr<const routing::RouteState> Routes(uint8_t egress, uint8_t vls = 1) const {
    auto plan = std::make_shared<routing::RoutingPlan>();
    plan->rows = {std::make_shared<const routing::Row>(64, egress)};
    plan->order = {0, 1};
    plan->lanes = vls;
    auto routes = std::make_shared<routing::RouteState>();
    routes->plan = plan;
    return routes;
  }
  void Give(std::shared_ptr<const routing::RouteState> routes, ReplanGoal reached,
            Instant now = kBegin, std::string put_off = "",
            std::vector<routing::ChainStep> steps = {}) {
    PlanReady ready;
    ready.result.after = std::move(routes);
    ready.result.reached = reached;
    ready.result.put_off = std::move(put_off);
    ready.result.steps = std::move(steps);
    planner_.OnPlan(std::move(ready), *snapshot_, problems_, now);
  }
  std::vector<std::string> Log() {
    std::vector<std::string> texts;
    for (const LogRecord& each : std::exchange(log_, {})) texts.push_back(each.text);
    return texts;
  }
  std::vector<ProblemKind> Kinds() const {
    std::vector<ProblemKind> kinds;
    for (const Problem& each : problems_.List()) kinds.push_back(each.kind);
    return kinds;
  }

  CoreOptions options_;
  std::vector<Question> asked_;
  OpenQuestions questions_{asked_};
  std::vector<LogRecord> log_;
  Planner planner_{options_, questions_, log_};
  DeviceTable devices_{options_.sm};
  ProblemList problems_;
  SmallFabric fabric_{2};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_ = fabric_.builder.Build();
  std::shared_ptr<const fabric::LidTable> lids_ = std::make_shared<fabric::LidTable>();
};

TEST_F(PlannerTest, TheFirstPlanIsAskedForWithoutAnOldOne) {
  EXPECT_FALSE(planner_.AwaitsPlan());
  const ComputePlan question = Ask();
  EXPECT_TRUE(planner_.AwaitsPlan());
  EXPECT_EQ(question.snapshot, snapshot_);
  EXPECT_EQ(question.before, nullptr);
  EXPECT_EQ(question.applied, nullptr);
  EXPECT_EQ(planner_.plan(), nullptr);
  const auto routes = Routes(7);
  Give(routes, ReplanGoal::kIdeal);
  EXPECT_EQ(planner_.plan(), routes->plan);
  EXPECT_EQ(planner_.routes(), routes);
  EXPECT_TRUE(planner_.has_answer());
  EXPECT_FALSE(planner_.is_provisional());
  EXPECT_FALSE(planner_.is_urgent());
  EXPECT_EQ(planner_.NextStepTime(), kNever);
}

TEST_F(PlannerTest, AnOrderIsAskedForWithTheAppliedTablesAndVoidWithTheNextPlan) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  devices_.applied().Lft(NodeIndex(0)).Confirm(0, {});
  planner_.AskOrder(devices_);
  EXPECT_TRUE(planner_.AwaitsOrder());
  const auto& order = std::get<OrderTables>(asked_.back().what);
  EXPECT_EQ(order.routes, planner_.routes());
  EXPECT_EQ(order.applied->rows.size(), 1u);
  EXPECT_EQ(order.before, nullptr);
  Ask();
  EXPECT_FALSE(planner_.AwaitsOrder());
  planner_.Cancel();
  EXPECT_FALSE(planner_.AwaitsPlan());
}

TEST_F(PlannerTest, TablesGoAlongExceptWhereAnUrgentPlanFindsTheOldOneInPlace) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  EXPECT_NE(Ask(ReplanGoal::kUrgent).applied, nullptr) << "nobody knows what is in the tables";
  std::array<uint8_t, 64> row;
  row.fill(7);
  devices_.applied().Lft(NodeIndex(0)).Confirm(0, row);
  EXPECT_EQ(Ask(ReplanGoal::kUrgent).applied, nullptr);
  EXPECT_NE(Ask(ReplanGoal::kIdealIfHitless).applied, nullptr);
}

TEST_F(PlannerTest, AnIncrementalRepairIsFollowedByTheIdealPlanAfterAWhile) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kUrgent);
  Give(Routes(8), ReplanGoal::kWhole, kBegin);
  EXPECT_TRUE(planner_.is_provisional());
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 10s);
  Ask(ReplanGoal::kUrgent, kBegin + 4s);
  Give(Routes(9), ReplanGoal::kWhole, kBegin + 4s);
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 10s) << "another fault does not put it off";
  EXPECT_EQ(Ask(ReplanGoal::kUrgent, kBegin + 10s).goal, ReplanGoal::kIdealIfHitless);
  Give(Routes(10), ReplanGoal::kIdeal, kBegin + 11s);
  EXPECT_FALSE(planner_.is_provisional());
}

TEST_F(PlannerTest, TheIdealPlanWaitsWhileNodesKeepComingForFiveMinutesAtMost) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kUrgent);
  Give(Routes(8), ReplanGoal::kWhole);
  planner_.NoteArrivals(kBegin + 5s);
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 15s);
  for (int i = 1; i < 1000; ++i) planner_.NoteArrivals(kBegin + i * 1s);
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 10s + 5min);
}

// Its table cannot be written, and no plan that it waits for may take the place of light sweeps.
TEST_F(PlannerTest, TheIdealPlanWaitsForASwitchThatDoesNotRespond) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  const auto responding = snapshot_;
  fabric_.builder.SetUnresponsive(fabric_.switches[0], true);
  snapshot_ = fabric_.builder.Build();
  EXPECT_EQ(Ask(ReplanGoal::kIdeal).goal, ReplanGoal::kWhole);
  Give(Routes(8), ReplanGoal::kWhole);
  EXPECT_EQ(planner_.NextStepTime(), kNever);
  EXPECT_EQ(Ask(ReplanGoal::kUrgent, kBegin + 60s).goal, ReplanGoal::kUrgent);
  Give(Routes(9), ReplanGoal::kWhole, kBegin + 60s);
  snapshot_ = responding;
  EXPECT_EQ(Ask(ReplanGoal::kUrgent, kBegin + 70s).goal, ReplanGoal::kUrgent)
      << "its links may have come up just now";
  Give(Routes(9), ReplanGoal::kWhole, kBegin + 70s);
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 80s);
  EXPECT_EQ(Ask(ReplanGoal::kUrgent, kBegin + 80s).goal, ReplanGoal::kIdealIfHitless);
}

TEST_F(PlannerTest, APlanThatLeavesPairsPendingIsFollowedAtOnce) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kUrgent);
  Give(Routes(8), ReplanGoal::kUrgent);
  EXPECT_TRUE(planner_.is_urgent());
  EXPECT_EQ(planner_.NextStepTime(), kBegin);
  Ask(ReplanGoal::kWhole);
  Give(Routes(9), ReplanGoal::kWhole);
  EXPECT_FALSE(planner_.is_urgent());
}

TEST_F(PlannerTest, NoStepIsDueWhileItIsNotAllowed) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kUrgent);
  Give(Routes(8), ReplanGoal::kWhole);
  planner_.AllowReoptimisation(false);
  EXPECT_EQ(planner_.NextStepTime(), kNever);
  planner_.AllowReoptimisation(true);
  EXPECT_EQ(planner_.NextStepTime(), kBegin + 10s);
}

TEST_F(PlannerTest, OtherOptionsHaveTheIdealPlanMadeAtAnyPrice) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  planner_.ReoptimiseNow(kBegin);
  EXPECT_EQ(planner_.NextStepTime(), kBegin);
  EXPECT_EQ(Ask(ReplanGoal::kUrgent).goal, ReplanGoal::kIdeal);
  Give(Routes(8), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kUrgent);
  Give(Routes(9), ReplanGoal::kWhole);
  EXPECT_EQ(Ask(ReplanGoal::kUrgent, kBegin + 10s).goal, ReplanGoal::kIdealIfHitless)
      << "only once";
}

TEST_F(PlannerTest, AnIdealPlanThatIsPutOffLeavesTheRepairInForce) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  Ask(ReplanGoal::kIdealIfHitless);
  Log();
  Give(Routes(8), ReplanGoal::kWhole, kBegin, "no hitless order");
  EXPECT_FALSE(planner_.is_provisional());
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("no hitless order")));
}

// The tables of a predecessor: they are asked about once, when the first plan is there.
class AdoptionTest : public PlannerTest {
 protected:
  AdoptionTest() { planner_.OnBecameMaster(/*of_predecessor=*/true); }
  ComputePlan AskForAdoption() {
    ComputePlan question = planner_.AdoptionQuestion({}, devices_);
    questions_.Ask(question);
    return question;
  }
};

TEST_F(AdoptionTest, TheFirstPlanGoesAlongWithTheTablesAsTheIdealOne) {
  EXPECT_FALSE(planner_.MayAdopt()) << "there is no plan to compare with";
  EXPECT_EQ(Ask().ideal, nullptr);
  const auto ideal = Routes(7);
  Give(ideal, ReplanGoal::kIdeal);
  ASSERT_TRUE(planner_.MayAdopt());
  devices_.applied().Lft(NodeIndex(0)).Confirm(0, {});
  const ComputePlan question = AskForAdoption();
  EXPECT_EQ(question.snapshot, snapshot_);
  EXPECT_EQ(question.lids, lids_);
  EXPECT_EQ(question.goal, ReplanGoal::kIdealIfHitless);
  EXPECT_EQ(question.before, nullptr);
  EXPECT_EQ(question.ideal, ideal);
  ASSERT_NE(question.applied, nullptr);
  EXPECT_EQ(question.applied->rows.size(), 1u);
  const auto held = Routes(8);
  Give(held, ReplanGoal::kWhole, kBegin, "it is not hitless");
  EXPECT_EQ(planner_.routes(), held);
  EXPECT_FALSE(planner_.MayAdopt());
  EXPECT_EQ(Ask(ReplanGoal::kUrgent).before, held) << "from now on like any plan";
}

TEST_F(AdoptionTest, AChangeBeforeTheAnswerBeginsAgainWithoutAPlanBefore) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  AskForAdoption();
  EXPECT_EQ(Ask(ReplanGoal::kUrgent).before, nullptr);
  Give(Routes(8), ReplanGoal::kIdeal);
  EXPECT_TRUE(planner_.MayAdopt());
}

TEST_F(AdoptionTest, TablesThatAreThoseOfThePlanNeedNoQuestion) {
  Ask();
  const auto first = Routes(7);
  Give(first, ReplanGoal::kIdeal);
  planner_.EndAdoption();
  EXPECT_FALSE(planner_.MayAdopt());
  EXPECT_EQ(Ask(ReplanGoal::kUrgent).before, first);
}

TEST_F(AdoptionTest, NothingMovesWhereASwitchDoesNotRespond) {
  fabric_.builder.SetUnresponsive(fabric_.switches[0], true);
  snapshot_ = fabric_.builder.Build();
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  EXPECT_EQ(AskForAdoption().goal, ReplanGoal::kWhole);
  Give(Routes(8), ReplanGoal::kWhole);
  EXPECT_TRUE(planner_.is_provisional()) << "the ideal plan is looked at again";
}

TEST_F(AdoptionTest, NoTablesAreAdoptedWhereOnlyTheIdealPlanWillDo) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  options_.sweep.settle_after = {};
  EXPECT_FALSE(planner_.MayAdopt());
  options_.sweep.settle_after = 10s;
  EXPECT_TRUE(planner_.MayAdopt());
}

TEST_F(AdoptionTest, NoTablesAreAdoptedOnceTheOptionsHaveChanged) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  planner_.ReoptimiseNow(kBegin);
  EXPECT_EQ(planner_.plan(), nullptr) << "it was never desired";
  Ask();
  Give(Routes(8), ReplanGoal::kIdeal);
  EXPECT_FALSE(planner_.MayAdopt());
}

TEST_F(AdoptionTest, TheOrderFollowsTheAdoptedPlan) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  AskForAdoption();
  const auto held = Routes(8);
  PlanReady ready{{Routes(9)}};
  ready.result.adopted = held;
  planner_.OnPlan(std::move(ready), *snapshot_, problems_, kBegin);
  planner_.AskOrder(devices_);
  EXPECT_EQ(std::get<OrderTables>(asked_.back().what).before, held->plan);
}

TEST_F(AdoptionTest, AnotherManagersTablesAreNotAdopted) {
  planner_.OnBecameMaster(/*of_predecessor=*/false);
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  EXPECT_FALSE(planner_.MayAdopt());
  planner_.OnBecameMaster(/*of_predecessor=*/true);
  EXPECT_FALSE(planner_.MayAdopt()) << "there is a plan before";
  EXPECT_NE(planner_.plan(), nullptr);
}

TEST_F(PlannerTest, WithoutAPlanTheOldOneStaysAndAProblemStands) {
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal);
  const auto before = planner_.plan();
  Ask();
  Give(nullptr, ReplanGoal::kIdeal);
  EXPECT_FALSE(planner_.has_answer());
  EXPECT_EQ(planner_.plan(), before);
  EXPECT_THAT(Kinds(), ElementsAre(ProblemKind::kNoPlan));
  Ask();
  Give(Routes(8), ReplanGoal::kIdeal);
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(PlannerTest, APlanOfSeveralVlsIsAStandingProblem) {
  Ask();
  Give(Routes(7, 2), ReplanGoal::kIdeal);
  EXPECT_THAT(Kinds(), ElementsAre(ProblemKind::kLanesInUse));
  Ask();
  Give(Routes(7, 1), ReplanGoal::kIdeal);
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(PlannerTest, TheChoiceOfAnEngineIsLoggedOnceAndItsLossIsAWarning) {
  const routing::ChainStep rail{.engine = "rail", .chosen = true, .reason = ""};
  const routing::ChainStep not_rail{.engine = "rail", .chosen = false, .reason = "no rails"};
  const routing::ChainStep up_down{.engine = "up_down", .chosen = true, .reason = ""};
  Ask();
  Give(Routes(7), ReplanGoal::kIdeal, kBegin, "", {rail});
  EXPECT_THAT(Log(), ElementsAre("routing by rail"));
  Ask();
  Give(Routes(8), ReplanGoal::kIdeal, kBegin, "", {rail});
  EXPECT_THAT(Log(), IsEmpty());
  Ask();
  Give(Routes(9), ReplanGoal::kIdeal, kBegin, "", {not_rail, up_down});
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_EQ(log_[0].level, LogLevel::kWarning);
  EXPECT_EQ(log_[0].text, "routing engine rail was not taken: no rails");
  EXPECT_EQ(log_[1].text, "routing by up_down");
  EXPECT_EQ(planner_.chain().size(), 2u);
}

}  // namespace
}  // namespace fabricd::sweep
