// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/mastership_claim.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

class MastershipClaimTest : public testing::Test {
 protected:
  std::vector<Question> asked_;
  OpenQuestions questions_{asked_};
  MastershipClaim claim_{questions_};
};

TEST_F(MastershipClaimTest, IsGrantedForOneMastership) {
  claim_.Ask();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ClaimMastership>(asked_[0].what));
  EXPECT_FALSE(claim_.is_granted());
  claim_.OnGranted({absl::OkStatus(), /*continues=*/true});
  EXPECT_TRUE(claim_.is_granted());
  EXPECT_TRUE(claim_.continues());
  claim_.End();
  EXPECT_FALSE(claim_.is_granted());
  EXPECT_FALSE(claim_.continues());
}

TEST_F(MastershipClaimTest, AnAnswerAfterASweepHasStartedIsIgnored) {
  claim_.Ask();
  const QuestionId id = asked_[0].id;
  claim_.Cancel();
  EXPECT_EQ(questions_.Close({id, MastershipClaimed{}}), std::nullopt);
}

TEST_F(MastershipClaimTest, AHandoverIsRememberedUntilItIsClaimedOrOver) {
  claim_.OnGiven();
  EXPECT_TRUE(claim_.TakeGiven());
  EXPECT_FALSE(claim_.TakeGiven());
  claim_.OnGiven();
  claim_.End();
  EXPECT_FALSE(claim_.TakeGiven());
}

}  // namespace
}  // namespace fabricd::sweep
