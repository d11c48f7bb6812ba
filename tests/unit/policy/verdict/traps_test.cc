// SPDX-License-Identifier: Apache-2.0
// What looks like a bad link and is none. Each is known from fabrics in use.
#include <gtest/gtest.h>

#include "policy/verdict/cause_search.h"
#include "policy/verdict/verdict_book.h"
#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.
using std::chrono::hours;
using std::chrono::minutes;

const Instant kStart(hours(100));

TEST(VerdictTraps, 1_ARebootOfTheHostIsNoLinkDown) {
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kLinkDowns, 3);
  SetAll(link.b, Signal::kInactiveDiscards, 5000);
  link.is_with_its_host = true;
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kHealthy);
  link.is_with_its_host = false;  // Later the downs are still in the window.
  link.excused_downs.fill(3);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kHealthy);
  link.excused_downs.fill(2);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kSuspect);
}

TEST(VerdictTraps, 1_AnIntendedLinkDownOfTheClassicCounterIsNotCounted) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkDowns, 1);
  link.a.has_registers = false;
  link.a.last_down = LinkDownReport{LinkDownReport::Blame::kLocal, true};
  EXPECT_EQ(LevelOfRow(link, Row::kLinkDowns, Side::kLink), Level::kNone);
  link.a.last_down->is_intentional = false;
  EXPECT_EQ(LevelOfRow(link, Row::kLinkDowns, Side::kLink), Level::kSuspect);
}

TEST(VerdictTraps, 2_ASwappedCableIsUnknownFor125Minutes) {
  VerdictBook book{BookClocks()};
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  const LinkKey key(link);
  EXPECT_EQ(book.Observe(key, Evaluate(link, Limits()), kStart).stage, Stage::kBad);
  book.OnReplaced(key, kStart);
  EXPECT_EQ(book.Observe(key, Evaluate(link, Limits()), kStart + minutes(124)).stage,
            Stage::kUnknown);
  EXPECT_EQ(book.Observe(key, Evaluate(CleanLink(), Limits()), kStart + minutes(125)).stage,
            Stage::kHealthy);
}

TEST(VerdictTraps, 3_ARestartOfTheSwitchIsOneEvent) {
  std::vector<LinkEvidence> links;
  for (uint8_t port = 1; port <= 8; ++port) {
    links.push_back(CleanLink(0x100 + port, 0x200, port));
    SetAll(links.back().a, Signal::kLinkDowns, 3);
    links.back().is_with_its_switch = true;
  }
  std::vector<LinkVerdict> verdicts;
  for (const LinkEvidence& link : links) verdicts.push_back(Evaluate(link, Limits()));
  std::vector<LinkBrief> all;
  for (size_t i = 0; i < links.size(); ++i) {
    EXPECT_TRUE(verdicts[i].is_suspended);
    EXPECT_FALSE(IsBad(verdicts[i].verdict));
    all.push_back(BriefOf(links[i], verdicts[i]));
  }
  const FleetReport report = FindCommonCauses(all, FleetLimits());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].cause, CommonCause::kSwitchRestart);
  EXPECT_EQ(report.findings[0].node, Guid(0x200));
}

// 4, counters that another tool clears: telemetry/ begins a new epoch, and no count is made of it.

TEST(VerdictTraps, 5_ACounterAtItsMaximumIsUnknownNotZero) {
  LinkEvidence link = CleanLink();
  for (size_t i = 0; i < kWindows; ++i) {
    Set(link.a, Signal::kSymbolErrors, static_cast<Window>(i), {5000, 30, true});
    Set(link.a, Signal::kLocalPhysical, static_cast<Window>(i), {5000, 30, true});
  }
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_TRUE(FindRow(verdict, Row::kSymbolBer, Side::kA)->is_missing);
  EXPECT_EQ(FindRow(verdict, Row::kSymbolBer, Side::kA)->note, "counter is at its maximum");
  EXPECT_EQ(verdict.verdict, Verdict::kUnknown);
}

TEST(VerdictTraps, 6_ErrorsMarkedUpstreamAccuseNoLink) {
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kRemotePhysical, 100'000, 30);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kHealthy);
}

TEST(VerdictTraps, 7_ErrorsThatFecCorrectsAreNoEvidence) {
  // There is no signal of raw errors: effective ones far below their limit are what is left.
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 200, 30);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kHealthy);
}

TEST(VerdictTraps, 8_AYoungLinkIsUnknown) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  link.up_for = minutes(9);
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kUnknown);
  EXPECT_TRUE(verdict.is_suspended);
  link.up_for = minutes(10);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kNoisyPhy);
}

TEST(VerdictTraps, 8_RatiosOf1e15AreForLinksThatWereUpFor125Minutes) {
  LinkEvidence link = CleanLink();
  Set(link.a, Signal::kSymbolErrors, Window::k7500s, {9, 9, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kSuspect);
  link.up_for = minutes(124);
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kNone);
  EXPECT_LT(Evaluate(link, Limits()).confidence, 0.75);
}

TEST(VerdictTraps, 9_ACounterThatTheDeviceDoesNotHaveIsMissingNotZero) {
  LinkEvidence link = CleanLink();
  const double full = Evaluate(link, Limits()).confidence;
  link.a.signals[static_cast<size_t>(Signal::kSymbolErrors)] = std::nullopt;
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_TRUE(FindRow(verdict, Row::kSymbolBer, Side::kA)->is_missing);
  EXPECT_EQ(verdict.measured & MaskOf(*FindRow(verdict, Row::kSymbolBer, Side::kA)), 0u);
  EXPECT_LT(verdict.confidence, full);
}

// 10, a leaf behind which many hosts do not respond, and 12, a defect of firmware: fleet_test.cc.

TEST(VerdictTraps, 11_NoCounterOfOurOwnSweepsIsAnInput) {
  // SwRelay errors and VL15Dropped have no signal; discards alone, whatever their kind, raise none.
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kXmitDiscards, 100'000, 30);
  EXPECT_EQ(Evaluate(link, Limits()).raised, 0u);
}

TEST(VerdictTraps, 13_FewPacketsMakeNoRatio) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLocalPhysical, 12);
  EXPECT_EQ(LevelOfRow(link, Row::kLocalPhysical, Side::kA), Level::kFatal);
  link.a.rcv_packets.fill(999'999);
  EXPECT_EQ(LevelOfRow(link, Row::kLocalPhysical, Side::kA), Level::kSuspect);
}

TEST(VerdictTraps, 14_AfterAFailoverNothingChangesForAWindow) {
  VerdictBook book{BookClocks()};
  LinkEvidence bad = CleanLink(), other = CleanLink(0x101, 0x200, 8);
  MakeNoisy(bad.a);
  book.Observe(LinkKey(bad), Evaluate(bad, Limits()), kStart);
  book.OnFailover(kStart);
  MakeNoisy(other.a);
  const Standing kept =
      book.Observe(LinkKey(bad), Evaluate(CleanLink(), Limits()), kStart + minutes(11));
  EXPECT_EQ(kept.verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(book.Observe(LinkKey(other), Evaluate(other, Limits()), kStart + minutes(11)).stage,
            Stage::kUnknown);
  EXPECT_EQ(book.Observe(LinkKey(other), Evaluate(other, Limits()), kStart + minutes(12)).stage,
            Stage::kBad);
}

TEST(VerdictTraps, 15_EndsThatAreNoHostsGetNoHostVerdicts) {
  LinkEvidence link = CleanLink();
  link.a.role = EndRole::kOther;
  link.b.wait.fill(WaitWindow{0.5, 0.1});
  SetAll(link.a, Signal::kTraps, 1000);
  SetAll(link.b, Signal::kHoqDiscards, 1000);
  EXPECT_FALSE(IsBad(Evaluate(link, Limits()).verdict));
  MakeNoisy(link.a);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kNoisyPhy);
}

TEST(VerdictTraps, 16_TheSameErrorsMeanDifferentThingsUnderDifferentFec) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 100, 30);
  EXPECT_EQ(LevelOfRow(link, Row::kEffectiveBer, Side::kA), Level::kNone);
  link.fec = FecClass::kKp4;
  EXPECT_EQ(LevelOfRow(link, Row::kEffectiveBer, Side::kA), Level::kStrong);
}

TEST(VerdictTraps, 16_RetransmissionCoversASingleUncorrectableBlock) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kUncorrectableBlocks, 1);
  EXPECT_EQ(LevelOfRow(link, Row::kUncorrectable, Side::kA), Level::kNone);
  link.fec = FecClass::kKp4;
  EXPECT_EQ(LevelOfRow(link, Row::kUncorrectable, Side::kA), Level::kSuspect);
}

}  // namespace
}  // namespace fabricd::policy
