// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/assessor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AssessorTest : public ::testing::Test {
 protected:
  AssessorTest() {
    for (uint64_t leaf = 0x200; leaf < 0x204; ++leaf)
      for (uint8_t port = 1; port <= 8; ++port)
        links_.push_back(CleanLink(leaf * 0x100 + port, leaf, port));
  }
  std::vector<Assessment> Assess() { return assessor_.Assess(links_, now_); }
  std::vector<LinkEvidence> links_;
  Assessor assessor_{AssessorOptions()};
  Instant now_{std::chrono::hours(100)};
};

TEST_F(AssessorTest, OnlyRaisedVerdictsKeepTheirRows) {
  MakeNoisy(links_[5].a);
  const std::vector<Assessment> all = Assess();
  ASSERT_THAT(all, SizeIs(links_.size()));
  EXPECT_EQ(all[5].standing.verdict, Verdict::kNoisyPhy);
  EXPECT_FALSE(all[5].forbids_action);
  EXPECT_THAT(all[5].verdict.rows, SizeIs(27));
  EXPECT_THAT(all[4].verdict.rows, IsEmpty());
  EXPECT_EQ(all[4].standing.stage, Stage::kHealthy);
  EXPECT_EQ(assessor_.book().size(), 1u);
}

TEST_F(AssessorTest, EvidenceThatPersistsBecomesAVerdict) {
  SetAll(links_[5].a, Signal::kSymbolErrors, 20);
  SetAll(links_[5].a, Signal::kEffectiveErrors, 20);
  SetAll(links_[5].b, Signal::kLinkIntegrity, 1);
  for (int i = 0; i < 13; ++i, now_ += minutes(1))
    EXPECT_EQ(Assess()[5].standing.stage, Stage::kSuspect);
  EXPECT_EQ(Assess()[5].standing.stage, Stage::kBad);
}

TEST_F(AssessorTest, ABadSwitchMakesNoBadHostsAndFreezesNoOtherLinks) {
  for (size_t port = 0; port < 8; ++port) MakeNoisy(links_[port].a);
  const std::vector<Assessment> all = Assess();
  for (size_t port = 0; port < 8; ++port) {
    EXPECT_EQ(all[port].standing.stage, Stage::kSuspect);
    EXPECT_TRUE(all[port].forbids_action);
  }
  EXPECT_FALSE(all[20].forbids_action);
}

TEST_F(AssessorTest, AFamilyThatFailsEverywhereIsFrozenEverywhere) {
  for (size_t i = 0; i < 5; ++i) MakeNoisy(links_[i * 7].a);
  links_[1].b.wait.fill(WaitWindow{0.5, 0.1});
  const std::vector<Assessment> all = Assess();
  EXPECT_THAT(assessor_.report().findings, IsEmpty());
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(all[i * 7].standing.stage, Stage::kBad);
    EXPECT_TRUE(all[i * 7].forbids_action);
  }
  EXPECT_EQ(all[1].standing.verdict, Verdict::kSlowReceiver);
  EXPECT_FALSE(all[1].forbids_action) << "no defect of counters looks like this";
}

TEST_F(AssessorTest, AReplacedLinkIsUnknownForItsObservation) {
  MakeNoisy(links_[5].a);
  EXPECT_EQ(Assess()[5].standing.stage, Stage::kBad);
  const Instant replaced = now_;
  for (const int after : {1, 60, 124}) {
    now_ = replaced + minutes(after);
    links_[5].replaced_for = minutes(after);
    EXPECT_EQ(Assess()[5].standing.stage, Stage::kUnknown) << after;
  }
  now_ = replaced + minutes(126);
  links_[5].replaced_for = minutes(126);
  EXPECT_EQ(Assess()[5].standing.stage, Stage::kBad);
}

TEST_F(AssessorTest, AVerdictKeepsItsCulprit) {
  MakeNoisy(links_[5].b);
  EXPECT_EQ(Assess()[5].standing.accusation.culprit, Culprit::kTransmitter);
  links_[5] = CleanLink(links_[5].a.node.value(), 0x200, 6);
  now_ += minutes(1);
  Assessment later = Assess()[5];
  EXPECT_EQ(later.standing.stage, Stage::kBad);
  EXPECT_EQ(later.verdict.attribution.culprit, Culprit::kNone);
  EXPECT_EQ(later.standing.accusation.culprit, Culprit::kTransmitter);
  EXPECT_EQ(later.standing.accusation.end.node, links_[5].a.node);
  MakeNoisy(links_[5].a);
  now_ += minutes(1);
  later = Assess()[5];
  EXPECT_EQ(later.standing.accusation.culprit, Culprit::kCable);
  EXPECT_EQ(later.standing.accusation.end, HeldPort());
  Assessor other{AssessorOptions()};
  other.book().Import(assessor_.book().Export(now_, 1'000'000), now_, 1'000'000);
  EXPECT_EQ(other.book().Find(later.link)->accusation.culprit, Culprit::kCable);
}

TEST_F(AssessorTest, VictimsNameTheRootOfTheirCongestion) {
  links_[3].a.wait.fill(WaitWindow{0.5, 0.1});
  const CongestionTree tree{{links_[9].b.node, links_[9].b.port},
                            CongestionTree::Kind::kSlowReceiver,
                            {{links_[3].a.node, links_[3].a.port}}};
  const auto visit = [&](Assessor::EachLink each) {
    for (const LinkEvidence& link : links_) each(link);
  };
  const std::vector<Assessment> all = assessor_.Assess(visit, now_, std::span(&tree, 1));
  EXPECT_EQ(all[3].verdict.verdict, Verdict::kVictim);
  EXPECT_EQ(all[3].verdict.root.node, links_[9].b.node);
  EXPECT_EQ(all[3].verdict.root.port, links_[9].b.port);
}

TEST_F(AssessorTest, ABlackoutKeepsVerdictsAndForbidsActions) {
  MakeNoisy(links_[0].a);
  Assess();
  for (size_t i = 8; i < 24; ++i) links_[i].b.is_fresh = false;
  const std::vector<Assessment> all = Assess();
  EXPECT_TRUE(assessor_.report().is_blackout);
  EXPECT_EQ(all[0].standing.verdict, Verdict::kNoisyPhy);
  EXPECT_FALSE(all[0].standing.is_known);
  EXPECT_EQ(all[1].standing.stage, Stage::kUnknown);
  EXPECT_TRUE(all[0].forbids_action);
}

TEST_F(AssessorTest, ARestartOfASwitchChangesNothingKnown) {
  MakeNoisy(links_[0].a);
  Assess();
  for (size_t port = 0; port < 8; ++port) {
    links_[port] = CleanLink(0x20000 + port + 1, 0x200, static_cast<uint8_t>(port + 1));
    links_[port].is_with_its_switch = true;
  }
  for (int i = 0; i < 300; ++i, now_ += minutes(1)) {
    const std::vector<Assessment> all = Assess();
    ASSERT_EQ(all[0].standing.stage, Stage::kBad);
    ASSERT_NE(all[1].standing.stage, Stage::kBad);
  }
  EXPECT_THAT(assessor_.report().findings, SizeIs(1));
}

TEST(AssessorOptionsTest, FaultsNameTheirPart) {
  AssessorOptions options;
  EXPECT_THAT(Check(options), IsEmpty());
  options.limits.fatal_ber = 2;
  options.fleet.family_share = 0;
  options.clocks.clean = Duration::zero();
  EXPECT_THAT(Check(options),
              ElementsAre(HasSubstr("limits.fatal_ber"), HasSubstr("fleet.family_share"),
                          HasSubstr("clocks.clean")));
}

}  // namespace
}  // namespace fabricd::policy
