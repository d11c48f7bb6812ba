// SPDX-License-Identifier: Apache-2.0
// Whole lives of holds are in remediation_test.cc.
#include "sweep/remediate/hold_keeper.h"

#include "common/status.h"
#include "tests/unit/sweep/remediate/remediate_fixture.h"

namespace fabricd::sweep {
namespace {

using policy::HoldKind;
using policy::HoldState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HoldKeeperTest : public RemediateTest {
 protected:
  void Create(HoldKind kind, PortRef port, uint64_t command = 1) {
    keeper_.Create({.command = command, .hold = Wanted(kind, port)}, now_);
  }
  uint64_t Make(HoldKind kind, PortRef port) {
    Create(kind, port);
    AnswerAll();
    return effects_.finished.back().hold->hold.id;
  }
};

TEST_F(HoldKeeperTest, AHoldIsEvaluatedStoredAndThenInTheBook) {
  Create(HoldKind::kIsolate, fabric_.Host(1), 7);
  ASSERT_TRUE(AsksForConsequences());
  GiveConsequences();
  ASSERT_NE(Asked<PersistHolds>(), nullptr);
  EXPECT_THAT(Asked<PersistHolds>()->put, SizeIs(1));
  EXPECT_THAT(keeper_.book().standing(), IsEmpty());
  Give(Persisted{});
  EXPECT_THAT(keeper_.book().standing(), SizeIs(1));
  EXPECT_EQ(effects_.finished.at(0).command, 7u);
  EXPECT_EQ(keeper_.TakeBookChange(), "hold 1");
  EXPECT_EQ(keeper_.TakeBookChange(), "");
  EXPECT_TRUE(keeper_.TakeShownChange());
  EXPECT_FALSE(keeper_.TakeShownChange());
  EXPECT_THAT(EventTypes(), ElementsAre("HoldCreated"));
}

TEST_F(HoldKeeperTest, ACordonChangesNothingAndIsNotEvaluated) {
  Create(HoldKind::kCordon, fabric_.Host(1));
  EXPECT_NE(Asked<PersistHolds>(), nullptr);
}

TEST_F(HoldKeeperTest, AGuardThatRefusesLeavesNothingBehind) {
  Create(HoldKind::kIsolate, fabric_.Host(1));
  routing::Consequences harm;
  harm.sm_cut_off = true;
  GiveConsequences(harm);
  EXPECT_EQ(effects_.finished.at(0).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(effects_.finished[0].hold, nullptr) << "with the consequences";
  EXPECT_THAT(effects_.questions, IsEmpty());
}

TEST_F(HoldKeeperTest, OwnHoldsAreAnsweredByReference) {
  keeper_.CreateOwn(41, Wanted(HoldKind::kCordon, fabric_.Host(1), "fabricd"), now_);
  AnswerAll();
  const auto answers = keeper_.TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].reference, 41u);
  EXPECT_TRUE(answers[0].status.ok());
  EXPECT_EQ(answers[0].hold, 1u);
  EXPECT_THAT(effects_.finished, IsEmpty());
  keeper_.DeleteOwn(1, now_);
  AnswerAll();
  EXPECT_THAT(keeper_.book().standing(), IsEmpty());
  EXPECT_THAT(keeper_.TakeAnswers(), IsEmpty());
}

TEST_F(HoldKeeperTest, TheQueueIsBoundedForOwnHoldsToo) {
  Create(HoldKind::kCordon, fabric_.Host(1));
  for (size_t i = 0; i < HoldKeeper::kMaxWaiting; ++i)
    Create(HoldKind::kCordon, fabric_.Host(2), i + 2);
  EXPECT_THAT(effects_.finished, IsEmpty());
  keeper_.CreateOwn(5, Wanted(HoldKind::kCordon, fabric_.Host(3)), now_);
  const auto answers = keeper_.TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(HoldKeeperTest, AFailedWriteIsReportedAndAnExpiryTriedAgainLater) {
  keeper_.Create({.command = 1, .hold = Wanted(HoldKind::kCordon, fabric_.Host(1)), .ttl = 60s},
                 now_);
  AnswerAll();
  EXPECT_EQ(keeper_.NextDeadline(), now_ + 60s);
  now_ += 60s;
  keeper_.OnTimer(now_);
  ASSERT_NE(Asked<PersistHolds>(), nullptr);
  EXPECT_EQ(keeper_.NextDeadline(), kNever) << "an answer comes first";
  Give(Persisted{Unavailable("disk full")});
  EXPECT_THAT(effects_.log.back().text, HasSubstr("disk full"));
  EXPECT_THAT(keeper_.book().standing(), SizeIs(1));
  const Instant again = keeper_.NextDeadline();
  EXPECT_GT(again, now_);
  now_ = again;
  keeper_.OnTimer(now_);
  AnswerAll();
  EXPECT_THAT(keeper_.book().standing(), IsEmpty());
  EXPECT_THAT(EventTypes(), ElementsAre("HoldCreated", "HoldInEffect", "HoldExpired"));
}

TEST_F(HoldKeeperTest, AnAcknowledgementIsStoredOnceAndReported) {
  const uint64_t id = Make(HoldKind::kCordon, fabric_.Host(1));
  effects_ = {};
  keeper_.Acknowledge(AckHold{2, id, "bob"}, now_);
  EXPECT_EQ(effects_.finished.back().status.code(), absl::StatusCode::kPermissionDenied);
  keeper_.Acknowledge(AckHold{3, id, "alice"}, now_);
  AnswerAll();
  EXPECT_TRUE(effects_.finished.back().status.ok());
  EXPECT_FALSE(effects_.finished.back().hold->existing);
  EXPECT_THAT(EventTypes(), ElementsAre("HoldAcknowledged"));
  keeper_.Acknowledge(AckHold{4, id, "alice"}, now_);
  EXPECT_TRUE(effects_.finished.back().hold->existing);
}

TEST_F(HoldKeeperTest, ADisableHoldIsInEffectWhenItsPortsAreDownAndForgottenWhenTheyAreUp) {
  const PortRef port = fabric_.Host(1);
  const PortRef facing = fabric_.builder.node(port.node)->port(port.port).peer;
  const uint64_t id = Make(HoldKind::kDisable, port);
  fabric::Intent intent;
  intent.disabled = {facing};
  keeper_.OnIntent(intent, {}, 3, /*renewed=*/false, now_);
  keeper_.OnApplied(2, now_);
  EXPECT_EQ(keeper_.List().at(0).state, HoldState::kPending) << "that was an earlier one";
  keeper_.OnApplied(3, now_);
  EXPECT_EQ(keeper_.List().at(0).state, HoldState::kPending) << "its port is up";
  EXPECT_THAT(keeper_.List().at(0).note, HasSubstr("not all written yet"));
  SetState(facing, wire::PortPhysicalState::kDisabled);
  keeper_.OnTimer(now_);
  EXPECT_EQ(keeper_.List().at(0).state, HoldState::kInEffect);
  keeper_.Delete({.command = 2, .request = {.id = id, .owner = "alice"}}, now_);
  AnswerAll();
  EXPECT_THAT(keeper_.book().lifted(), SizeIs(1)) << "its port is down still";
  keeper_.OnIntent({}, {}, 4, false, now_);
  keeper_.OnApplied(4, now_);
  EXPECT_THAT(effects_.questions, IsEmpty());
  SetState(facing);
  keeper_.OnTimer(now_);
  AnswerAll();
  EXPECT_THAT(keeper_.book().lifted(), IsEmpty());
}

TEST_F(HoldKeeperTest, APendingHoldNeedsANewerIntentWhenThatMeansOtherNodes) {
  Make(HoldKind::kIsolate, fabric_.Host(1));
  keeper_.OnIntent({}, {}, 3, false, now_);
  keeper_.OnIntent({}, {}, 4, /*renewed=*/true, now_);
  keeper_.OnApplied(3, now_);
  EXPECT_EQ(keeper_.List().at(0).state, HoldState::kPending);
  keeper_.OnApplied(4, now_);
  EXPECT_EQ(keeper_.List().at(0).state, HoldState::kInEffect);
}

TEST_F(HoldKeeperTest, StoredHoldsAreAChangeOfTheBook) {
  policy::StoredHolds stored;
  stored.holds = {Wanted(HoldKind::kCordon, fabric_.Host(1))};
  stored.holds[0].id = 12;
  stored.highest_id = 12;
  Effects effects;
  OpenQuestions questions(effects.questions);
  HoldKeeper keeper(known_, effects, questions, stored);
  EXPECT_EQ(keeper.TakeBookChange(), "holds of before");
  EXPECT_THAT(keeper.List(), SizeIs(1));
}

TEST_F(HoldKeeperTest, WhenTheWallClockIsSetHoldsKeepTheTimeThatTheyHaveLeft) {
  keeper_.Create({.command = 1, .hold = Wanted(HoldKind::kCordon, fabric_.Host(1)), .ttl = 60s},
                 now_);
  AnswerAll();
  keeper_.OnWallClockSet(kEpoch + 500'000, now_);
  ASSERT_NE(Asked<PersistHolds>(), nullptr);
  AnswerAll();
  EXPECT_EQ(keeper_.NextDeadline(), now_ + 60s);
  EXPECT_EQ(keeper_.Wall(now_), kEpoch + 500'000 + 3'600'000);
  EXPECT_THAT(effects_.log.back().text, HasSubstr("the wall clock was set: 1 holds"));
}

}  // namespace
}  // namespace fabricd::sweep
