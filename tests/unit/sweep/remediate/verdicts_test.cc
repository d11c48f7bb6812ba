// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/verdicts.h"

#include "common/status.h"
#include "tests/unit/sweep/remediate/remediate_fixture.h"

namespace fabricd::sweep {
namespace {

using policy::ConditionMode;
using policy::HoldKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class VerdictsTest : public RemediateTest {
 protected:
  VerdictsTest() : RemediateTest(40) {
    options_.policy.holds.budget = 100;
    options_.policy.conditions.breaker_percent = 100;
    verdicts_.Begin(now_);
  }
  Verdicts::Fault Fault(PortRef port, ConditionMode mode = ConditionMode::kEnforce,
                        PortRef other = {}) const {
    Verdicts::Fault fault;
    fault.type = "NoisyTraps";
    fault.port = port;
    fault.other = other;
    fault.mode = mode;
    fault.message = "70 traps in 90 s";
    fault.evidence = {{"traps", "70"}};
    fault.since = now_;
    return fault;
  }
  void Raise(const Verdicts::Fault& fault) {
    verdicts_.Raise(fault, now_);
    AnswerQuestions();
  }
  void Clear(PortRef port) {
    verdicts_.Clear("NoisyTraps", port, now_);
    AnswerQuestions();
  }
  // Stores are written, and their results handed back.
  void AnswerQuestions() {
    AnswerAll();
    for (const HoldKeeper::Answer& answer : keeper_.TakeAnswers()) verdicts_.OnAnswer(answer, now_);
    AnswerAll();
  }
  size_t HoldCount() const { return keeper_.book().standing().size(); }

  GoneNodes gone_;
  Verdicts verdicts_{known_, gone_, keeper_, effects_};
};

TEST_F(VerdictsTest, AConditionIsShownWithItsEvidenceAndARecommendation) {
  Raise(Fault(fabric_.Host(1), ConditionMode::kRecommend));
  const auto list = verdicts_.List();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].type, "NoisyTraps");
  EXPECT_EQ(list[0].node, Guid(0x101));
  EXPECT_EQ(list[0].message, "70 traps in 90 s");
  EXPECT_EQ(list[0].recommended, HoldKind::kCordon);
  EXPECT_EQ(list[0].hold, 0u);
  EXPECT_EQ(HoldCount(), 0u);
  ASSERT_THAT(effects_.events, SizeIs(1));
  EXPECT_EQ(effects_.events[0].type, "ConditionRaised");
  EXPECT_THAT(effects_.events[0].facts, testing::Contains(testing::Pair("traps", "70")));
  Clear(fabric_.Host(1));
  EXPECT_THAT(verdicts_.List(), IsEmpty());
  EXPECT_EQ(effects_.events.back().type, "ConditionCleared");
}

TEST_F(VerdictsTest, ALinkBetweenSwitchesIsToBeDrainedAndOneToAHostIsTheHosts) {
  Raise(Fault(Trunk(), ConditionMode::kRecommend, {fabric_.switches[1], PortNum(36)}));
  EXPECT_EQ(verdicts_.List().at(0).recommended, HoldKind::kDrain);
  EXPECT_THAT(verdicts_.List().at(0).subject, HasSubstr(" ↔ "));
  Clear(Trunk());
  const PortRef leaf{fabric_.switches[0], PortNum(2)};  // Faces host 2.
  Raise(Fault(leaf, ConditionMode::kEnforce, fabric_.Host(2)));
  EXPECT_EQ(verdicts_.List().at(0).recommended, HoldKind::kCordon);
  const policy::HoldTarget& target = keeper_.book().standing().begin()->second.target;
  ASSERT_THAT(target.ports, SizeIs(1));
  EXPECT_EQ(target.ports[0].node, Guid(0x102));
}

TEST_F(VerdictsTest, AnEnforcedConditionMakesItsHoldAndTakesItBack) {
  Raise(Fault(fabric_.Host(1)));
  ASSERT_EQ(HoldCount(), 1u);
  const policy::Hold& hold = keeper_.book().standing().begin()->second;
  EXPECT_EQ(hold.owner, policy::kOwnHoldOwner);
  EXPECT_EQ(hold.reason, "NoisyTraps: 70 traps in 90 s");
  EXPECT_EQ(verdicts_.List().at(0).hold, hold.id);
  Clear(fabric_.Host(1));
  EXPECT_EQ(HoldCount(), 0u);
}

TEST_F(VerdictsTest, AHoldThatIsStillBeingMadeWhenItsConditionClearsIsTakenBackThen) {
  verdicts_.Raise(Fault(fabric_.Host(1)), now_);
  verdicts_.Clear("NoisyTraps", fabric_.Host(1), now_);
  EXPECT_THAT(verdicts_.List(), IsEmpty());
  AnswerQuestions();
  EXPECT_EQ(HoldCount(), 0u);
}

TEST_F(VerdictsTest, AHoldThatCannotBeMadeIsNamedAsHeldBack) {
  verdicts_.Raise(Fault(fabric_.Host(1)), now_);
  Give(Persisted{Unavailable("disk full")});
  for (const HoldKeeper::Answer& answer : keeper_.TakeAnswers()) verdicts_.OnAnswer(answer, now_);
  EXPECT_EQ(verdicts_.List().at(0).held_back, "disk full");
  verdicts_.OnAnswer({.reference = 99, .status = absl::OkStatus()}, now_);  // Of nobody.
}

TEST_F(VerdictsTest, SeveralRulesOfOneTypeAreOneConditionUntilAllHaveCleared) {
  Raise(Fault(fabric_.Host(1), ConditionMode::kRecommend));
  Raise(Fault(fabric_.Host(1), ConditionMode::kEnforce));
  EXPECT_THAT(verdicts_.List(), SizeIs(1));
  EXPECT_EQ(HoldCount(), 1u) << "the stricter one acts";
  Raise(Fault(fabric_.Host(1), ConditionMode::kRecommend));
  Clear(fabric_.Host(1));
  Clear(fabric_.Host(1));
  EXPECT_THAT(verdicts_.List(), SizeIs(1));
  Clear(fabric_.Host(1));
  EXPECT_THAT(verdicts_.List(), IsEmpty());
  Clear(fabric_.Host(1));  // Nothing is raised.
}

TEST_F(VerdictsTest, NewerNumbersAreShownOfARaisedConditionOnly) {
  Raise(Fault(fabric_.Host(1), ConditionMode::kRecommend));
  verdicts_.Update("NoisyTraps", fabric_.Host(1), "90 traps", {{"traps", "90"}});
  verdicts_.Update("NoisyTraps", fabric_.Host(2), "90 traps", {});
  ASSERT_THAT(verdicts_.List(), SizeIs(1));
  EXPECT_EQ(verdicts_.List()[0].message, "90 traps");
}

TEST_F(VerdictsTest, AnExcludedNodeIsNotHeld) {
  options_.policy.conditions.exclude = {{Guid(0x101), std::nullopt}};
  Raise(Fault(fabric_.Host(1)));
  EXPECT_EQ(HoldCount(), 0u);
  EXPECT_EQ(verdicts_.List().at(0).held_back, "the node is excluded from enforcement");
}

TEST_F(VerdictsTest, ABudgetLimitsOwnHolds) {
  options_.policy.holds.budget = 2;
  options_.policy.holds.budget_per_mille = 0;
  for (size_t host : {1, 2, 3}) Raise(Fault(fabric_.Host(host)));
  EXPECT_EQ(HoldCount(), 2u);
  EXPECT_EQ(verdicts_.List().at(2).held_back, "the budget of 2 is used up");
}

TEST_F(VerdictsTest, TheCircuitBreakerEndsEnforcementUntilItIsReset) {
  options_.policy.conditions.breaker_percent = 5;  // Of 40 hosts: two.
  for (size_t host : {1, 2, 3}) Raise(Fault(fabric_.Host(host)));
  EXPECT_EQ(HoldCount(), 2u);
  EXPECT_THAT(verdicts_.List().at(2).held_back, HasSubstr("the circuit breaker has tripped"));
  EXPECT_THAT(effects_.log.back().text, HasSubstr("3 of 40 hosts would be held"));
  now_ += std::chrono::hours(5);
  Raise(Fault(fabric_.Host(4)));
  EXPECT_EQ(HoldCount(), 2u);
  verdicts_.ResetBreaker();
  Raise(Fault(fabric_.Host(5)));
  EXPECT_EQ(HoldCount(), 3u);
}

TEST_F(VerdictsTest, AfterTwoReleasesInAWeekAHoldStands) {
  for (int i = 0; i < 2; ++i) {
    Raise(Fault(fabric_.Host(1)));
    Clear(fabric_.Host(1));
    EXPECT_EQ(HoldCount(), 0u);
  }
  Raise(Fault(fabric_.Host(1)));
  Clear(fabric_.Host(1));
  EXPECT_EQ(HoldCount(), 1u);
  EXPECT_EQ(effects_.events.back().type, "HoldKept");
}

TEST_F(VerdictsTest, TheBreakerAndReleasesOutliveARestart) {
  options_.policy.conditions.breaker_percent = 5;  // Of 40 hosts: two.
  Raise(Fault(fabric_.Host(1)));
  Clear(fabric_.Host(1));
  for (size_t host : {1, 2, 3}) Raise(Fault(fabric_.Host(host)));
  policy::ActionRecord record;
  verdicts_.AddTo(record);
  EXPECT_TRUE(record.breaker_tripped);
  ASSERT_THAT(record.releases, SizeIs(1));
  EXPECT_EQ(record.releases[0].port.node, Guid(0x101));

  Verdicts later(known_, gone_, keeper_, effects_);
  later.Restore(record, keeper_.Wall(now_), now_);
  later.Begin(now_);
  // Holds that stand are claimed by their conditions: the breaker is about new ones.
  for (size_t host : {1, 2, 4}) {
    later.Raise(Fault(fabric_.Host(host)), now_);
    AnswerAll();
    for (const HoldKeeper::Answer& answer : keeper_.TakeAnswers()) later.OnAnswer(answer, now_);
  }
  EXPECT_NE(later.List().at(0).hold, 0u);
  EXPECT_NE(later.List().at(1).hold, 0u);
  EXPECT_THAT(later.List().at(2).held_back, HasSubstr("the circuit breaker has tripped"));
  policy::ActionRecord again;
  later.AddTo(again);
  EXPECT_EQ(again, record);
}

TEST_F(VerdictsTest, HoldsOfAnEarlierRunAreClaimedWhereTheBudgetIsUsedUp) {
  options_.policy.holds.budget = 1;
  options_.policy.holds.budget_per_mille = 0;
  Raise(Fault(fabric_.Host(1)));
  ASSERT_EQ(HoldCount(), 1u);
  Verdicts later(known_, gone_, keeper_, effects_);
  later.Begin(now_);
  later.Raise(Fault(fabric_.Host(1)), now_);
  AnswerAll();
  for (const HoldKeeper::Answer& answer : keeper_.TakeAnswers()) later.OnAnswer(answer, now_);
  EXPECT_NE(later.List().at(0).hold, 0u);
}

TEST_F(VerdictsTest, OwnHoldsOfAnEarlierRunAreTakenBackUnlessTheirConditionComesAgain) {
  policy::StoredHolds stored;
  for (uint64_t i : {1, 2}) {
    stored.holds.push_back(Wanted(HoldKind::kCordon, fabric_.Host(i), policy::kOwnHoldOwner));
    stored.holds.back().id = i;
    stored.holds.back().mode = policy::DrainMode::kSoft;
  }
  stored.highest_id = 2;
  Effects effects;
  OpenQuestions questions(effects.questions);
  HoldKeeper keeper(known_, effects, questions, stored);
  Verdicts verdicts(known_, gone_, keeper, effects);
  keeper.Begin(kEpoch, now_);
  const auto answer_all = [&] {
    while (!effects.questions.empty()) {
      const QuestionId id = std::exchange(effects.questions, {}).front().id;
      ASSERT_TRUE(questions.Close({id, Persisted{}}));
      keeper.OnAnswer(Persisted{}, now_);
    }
    for (const auto& answer : keeper.TakeAnswers()) verdicts.OnAnswer(answer, now_);
  };
  answer_all();
  EXPECT_EQ(verdicts.NextDeadline(), kNever);
  verdicts.Begin(now_);
  const Instant end = verdicts.NextDeadline();
  EXPECT_LT(end, kNever);
  verdicts.Raise(Fault(fabric_.Host(1)), now_);
  answer_all();
  verdicts.OnTimer(end - 1s);
  EXPECT_THAT(keeper.book().standing(), SizeIs(2));
  now_ = end;
  verdicts.OnTimer(now_);
  answer_all();
  ASSERT_THAT(keeper.book().standing(), SizeIs(1));
  EXPECT_EQ(keeper.book().standing().begin()->first, 1u);
  EXPECT_EQ(verdicts.NextDeadline(), kNever);
}

}  // namespace
}  // namespace fabricd::sweep
