// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/step_down_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;

MastershipOutcome OutcomeFor(uint64_t successor) {
  MastershipOutcome outcome;
  outcome.before = 9;
  outcome.priority = 9;
  outcome.successor.emplace();
  outcome.successor->guid = Guid(successor);
  return outcome;
}

TEST(StepDownBook, OneRequestIsCarriedOutAndOthersJoinIt) {
  StepDownBook book;
  EXPECT_FALSE(book.active());
  book.Begin(1, "req", OutcomeFor(7));
  book.Join(2);
  EXPECT_TRUE(book.active());
  const auto ended = book.TakeDone(std::nullopt, 4);
  EXPECT_THAT(ended.commands, ElementsAre(1u, 2u));
  EXPECT_EQ(ended.outcome.priority, 4);
  EXPECT_EQ(ended.outcome.successor->guid, Guid(7));
  EXPECT_FALSE(book.active());
}

TEST(StepDownBook, IsOverWithItsSweepOrWhenThisSmIsNotMasterAnyMore) {
  StepDownBook book;
  book.OnSweepStart();
  EXPECT_FALSE(book.IsOver(/*is_master=*/false)) << "there is none";
  book.Begin(1, "", OutcomeFor(7));
  EXPECT_FALSE(book.IsOver(true)) << "its sweep has not begun";
  EXPECT_TRUE(book.IsOver(false));
  book.OnSweepStart();
  EXPECT_TRUE(book.IsOver(true));
}

TEST(StepDownBook, ARepeatedRequestFindsTheOutcomeOfTheLast) {
  StepDownBook book;
  book.Begin(1, "req", OutcomeFor(7));
  EXPECT_EQ(book.FindFinished("req"), std::nullopt) << "it has not ended";
  RemoteSm other;
  other.guid = Guid(8);
  book.TakeDone(other, 4);
  const auto found = book.FindFinished("req");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->successor->guid, Guid(8)) << "who has taken over";
  EXPECT_EQ(book.FindFinished("another"), std::nullopt);
  EXPECT_EQ(book.FindFinished(""), std::nullopt);
}

TEST(StepDownBook, AFailureIsNotRemembered) {
  StepDownBook book;
  book.Begin(1, "req", OutcomeFor(7));
  EXPECT_THAT(book.TakeFailed().commands, ElementsAre(1u));
  EXPECT_FALSE(book.active());
  EXPECT_EQ(book.FindFinished("req"), std::nullopt);
}

TEST(StepDownBook, KnowsWhetherAnOperatorHasGivenTheSubnetAway) {
  StepDownBook book;
  book.OnRisen(5);
  EXPECT_FALSE(book.HasGivenAway(5)) << "another SM has come";
  EXPECT_TRUE(book.HasGivenAway(4));
  book.OnPriorityAsMaster(9);
  book.OnPriorityAsMaster(7);
  EXPECT_TRUE(book.HasGivenAway(7));
  EXPECT_FALSE(book.HasGivenAway(9));
  book.OnRisen(7);
  EXPECT_FALSE(book.HasGivenAway(7));
  book.Begin(1, "", {});
  EXPECT_TRUE(book.HasGivenAway(7));
}

}  // namespace
}  // namespace fabricd::sweep
