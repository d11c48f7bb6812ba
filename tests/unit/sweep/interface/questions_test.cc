// SPDX-License-Identifier: Apache-2.0
#include "sweep/interface/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using Kind = OpenQuestions::Kind;
using ::testing::Optional;

class OpenQuestionsTest : public ::testing::Test {
 protected:
  QuestionId last() const { return asked_.back().id; }

  std::vector<Question> asked_;
  OpenQuestions open_{asked_};
};

TEST_F(OpenQuestionsTest, AnAnswerClosesItsQuestion) {
  open_.Ask(PersistLids{});
  EXPECT_TRUE(open_.IsOpen<PersistLids>());
  EXPECT_FALSE(open_.IsOpen<PersistHolds>());
  EXPECT_THAT(open_.Close({last(), Persisted{}}), Optional(OpenQuestions::KindOf<PersistLids>()));
  EXPECT_FALSE(open_.IsOpen<PersistLids>());
}

TEST_F(OpenQuestionsTest, KindsThatShareATypeOfAnswerDifferById) {
  open_.Ask(PersistLids{});
  const QuestionId lids = last();
  open_.Ask(PersistHolds{});
  EXPECT_THAT(open_.Close({last(), Persisted{}}), Optional(OpenQuestions::KindOf<PersistHolds>()));
  EXPECT_THAT(open_.Close({lids, Persisted{}}), Optional(OpenQuestions::KindOf<PersistLids>()));
}

TEST_F(OpenQuestionsTest, ASecondAnswerIsVoid) {
  open_.Ask(ComputePlan{});
  EXPECT_TRUE(open_.Close({last(), PlanReady{}}));
  EXPECT_FALSE(open_.Close({last(), PlanReady{}}));
}

TEST_F(OpenQuestionsTest, AnAnswerToAnUnknownQuestionIsIgnored) {
  EXPECT_FALSE(open_.Close({QuestionId(), PlanReady{}}));
  open_.Ask(ComputePlan{});
  EXPECT_FALSE(open_.Close({QuestionId(last().value() + 1), PlanReady{}}));
  EXPECT_TRUE(open_.IsOpen<ComputePlan>());
}

TEST_F(OpenQuestionsTest, ALateAnswerToASupersededQuestionLeavesTheNewerOpen) {
  open_.Ask(ComputeTrees{});
  const QuestionId first = std::exchange(asked_, {}).front().id;
  open_.Ask(ComputeTrees{});
  EXPECT_NE(last(), first);
  EXPECT_FALSE(open_.Close({first, TreesReady{}}));
  EXPECT_TRUE(open_.IsOpen<ComputeTrees>());
  EXPECT_TRUE(open_.Close({last(), TreesReady{}}));
}

TEST_F(OpenQuestionsTest, ALateAnswerToADroppedQuestionIsVoid) {
  open_.Ask(OrderTables{});
  const QuestionId id = std::exchange(asked_, {}).front().id;
  open_.Drop<OrderTables>();
  EXPECT_FALSE(open_.IsOpen<OrderTables>());
  EXPECT_FALSE(open_.Close({id, TablesOrdered{}}));
  open_.Drop<OrderTables>();  // Nothing is open.
}

TEST_F(OpenQuestionsTest, ANewerQuestionReplacesAPendingOneOfItsKind) {
  open_.Ask(CheckCables{});
  open_.Ask(ComputePlan{});
  open_.Ask(CheckCables{});
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ComputePlan>(asked_[0].what));
  EXPECT_TRUE(std::holds_alternative<CheckCables>(asked_[1].what));
  open_.Drop<ComputePlan>();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(open_.Close({last(), CablesChecked{}}));
}

using OpenQuestionsDeathTest = OpenQuestionsTest;
TEST_F(OpenQuestionsDeathTest, AnAnswerOfAnotherTypeIsAProgrammersError) {
  open_.Ask(EvaluateIntent{});
  EXPECT_DEATH(open_.Close({last(), Persisted{}}), "answer.what.index");
}

}  // namespace
}  // namespace fabricd::sweep
