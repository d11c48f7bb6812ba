// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/link_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.

Verdict VerdictOf(const LinkEvidence& link) { return Evaluate(link, Limits()).verdict; }

StrongFor For(Row row, Duration duration) {
  StrongFor strong_for{};
  strong_for[static_cast<size_t>(row) - 1] = duration;
  return strong_for;
}

TEST(LinkVerdictTest, ACleanLinkIsHealthyWithFullConfidence) {
  const LinkVerdict verdict = Evaluate(CleanLink(), Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kHealthy);
  EXPECT_DOUBLE_EQ(verdict.confidence, 1);
  EXPECT_EQ(verdict.attribution.culprit, Culprit::kNone);
  EXPECT_TRUE(verdict.is_below_half);
  EXPECT_EQ(verdict.rows.size(), 27u);
}

TEST(LinkVerdictTest, OneFatalRowIsNoisy) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 52);
  SetAll(link.a, Signal::kSymbolErrors, 52);  // The critical count of 1e-12 in 60 s.
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(FindRow(verdict, Row::kSymbolBer, Side::kA)->limit, 52);
  SetAll(link.a, Signal::kSymbolErrors, 51);
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
}

// A firmware defect makes a counter grow without errors.
TEST(LinkVerdictTest, SymbolErrorsWithoutAnErrorBeforeRetransmissionMakeNoVerdict) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 5000);
  link.a.device_verdict = DeviceVerdict::kAlarm;  // It counts them too.
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
  SetAll(link.a, Signal::kEffectiveErrors, 5000);
  EXPECT_EQ(VerdictOf(link), Verdict::kNoisyPhy);
  SetAll(link.a, Signal::kEffectiveErrors, 0);
  link.a.has_registers = false;
  EXPECT_EQ(VerdictOf(link), Verdict::kNoisyPhy);
}

// Some cables never reach the capability of both ends.
TEST(LinkVerdictTest, BelowCapabilityAloneIsCleanAndBelowHalf) {
  LinkEvidence link = CleanLink();
  link.is_below_capability = true;
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kSuspect);
  EXPECT_TRUE(verdict.IsClean());
  EXPECT_TRUE(verdict.is_below_half);
  SetAll(link.a, Signal::kLinkIntegrity, 1);
  EXPECT_FALSE(Evaluate(link, Limits()).IsClean());
  EXPECT_FALSE(Evaluate(link, Limits()).is_below_half);
}

TEST(LinkVerdictTest, AnAlarmOfTheMonitorIsStrongWhereTheRegistersShowErrors) {
  LinkEvidence link = CleanLink();
  link.a.device_verdict = DeviceVerdict::kAlarm;
  EXPECT_EQ(LevelOfRow(link, Row::kDeviceVerdict, Side::kA), Level::kSuspect);
  SetAll(link.b, Signal::kSymbolErrors, 10);
  EXPECT_EQ(LevelOfRow(link, Row::kDeviceVerdict, Side::kA), Level::kSuspect);
  SetAll(link.a, Signal::kSymbolErrors, 10);
  SetAll(link.a, Signal::kEffectiveErrors, 10);
  EXPECT_EQ(LevelOfRow(link, Row::kDeviceVerdict, Side::kA), Level::kStrong);
  link = CleanLink();
  link.a.device_verdict = DeviceVerdict::kAlarm;
  link.a.is_unhealthy = true;
  EXPECT_EQ(LevelOfRow(link, Row::kDeviceVerdict, Side::kA), Level::kStrong);
}

TEST(LinkVerdictTest, ACableThatWasUnpluggedIsNoUnintendedLinkDown) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkDowns, 1);
  SetAll(link.b, Signal::kLinkDowns, 1);
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
  for (EndEvidence* end : {&link.a, &link.b})
    end->last_down = LinkDownReport{LinkDownReport::Blame::kUnknown, false, 23, 0};
  EXPECT_EQ(VerdictOf(link), Verdict::kHealthy);
}

TEST(LinkVerdictTest, TwoStrongRowsAreNoisyUnlessTheyHaveOneCause) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 20);
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kStrong);
  SetAll(link.a, Signal::kEffectiveErrors, 10'000);
  EXPECT_EQ(LevelOfRow(link, Row::kEffectiveBer, Side::kA), Level::kStrong);
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);  // E1 and E2.
  SetAll(link.b, Signal::kSymbolErrors, 20);
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);  // E1 at both ends.
  SetAll(link.a, Signal::kUncorrectableBlocks, 10'000);
  EXPECT_EQ(VerdictOf(link), Verdict::kNoisyPhy);
}

// Low-latency FEC retransmits such blocks: no row while effective errors are within their limit.
TEST(LinkVerdictTest, UncorrectableBlocksCountAsMuchAsEffectiveErrorsDo) {
  LinkEvidence link = CleanLink();
  for (const auto& [blocks, level] :
       {std::pair(1000u, Level::kNone), {2000u, Level::kSuspect}, {4000u, Level::kStrong}}) {
    SetAll(link.a, Signal::kUncorrectableBlocks, blocks);
    EXPECT_EQ(LevelOfRow(link, Row::kUncorrectable, Side::kA), level) << blocks;
  }
  link.fec = FecClass::kKp4;
  SetAll(link.a, Signal::kUncorrectableBlocks, 3);
  EXPECT_EQ(LevelOfRow(link, Row::kUncorrectable, Side::kA), Level::kStrong);
}

TEST(LinkVerdictTest, PhysicalAndIntegrityErrorsAreOneCause) {
  LinkEvidence link = CleanLink();
  Limits limits;
  limits.drop_fatal = 1;
  SetAll(link.a, Signal::kLocalPhysical, 12);
  SetAll(link.a, Signal::kLinkIntegrity, 3);
  EXPECT_EQ(Evaluate(link, limits).verdict, Verdict::kSuspect);
  SetAll(link.a, Signal::kLinkDowns, 2);
  EXPECT_NE(VerdictOf(link), Verdict::kSuspect);
}

TEST(LinkVerdictTest, OneStrongRowThatPersistsNeedsASuspect) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 20);
  SetAll(link.a, Signal::kSymbolErrors, 20);
  const StrongFor long_enough = For(Row::kSymbolBer, std::chrono::seconds(1440));
  EXPECT_EQ(Evaluate(link, Limits(), long_enough).verdict, Verdict::kSuspect);
  SetAll(link.a, Signal::kLinkIntegrity, 1);
  EXPECT_EQ(Evaluate(link, Limits(), long_enough).verdict, Verdict::kNoisyPhy);
  // One burst is in the window for as long as the window is.
  EXPECT_EQ(Evaluate(link, Limits(), For(Row::kSymbolBer, std::chrono::seconds(720))).verdict,
            Verdict::kSuspect);
}

TEST(LinkVerdictTest, ErrorsOfOneBurstAreOneEvent) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 10'000, 1);
  SetAll(link.a, Signal::kLocalPhysical, 10'000, 2);
  SetAll(link.a, Signal::kUncorrectableBlocks, 10'000, 2);
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kHealthy);
  const EvidenceRow* row = FindRow(verdict, Row::kSymbolBer, Side::kA);
  EXPECT_EQ(row->value, 1);
  EXPECT_EQ(row->count, 10'000u);
  EXPECT_EQ(row->note, "one burst");
}

TEST(LinkVerdictTest, AWindowWithTooFewReadingsIsExtended) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 60);
  Set(link.a, Signal::kSymbolErrors, Window::k60s, {60, 1, false});
  Set(link.a, Signal::kSymbolErrors, Window::k720s, {60, 1, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kNone);
  Set(link.a, Signal::kSymbolErrors, Window::k720s, {80, 3, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kFatal);
}

TEST(LinkVerdictTest, RegistersNeedThreeReadingsInTheLongestWindow) {
  LinkEvidence link = CleanLink();
  Set(link.a, Signal::kSymbolErrors, Window::k720s, {20, 2, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kNone);
  Set(link.a, Signal::kSymbolErrors, Window::k7500s, {20, 3, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kStrong);
  link.a.has_registers = false;
  Set(link.a, Signal::kSymbolErrors, Window::k7500s, {1, 3, false});
  EXPECT_EQ(LevelOfRow(link, Row::kSymbolBer, Side::kA), Level::kNone);
}

TEST(LinkVerdictTest, ReceiveErrorsWithoutDetailsAreNeverFatal) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLocalPhysical, 12);
  EXPECT_EQ(LevelOfRow(link, Row::kLocalPhysical, Side::kA), Level::kFatal);
  link.a.signals[static_cast<size_t>(Signal::kLocalPhysical)] = std::nullopt;
  SetAll(link.a, Signal::kRcvErrors, 12);
  EXPECT_EQ(LevelOfRow(link, Row::kLocalPhysical, Side::kA), Level::kStrong);
}

TEST(LinkVerdictTest, UndocumentedLimitsLowerConfidence) {
  LinkEvidence link = CleanLink();
  link.lane_gigabits = 200;
  EXPECT_DOUBLE_EQ(Evaluate(link, Limits()).confidence, 0.9);
}

TEST(LinkVerdictTest, TwoWindowsOfWaitAreLessCertainThanThree) {
  LinkEvidence link = CleanLink();
  link.b.wait.fill(WaitWindow{0.3, 0.2});
  const double three = Evaluate(link, Limits()).confidence;
  link.b.wait[2] = std::nullopt;
  EXPECT_LT(Evaluate(link, Limits()).confidence, three);
}

TEST(LinkVerdictTest, TheDetectionWindowIsAtMost125Minutes) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkDowns, 2);
  EXPECT_EQ(Evaluate(link, Limits()).detection_window, std::chrono::seconds(7500));
}

TEST(LinkVerdictTest, ThreeDownsInTenMinutesAreFlapping) {
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kLinkDowns, 3);
  EXPECT_EQ(VerdictOf(link), Verdict::kFlapping);
  Set(link.b, Signal::kLinkDowns, Window::k600s, {2, 2, false});
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);  // Two a day are strong, and alone.
  EXPECT_EQ(LevelOfRow(link, Row::kLinkDowns, Side::kLink), Level::kStrong);
}

TEST(LinkVerdictTest, WithheldCreditsAtLowUtilisationAreASlowReceiver) {
  LinkEvidence link = CleanLink();
  link.b.wait = {WaitWindow{0.3, 0.2}, WaitWindow{0.0, 0.2}, WaitWindow{0.2, 0.4}};
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kSlowReceiver);
  EXPECT_EQ(verdict.attribution.culprit, Culprit::kHost);
  EXPECT_EQ(verdict.attribution.side, Side::kA);
  link.b.wait[2] = WaitWindow{0.0, 0.4};  // One window of three.
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
  link.b.wait[2] = std::nullopt;
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
}

TEST(LinkVerdictTest, DiscardsMakeASlowReceiverMoreCertain) {
  LinkEvidence link = CleanLink();
  link.b.wait.fill(WaitWindow{0.3, 0.2});
  const double before = Evaluate(link, Limits()).confidence;
  SetAll(link.b, Signal::kHoqDiscards, 5);
  EXPECT_GT(Evaluate(link, Limits()).confidence, before);
}

TEST(LinkVerdictTest, IncastIsNoVerdict) {
  LinkEvidence link = CleanLink();
  link.b.wait.fill(WaitWindow{0.6, 0.95});
  EXPECT_EQ(VerdictOf(link), Verdict::kHealthy);
  link.b.wait.fill(WaitWindow{0.6, 0.7});  // Neither low nor full.
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
}

TEST(LinkVerdictTest, AHostThatWaitsForTheFabricIsAVictim) {
  LinkEvidence link = CleanLink();
  link.a.wait.fill(WaitWindow{0.4, 0.2});
  EXPECT_EQ(VerdictOf(link), Verdict::kVictim);
  LinkEvidence trunk = CleanTrunk(0x200, 0x300);
  trunk.b.wait.fill(WaitWindow{0.4, 0.2});
  const LinkVerdict verdict = Evaluate(trunk, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kVictim);
  EXPECT_EQ(verdict.attribution.culprit, Culprit::kNone);
}

TEST(LinkVerdictTest, TrapsWithoutEndAreChatty) {
  LinkEvidence link = CleanLink();
  Set(link.a, Signal::kTraps, Window::k60s, {40, 3, false});  // 60 in 90 s.
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kChatty);
  EXPECT_EQ(verdict.attribution.culprit, Culprit::kHost);
  Set(link.a, Signal::kTraps, Window::k60s, {39, 3, false});
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
}

TEST(LinkVerdictTest, AStaleEndMakesTheVerdictUnknown) {
  for (const bool at_a : {false, true}) {
    LinkEvidence link = CleanLink();
    MakeNoisy(link.a);
    (at_a ? link.a : link.b).is_fresh = false;
    const LinkVerdict verdict = Evaluate(link, Limits());
    EXPECT_EQ(verdict.verdict, Verdict::kUnknown);
    EXPECT_EQ(verdict.confidence, 0);
  }
}

TEST(LinkVerdictTest, NothingMeasuredIsUnknownNotHealthy) {
  LinkEvidence link = CleanLink();
  link.b.signals.fill(std::nullopt);
  EXPECT_EQ(VerdictOf(link), Verdict::kUnknown);
}

TEST(LinkVerdictTest, WidthBelowCapabilityIsSuspectAndStrongWithErrors) {
  LinkEvidence link = CleanLink();
  link.is_below_capability = true;
  EXPECT_EQ(LevelOfRow(link, Row::kBelowCapability, Side::kLink), Level::kSuspect);
  SetAll(link.a, Signal::kLinkIntegrity, 1);
  EXPECT_EQ(LevelOfRow(link, Row::kBelowCapability, Side::kLink), Level::kStrong);
  EXPECT_EQ(VerdictOf(link), Verdict::kSuspect);
  SetAll(link.a, Signal::kLinkIntegrity, 3);
  EXPECT_EQ(VerdictOf(link), Verdict::kNoisyPhy);
}

TEST(LinkVerdictTest, TemperatureCountsAgainstItsLimitsAndItsMedian) {
  LinkEvidence link = CleanLink();
  link.a.temperature = 71;
  EXPECT_EQ(LevelOfRow(link, Row::kTemperature, Side::kA), Level::kSuspect);
  link.a.temperature_alarm = 70.5;
  EXPECT_EQ(LevelOfRow(link, Row::kTemperature, Side::kA), Level::kStrong);
  link.a.temperature = 55;  // 11 above its median.
  EXPECT_EQ(LevelOfRow(link, Row::kTemperature, Side::kA), Level::kSuspect);
}

TEST(LinkVerdictTest, TheClassicCounterHalvesConfidence) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kEffectiveErrors, 500);
  SetAll(link.a, Signal::kSymbolErrors, 500);
  const double exact = Evaluate(link, Limits()).confidence;
  link.a.has_registers = false;
  const LinkVerdict verdict = Evaluate(link, Limits());
  EXPECT_EQ(verdict.verdict, Verdict::kNoisyPhy);
  EXPECT_LT(verdict.confidence, exact / 2);
}

// Signals of which one replaces the other go together.
void Forget(EndEvidence& end, Signal signal) {
  end.signals[static_cast<size_t>(signal)] = std::nullopt;
  if (signal == Signal::kLocalPhysical) Forget(end, Signal::kRcvErrors);
  if (signal == Signal::kBufferOverrun) Forget(end, Signal::kExcessiveOverrun);
}

TEST(LinkVerdictProperty, MissingInputsLowerConfidenceAndNeverMakeAVerdictWorse) {
  Rng rng(20);
  int changed = 0;
  for (int run = 0; run < 3000; ++run) {
    LinkEvidence link = CleanLink();
    for (EndEvidence* end : {&link.a, &link.b}) {
      for (size_t i = 0; i < kSignals; ++i)
        if (rng.Chance(0.25)) SetAll(*end, static_cast<Signal>(i), rng.Below(60), rng.Below(5));
      end->has_registers = rng.Chance(0.5);
      for (auto& wait : end->wait)
        if (rng.Chance(0.2)) wait = WaitWindow{0.1 * rng.Below(5), 0.1 * rng.Below(10)};
    }
    const LinkVerdict before = Evaluate(link, Limits());
    Forget(rng.Chance(0.5) ? link.a : link.b, static_cast<Signal>(rng.Below(kSignals)));
    const LinkVerdict after = Evaluate(link, Limits());
    if (IsBad(after.verdict)) {
      EXPECT_TRUE(IsBad(before.verdict));
    }
    if (before.verdict == after.verdict) {
      EXPECT_LE(after.confidence, before.confidence);
    }
    EXPECT_EQ(after.raised & ~before.raised, 0u);
    changed += before.verdict != after.verdict;
  }
  EXPECT_GT(changed, 50);
}

}  // namespace
}  // namespace fabricd::policy
