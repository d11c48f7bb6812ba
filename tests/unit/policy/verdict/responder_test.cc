// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "policy/verdict/verdict_rows.h"

namespace fabricd::policy {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LinkKey LinkNumber(uint64_t number) {
  return {{Guid(0x100 + number), PortNum(1)}, {Guid(0x900), PortNum(static_cast<uint8_t>(number))}};
}

// A fabric of 1,000 host ports whose holds the test makes as the core would.
class ResponderTest : public ::testing::Test {
 protected:
  ResponderTest() { options_.actions.configured = Action::kCordon; }

  Assessment& Link(uint64_t number, Stage stage) {
    Assessment& each = links_.emplace_back();
    each.link = LinkNumber(number);
    each.standing.stage = stage;
    each.standing.verdict = stage == Stage::kHealthy ? Verdict::kHealthy : Verdict::kNoisyPhy;
    each.verdict.verdict = each.standing.verdict;
    each.verdict.confidence = 0.9;
    return each;
  }
  ResponseEffects Pass() {
    responder_.SetOptions(options_);
    const auto facts = [&](size_t) { return facts_; };
    ResponseEffects effects = responder_.Pass({.links = links_,
                                               .facts = facts,
                                               .holds = holds_,
                                               .standing = holds_.size(),
                                               .host_ports = 1000,
                                               .is_blackout = is_blackout_,
                                               .may_act = may_act_,
                                               .now = now_,
                                               .wall = wall_});
    now_ += minutes(1);
    wall_ += 60'000;
    return effects;
  }
  // The core makes what is asked for, and its view shows it.
  void Make(const std::vector<HoldRequest>& requests) {
    for (const HoldRequest& request : requests) {
      StandingHold& hold = holds_[request.link];
      if (hold.id == 0) hold.id = ++last_id_;
      hold.kind = request.kind;
      hold.expires = wall_ + 24 * 3'600'000;
      responder_.OnAnswer(request.link, hold.id, now_);
    }
  }
  LinkResponse Found(uint64_t number) const { return responder_.Find(LinkNumber(number)); }

  ResponderOptions options_;
  Responder responder_{options_};
  std::vector<Assessment> links_;
  absl::flat_hash_map<LinkKey, StandingHold> holds_;
  LinkFacts facts_{.reason = "NOISY_PHY: symbol errors"};
  bool is_blackout_ = false, may_act_ = true;
  uint64_t last_id_ = 0;
  Instant now_{hours(100)};
  WallMs wall_ = 1'764'000'000'000;
};

TEST_F(ResponderTest, ABadHostLinkIsCordonedOnceAndReleasedWhenHealthy) {
  Link(1, Stage::kBad);
  const ResponseEffects first = Pass();
  ASSERT_THAT(first.create, SizeIs(1));
  EXPECT_EQ(first.create[0].kind, HoldKind::kCordon);
  EXPECT_EQ(first.create[0].reason, "NOISY_PHY: symbol errors");
  EXPECT_THAT(Pass().create, IsEmpty()) << "it is being made";
  Make(first.create);
  EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_EQ(Found(1).hold, 1u);
  links_[0].standing.stage = Stage::kRecovering;
  EXPECT_THAT(Pass().remove, IsEmpty());
  links_[0].standing.stage = Stage::kHealthy;
  EXPECT_THAT(Pass().remove, ElementsAre(1));
  EXPECT_THAT(Pass().remove, IsEmpty()) << "it is being taken back";
  holds_.clear();
  Pass();
  EXPECT_EQ(Found(1).hold, 0u);
  EXPECT_FALSE(Found(1).overruled);
}

TEST_F(ResponderTest, ByDefaultNothingFollowsButARecommendation) {
  options_ = ResponderOptions();
  Link(1, Stage::kBad);
  EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_EQ(Found(1).action, Action::kRecommend);
  EXPECT_EQ(Found(1).recommended, HoldKind::kCordon);
  EXPECT_EQ(Found(1).held_back, "");
}

TEST_F(ResponderTest, NothingFollowsWhereThisIsNotTheMaster) {
  may_act_ = false;
  Link(1, Stage::kBad);
  EXPECT_THAT(Pass().create, IsEmpty());
  Link(2, Stage::kHealthy);
  holds_[LinkNumber(2)] = {7, HoldKind::kCordon, {}};
  EXPECT_THAT(Pass().remove, IsEmpty());
}

TEST_F(ResponderTest, TheBudgetCountsActiveAndPendingHoldsAndPrefersConfidence) {
  options_.actions.breaker_share = 1;
  for (uint64_t i = 0; i < 20; ++i) Link(i, Stage::kBad).verdict.confidence = 0.7 + 0.01 * i;
  const ResponseEffects effects = Pass();
  ASSERT_THAT(effects.create, SizeIs(10));
  EXPECT_EQ(effects.create[0].link, LinkNumber(19));
  EXPECT_EQ(Found(0).held_back, "budget");
  EXPECT_THAT(Pass().create, IsEmpty());
  Make(effects.create);
  EXPECT_THAT(Pass().create, IsEmpty());
}

TEST_F(ResponderTest, TheBreakerOpensAndStaysOpenOverARestart) {
  options_.actions.budget = 100;
  options_.actions.breaker_share = 0.01;
  for (uint64_t i = 0; i < 20; ++i) Link(i, Stage::kBad);
  const ResponseEffects effects = Pass();
  EXPECT_THAT(effects.create, SizeIs(10));
  EXPECT_TRUE(effects.breaker_opened);
  EXPECT_EQ(Found(19).held_back, "breaker");
  const StoredResponses stored = responder_.Export(now_, wall_);
  responder_ = Responder(options_);
  responder_.Import(stored, now_, wall_);
  EXPECT_TRUE(responder_.is_breaker_open());
  EXPECT_THAT(Pass().create, IsEmpty());
  responder_.ResetBreaker();
  EXPECT_THAT(Pass().create, SizeIs(10));
}

TEST_F(ResponderTest, AReleasedHoldIsNotRecreatedWhileTheVerdictStays) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Pass();
  holds_.clear();
  EXPECT_THAT(Pass().create, IsEmpty());
  ASSERT_TRUE(Found(1).overruled);
  EXPECT_THAT(Found(1).overruled->reason, HasSubstr("hold 1 was taken back"));
  EXPECT_EQ(Found(1).held_back, "overruled");
  links_[0].standing.stage = Stage::kHealthy;
  Pass();
  links_[0].standing.stage = Stage::kBad;
  EXPECT_THAT(Pass().create, SizeIs(1)) << "another fault";
}

TEST_F(ResponderTest, AHoldIsRenewedAtHalfItsTimeUnlessTheEvidenceIsStale) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  for (int i = 0; i < 12 * 60 - 2; ++i) ASSERT_THAT(Pass().create, IsEmpty()) << i;
  links_[0].standing.is_known = false;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Pass().create, IsEmpty());
  links_[0].standing.is_known = true;
  const ResponseEffects renewal = Pass();
  ASSERT_THAT(renewal.create, SizeIs(1));
  EXPECT_TRUE(renewal.create[0].is_renewal);
}

TEST_F(ResponderTest, AHoldThatExpiredIsNoOverrule) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Pass();
  wall_ += 25 * 3'600'000;
  holds_.clear();
  EXPECT_THAT(Pass().create, SizeIs(1));
  EXPECT_FALSE(Found(1).overruled);
}

TEST_F(ResponderTest, AnOverruleReleasesTheHoldUntilItEnds) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Pass();
  ASSERT_TRUE(
      responder_.Overrule(LinkNumber(1), {"slurm", "job 7 needs it", wall_, wall_ + 600'000}));
  EXPECT_THAT(Pass().remove, ElementsAre(1));
  holds_.clear();
  EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_EQ(Found(1).overruled->by, "slurm");
  wall_ += 600'000;
  EXPECT_THAT(Pass().create, SizeIs(1));
}

TEST_F(ResponderTest, RemarksNeedABadVerdict) {
  Link(1, Stage::kSuspect);
  Pass();
  EXPECT_FALSE(responder_.Acknowledge(LinkNumber(1), {}));
  EXPECT_FALSE(responder_.Overrule(LinkNumber(2), {}));
}

TEST_F(ResponderTest, ARefusedHoldIsRequestedAgainAfterTenMinutes) {
  Link(1, Stage::kBad);
  EXPECT_THAT(Pass().create, SizeIs(1));
  responder_.OnAnswer(LinkNumber(1), absl::FailedPreconditionError("guard \"connectivity\""), now_);
  EXPECT_THAT(Found(1).held_back, HasSubstr("connectivity"));
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_THAT(Pass().create, SizeIs(1));
}

TEST_F(ResponderTest, CommonCausesAndBlackoutsCreateAndReleaseNoHolds) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Link(2, Stage::kBad).forbids_action = true;
  EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_EQ(Found(2).held_back, "common cause");
  is_blackout_ = true;
  for (Assessment& each : links_) {
    each.standing.is_known = false;
    each.forbids_action = true;
  }
  const ResponseEffects effects = Pass();
  EXPECT_THAT(effects.create, IsEmpty());
  EXPECT_THAT(effects.remove, IsEmpty());
  EXPECT_EQ(Found(1).hold, 1u);
}

TEST_F(ResponderTest, AReplacedCableKeepsItsHoldUntilItIsKnownToBeHealthy) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Pass();
  links_[0].standing.stage = Stage::kUnknown;
  EXPECT_THAT(Pass().remove, IsEmpty());
  links_[0].standing.stage = Stage::kHealthy;
  EXPECT_THAT(Pass().remove, ElementsAre(1));
}

TEST_F(ResponderTest, AHoldOfAnEarlierRunWithoutAVerdictIsReleased) {
  Link(1, Stage::kHealthy);
  holds_[LinkNumber(1)] = {4, HoldKind::kCordon, {}};
  EXPECT_THAT(Pass().remove, ElementsAre(4));
}

TEST_F(ResponderTest, TrunkLinksAreDrainedOnlyUnderIsolate) {
  facts_.is_host_link = false;
  facts_.is_redundant = true;
  Link(1, Stage::kBad);
  EXPECT_THAT(Pass().create, IsEmpty());
  EXPECT_EQ(Found(1).recommended, HoldKind::kDrain);
  options_.actions.configured = Action::kIsolate;
  const ResponseEffects effects = Pass();
  ASSERT_THAT(effects.create, SizeIs(1));
  EXPECT_EQ(effects.create[0].kind, HoldKind::kDrain);
}

TEST_F(ResponderTest, TheStoreKeepsHoldsAndRemarks) {
  Link(1, Stage::kBad);
  Make(Pass().create);
  Pass();
  ASSERT_TRUE(responder_.Acknowledge(LinkNumber(1), {"ops = 100%\n", "seen\tit", wall_, {}}));
  ASSERT_TRUE(responder_.Overrule(LinkNumber(1), {"slurm", "", wall_, wall_ + 5}));
  StoredVerdicts stored;
  stored.responses = responder_.Export(now_, wall_);
  stored.standings = {{.link = LinkNumber(3),
                       .stage = Stage::kRecovering,
                       .verdict = Verdict::kFlapping,
                       .culprit = Culprit::kHost,
                       .culprit_end = LinkNumber(3).b,
                       .raised = 0x80000001,
                       .since = wall_,
                       .releases = {wall_ - 5, 0}}};
  stored.crossings = {{{0x2C9, 4129, 7}, {Guid(5), PortNum(1)}, Row::kLinkDowns, Guid(9), wall_}};
  const StoredRows rows = VerdictRows(stored);
  const auto loaded = LoadVerdicts(rows);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, stored);
  EXPECT_THAT(Difference(rows, VerdictRows(*loaded)), IsEmpty());
  EXPECT_THAT(Difference(rows, {}), SizeIs(rows.size()));
}

TEST(VerdictRows, AFaultyRowIsNamed) {
  for (const StoredRows& rows :
       {StoredRows{{{"verdict", "0x1/1 0x2/x"}, ""}},
        StoredRows{{{"verdict", "0x1/1 0x2/2"}, "stage=9"}},
        StoredRows{{{"verdict_response", "0x1/1 0x2/2"}, "hold=-"}},
        StoredRows{{{"verdict_response", "0x1/1 0x2/2"}, "ack_at=1 ack_by=%z1"}},
        StoredRows{{{"verdict_breaker", "state"}, "open=1 taken=1,x"}},
        StoredRows{{{"verdict_family", "0x1"}, ""}}}) {
    const auto loaded = LoadVerdicts(rows);
    ASSERT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Message(loaded.status()), HasSubstr(rows.begin()->first.key));
  }
  EXPECT_TRUE(LoadVerdicts({{{"service", "x"}, "?"}}).ok());
}

}  // namespace
}  // namespace fabricd::policy
