// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/verdict/cause_search.h"
#include "policy/verdict/family_watch.h"
#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FleetTest : public ::testing::Test {
 protected:
  FleetTest() {
    for (uint64_t leaf = 0x200; leaf < 0x204; ++leaf)
      for (uint8_t port = 1; port <= 8; ++port)
        links_.push_back(CleanLink(leaf * 0x100 + port, leaf, port));
  }
  LinkEvidence& HostLink(size_t leaf, size_t port) { return links_[leaf * 8 + port]; }
  std::span<const LinkBrief> Assess() {
    verdicts_.clear();
    for (const LinkEvidence& link : links_) verdicts_.push_back(Evaluate(link, Limits()));
    briefs_.clear();
    for (size_t i = 0; i < links_.size(); ++i) briefs_.push_back(BriefOf(links_[i], verdicts_[i]));
    return briefs_;
  }
  const FleetReport& Find() {
    report_ = FindCommonCauses(Assess(), FleetLimits());
    for (size_t i = 0; i < links_.size(); ++i) Apply(report_, i, briefs_[i], verdicts_[i]);
    return report_;
  }
  std::vector<LinkEvidence> links_;
  std::vector<LinkVerdict> verdicts_;
  std::vector<LinkBrief> briefs_;
  FleetReport report_;
};

TEST_F(FleetTest, OneBadLinkHasNoCommonCause) {
  MakeNoisy(HostLink(1, 2).a);
  EXPECT_THAT(Find().findings, IsEmpty());
  EXPECT_EQ(verdicts_[10].verdict, Verdict::kNoisyPhy);
}

TEST_F(FleetTest, ErrorsAtManyHostsOfOneSwitchAccuseTheSwitch) {
  for (const size_t port : {0, 3, 5}) MakeNoisy(HostLink(2, port).a);
  MakeNoisy(HostLink(0, 0).a);
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_EQ(report_.findings[0].cause, CommonCause::kSwitch);
  EXPECT_EQ(report_.findings[0].node, Guid(0x202));
  EXPECT_EQ(FindingText(report_.findings[0]),
            "errors on 3 of 8 host links of switch 0x0000000000000202");
  EXPECT_TRUE(ForbidsAction(report_, 16));
  EXPECT_FALSE(IsBad(verdicts_[16].verdict));
  EXPECT_EQ(verdicts_[16].attribution.culprit, Culprit::kSwitch);
  EXPECT_EQ(verdicts_[0].verdict, Verdict::kNoisyPhy);  // Of another switch.
}

TEST_F(FleetTest, HostsBehindOneLeafThatDoNotRespondAccuseTheLeaf) {
  for (size_t port = 0; port < 5; ++port) SetAll(HostLink(3, port).a, Signal::kTimeouts, 5);
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_EQ(report_.findings[0].cause, CommonCause::kUnresponsiveLeaf);
  EXPECT_EQ(verdicts_[24].attribution.culprit, Culprit::kSwitch);
}

TEST_F(FleetTest, ErrorsAtBothPortsOfAnHcaAccuseTheHca) {
  HostLink(1, 0).a.node = HostLink(0, 0).a.node;
  HostLink(1, 0).a.port = PortNum(2);
  MakeNoisy(HostLink(0, 0).a);
  MakeNoisy(HostLink(1, 0).a);
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_EQ(report_.findings[0].cause, CommonCause::kHca);
  EXPECT_EQ(verdicts_[0].verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(verdicts_[0].attribution.culprit, Culprit::kHost);
  EXPECT_EQ(verdicts_[8].attribution.culprit, Culprit::kHost);
  EXPECT_FALSE(ForbidsAction(report_, 0));
}

TEST_F(FleetTest, ARestartIsChargedToTheSwitchThatLostMost) {
  for (uint8_t spine = 0; spine < 2; ++spine)
    for (uint64_t leaf = 0x200; leaf < 0x204; ++leaf)
      links_.push_back(CleanTrunk(leaf, 0x300 + spine, static_cast<uint8_t>(leaf - 0x200 + 1)));
  for (LinkEvidence& link : links_)
    link.is_with_its_switch = link.a.node == Guid(0x201) || link.b.node == Guid(0x201);
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_EQ(report_.findings[0].node, Guid(0x201));
  EXPECT_EQ(report_.findings[0].affected, 10u);
  EXPECT_TRUE(verdicts_[8].is_suspended);
}

TEST_F(FleetTest, ABlackoutMakesEverythingUnknown) {
  MakeNoisy(HostLink(0, 0).a);
  for (size_t port = 0; port < 8; ++port) HostLink(1, port).b.is_fresh = false;
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_TRUE(report_.is_blackout);
  for (const LinkVerdict& verdict : verdicts_) {
    EXPECT_EQ(verdict.verdict, Verdict::kUnknown);
    EXPECT_EQ(verdict.confidence, 0);
  }
}

TEST_F(FleetTest, LinksThatAreDownAreNoBlackout) {
  for (size_t port = 0; port < 8; ++port) {
    HostLink(1, port).a.is_fresh = HostLink(1, port).b.is_fresh = false;
    HostLink(1, port).is_up = false;
  }
  EXPECT_THAT(Find().findings, IsEmpty());
}

// host 0x20001 - leaf 0x200 - spine 0x300 - leaf 0x201 - host 0x20101, errors made on the first
// trunk, marked from there on.
TEST_F(FleetTest, MarkedErrorsAccuseTheMostUpstreamLink) {
  links_.push_back(CleanTrunk(0x200, 0x300, 1));
  links_.push_back(CleanTrunk(0x201, 0x300, 2));
  LinkEvidence& first = links_[32];
  LinkEvidence& second = links_[33];
  SetAll(first.b, Signal::kLocalPhysical, 50, 12);
  SetAll(second.a, Signal::kLocalPhysical, 12, 6);  // Some agents count both.
  SetAll(second.a, Signal::kRemotePhysical, 50, 12);
  SetAll(HostLink(1, 0).a, Signal::kRemotePhysical, 50, 12);
  ASSERT_THAT(Find().findings, SizeIs(1));
  EXPECT_EQ(report_.findings[0].cause, CommonCause::kPropagation);
  EXPECT_EQ(report_.findings[0].root, LinkKey(first));
  EXPECT_EQ(report_.findings[0].affected, 2u);
  EXPECT_EQ(verdicts_[32].verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(verdicts_[33].verdict, Verdict::kVictim);
  EXPECT_EQ(verdicts_[8].verdict, Verdict::kHealthy);
}

TEST_F(FleetTest, MarkedErrorsExcuseNoErrorsOfTheLinksOwn) {
  links_.push_back(CleanTrunk(0x200, 0x300, 1));
  SetAll(links_[32].b, Signal::kLocalPhysical, 50, 12);
  LinkEvidence symbols = CleanTrunk(0x201, 0x300, 2), other_end = CleanTrunk(0x202, 0x300, 3);
  for (LinkEvidence* link : {&symbols, &other_end})
    SetAll(link->a, Signal::kRemotePhysical, 50, 12);
  SetAll(symbols.a, Signal::kSymbolErrors, 500);
  SetAll(symbols.a, Signal::kEffectiveErrors, 500);
  SetAll(other_end.b, Signal::kLocalPhysical, 20, 12);
  links_.push_back(symbols);
  links_.push_back(other_end);
  EXPECT_THAT(Find().findings, IsEmpty());
  for (size_t i = 32; i < 35; ++i) EXPECT_EQ(verdicts_[i].verdict, Verdict::kNoisyPhy) << i;
}

TEST_F(FleetTest, MarkedErrorsWithoutAKnownSourceExcuseNothing) {
  links_.push_back(CleanTrunk(0x200, 0x300, 1));
  SetAll(links_[32].b, Signal::kLocalPhysical, 12, 6);
  SetAll(links_[32].b, Signal::kRemotePhysical, 50, 12);
  EXPECT_THAT(Find().findings, IsEmpty());
  EXPECT_EQ(verdicts_[32].verdict, Verdict::kNoisyPhy);
}

TEST_F(FleetTest, MarkedErrorsInACycleEnd) {
  links_ = {CleanTrunk(1, 2, 1), CleanTrunk(2, 3, 2), CleanTrunk(3, 1, 3)};
  for (LinkEvidence& link : links_) {
    SetAll(link.a, Signal::kRemotePhysical, 5);
    SetAll(link.b, Signal::kRemotePhysical, 5);
  }
  EXPECT_THAT(Find().findings, IsEmpty());
}

TEST_F(FleetTest, ADefectOfAFamilyFreezesIt) {
  FamilyWatch watch;
  Instant now(std::chrono::hours(1));
  for (size_t i : {0, 1, 4, 5}) MakeNoisy(HostLink(i % 4, i).a);
  watch.Observe(Assess(), FleetLimits(), now);
  EXPECT_THAT(watch.findings(), IsEmpty());  // Four ports are no family.
  SetAll(HostLink(0, 0).a, Signal::kSymbolErrors, 0);
  SetAll(HostLink(0, 0).a, Signal::kLocalPhysical, 0);
  MakeNoisy(HostLink(2, 0).a);
  now += std::chrono::hours(20);
  watch.Observe(Assess(), FleetLimits(), now);  // The fifth within a day.
  ASSERT_THAT(watch.findings(), SizeIs(1));
  EXPECT_TRUE(watch.IsFrozen(links_[0].a.family));
  EXPECT_FALSE(watch.IsFrozen(links_[0].b.family));
  EXPECT_EQ(FindingText(watch.findings()[0]),
            "5 of 32 ports of device 0x0002c9/4129 revision 0x0 crossed a limit within a day: no "
            "action against them");
  links_.assign(1, CleanLink());
  now += std::chrono::hours(24);
  watch.Observe(Assess(), FleetLimits(), now);
  EXPECT_FALSE(watch.IsFrozen(links_[0].a.family));
}

TEST_F(FleetTest, SlowReceiversAreChargedToTheFamilyOfTheHosts) {
  FamilyWatch watch;
  for (size_t i = 0; i < 5; ++i) HostLink(i % 4, i).b.wait.fill(WaitWindow{0.5, 0.1});
  watch.Observe(Assess(), FleetLimits(), Instant(std::chrono::hours(1)));
  EXPECT_TRUE(watch.IsFrozen(links_[0].a.family));
  EXPECT_FALSE(watch.IsFrozen(links_[0].b.family));
}

TEST_F(FleetTest, OverrunsAreChargedToTheBuffersOrToTheHostWithoutCredits) {
  for (const bool at_host : {true, false}) {
    FamilyWatch watch;
    for (size_t i = 0; i < 5; ++i) {
      LinkEvidence& link = HostLink(i % 4, i) = CleanLink(0x500 + i, 0x200 + i % 4, 1);
      SetAll(at_host ? link.a : link.b, Signal::kBufferOverrun, 3);
    }
    watch.Observe(Assess(), FleetLimits(), Instant(std::chrono::hours(1)));
    EXPECT_TRUE(watch.IsFrozen(links_[0].a.family));
    EXPECT_FALSE(watch.IsFrozen(links_[0].b.family));
  }
}

// Each link is bad for its own reason.
TEST_F(FleetTest, LinksThatAreBadForDifferentReasonsAreNoFamily) {
  FamilyWatch watch;
  for (size_t i = 0; i < 8; ++i) {
    LinkEvidence& link = HostLink(i % 4, i);
    MakeNoisy(link.a);
    MakeNoisy(link.b);  // A cable.
  }
  for (size_t i = 8; i < 12; ++i) MakeNoisy(HostLink(i % 4, i - 4).a);
  HostLink(0, 3).b.wait.fill(WaitWindow{0.5, 0.1});
  watch.Observe(Assess(), FleetLimits(), Instant(std::chrono::hours(1)));
  EXPECT_THAT(watch.findings(), IsEmpty());
}

TEST_F(FleetTest, AFrozenFamilyFreezesOnlyLinksWithItsDefect) {
  FamilyWatch watch;
  for (size_t i = 0; i < 5; ++i) MakeNoisy(HostLink(i % 4, i).a);
  HostLink(0, 6).b.wait.fill(WaitWindow{0.5, 0.1});
  watch.Observe(Assess(), FleetLimits(), Instant(std::chrono::hours(1)));
  EXPECT_TRUE(watch.Freezes(briefs_[0]));
  EXPECT_FALSE(watch.Freezes(briefs_[6]));
}

// A firmware defect of all hosts is visible at each switch.
TEST_F(FleetTest, ASwitchWithAsManyErrorsAsOthersIsNotTheCause) {
  for (size_t leaf = 0; leaf < 4; ++leaf)
    for (size_t port = 0; port < 3; ++port) MakeNoisy(HostLink(leaf, port).a);
  EXPECT_THAT(Find().findings, IsEmpty());
}

TEST_F(FleetTest, HostsOfAFrozenFamilyDoNotAccuseTheirSwitch) {
  for (const size_t port : {0, 3, 5}) MakeNoisy(HostLink(2, port).a);
  Assess();
  for (LinkBrief& brief : briefs_) brief.is_frozen = brief.raised != 0;
  EXPECT_THAT(FindCommonCauses(briefs_, FleetLimits()).findings, IsEmpty());
}

TEST_F(FleetTest, ACommonCauseIsOneFindingUntilItHasNotBeenFoundForAWhile) {
  CauseMemory memory;
  Instant now(std::chrono::hours(1));
  const auto observe = [&] {
    report_ = FindCommonCauses(Assess(), FleetLimits(), memory.standing());
    memory.Observe(briefs_, FleetLimits(), now, report_);
    return report_.findings;
  };
  for (const size_t port : {0, 3, 5}) MakeNoisy(HostLink(2, port).a);
  observe();
  const Instant since = now;
  now += std::chrono::minutes(10);
  for (const uint8_t port : {0, 3, 5})
    HostLink(2, port) = CleanLink(0x20201 + port, 0x202, static_cast<uint8_t>(port + 1));
  ASSERT_THAT(observe(), SizeIs(1));
  EXPECT_TRUE(report_.findings[0].is_over);
  EXPECT_EQ(report_.findings[0].since, since);
  MakeNoisy(HostLink(2, 0).a);
  observe();
  EXPECT_TRUE(ForbidsAction(report_, 16));
  EXPECT_FALSE(ForbidsAction(report_, 0));
  now += std::chrono::minutes(3);
  EXPECT_THAT(observe(), IsEmpty());
}

TEST_F(FleetTest, EachCongestionTreeWithVictimsIsOneFinding) {
  const auto egress = [&](size_t leaf, size_t port) {
    const EndEvidence& end = HostLink(leaf, port).b;
    return CongestionTree::Egress{end.node, end.port};
  };
  std::vector<CongestionTree> trees(3);
  trees[0] = {egress(0, 1), CongestionTree::Kind::kSlowReceiver, {egress(1, 0), egress(1, 1)}};
  trees[1] = {egress(2, 1), CongestionTree::Kind::kHotLink, {egress(1, 2)}};
  trees[2] = {egress(3, 1), CongestionTree::Kind::kUnknown, {}};
  FleetReport report = Find();
  AddCongestion(trees, briefs_, FleetLimits(), report);
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].root, LinkKey(HostLink(0, 1)));
  EXPECT_EQ(report.findings[0].affected, 3u);
  EXPECT_EQ(FindingText(report.findings[1]),
            "3 of 32 links wait for credits: more is sent than they carry");
}

TEST_F(FleetTest, EndsThatAreNoHostsAreNotCounted) {
  FamilyWatch watch;
  for (size_t i = 0; i < 8; ++i) {
    HostLink(i % 4, i).a.role = EndRole::kOther;
    MakeNoisy(HostLink(i % 4, i).a);
  }
  watch.Observe(Assess(), FleetLimits(), Instant(std::chrono::hours(1)));
  EXPECT_THAT(watch.findings(), IsEmpty());
}

TEST(FleetLimitsTest, BadLimitsAreListed) {
  EXPECT_THAT(Check(FleetLimits()), IsEmpty());
  FleetLimits limits;
  limits.family_share = 0;
  limits.min_links = 1;
  EXPECT_THAT(Check(limits), SizeIs(2));
}

TEST_F(FleetTest, HostsBehindOneLeafThatAreNotReadAnyMoreAreOneFinding) {
  for (size_t port = 0; port < 4; ++port) links_[port].a.is_fresh = false;
  const FleetReport report = Find();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].cause, CommonCause::kUnresponsiveLeaf);
  EXPECT_EQ(report.findings[0].affected, 4u);
}

}  // namespace
}  // namespace fabricd::policy
