// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/attribution.h"

#include <gtest/gtest.h>

#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.
using Blame = LinkDownReport::Blame;

Attribution Of(const LinkEvidence& link) { return Evaluate(link, Limits()).attribution; }

TEST(AttributionTest, ErrorsOnlyWhereTheHostReceivesAccuseTheCableFirst) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  EXPECT_EQ(Of(link).reason, "errors only where the host receives");
}

TEST(AttributionTest, ErrorsOnlyWhereTheSwitchReceivesAccuseTheHostsTransmitter) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.b);
  EXPECT_EQ(Of(link).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Of(link).side, Side::kA);
}

TEST(AttributionTest, ErrorsInBothDirectionsAccuseTheCable) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  MakeNoisy(link.b);
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  EXPECT_EQ(Of(link).side, Side::kLink);
  link.a.temperature = link.b.temperature = 75;
  EXPECT_EQ(Of(link).remedy, "airflow, then the modules");
}

TEST(AttributionTest, AnUnhealthyDeviceDecidesTheEndOfADirection) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  link.a.is_unhealthy = true;
  EXPECT_EQ(Of(link).culprit, Culprit::kReceiver);
  EXPECT_EQ(Of(link).side, Side::kA);
  link.a.is_unhealthy = false;
  link.b.is_unhealthy = true;
  EXPECT_EQ(Of(link).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Of(link).side, Side::kB);
}

// The monitor of a port evaluates the received signal and cannot know which part damaged it.
TEST(AttributionTest, AnAlarmAboutTheSignalAccusesNoReceiver) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.b);
  link.b.device_verdict = DeviceVerdict::kAlarm;
  EXPECT_EQ(Of(link).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Of(link).side, Side::kA);
}

TEST(AttributionTest, ErrorsThatAreTooFewForARowAtOneEndStillMakeItTheCable) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.b);
  Set(link.a, Signal::kSymbolErrors, Window::k7500s, {9, 1, false});  // One reading so far.
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  EXPECT_EQ(Of(link).side, Side::kLink);
  Set(link.a, Signal::kSymbolErrors, Window::k7500s, {1, 1, false});
  EXPECT_EQ(Of(link).culprit, Culprit::kTransmitter);
}

Accusation Accused(Culprit culprit, uint64_t node) {
  return {culprit, {Guid(node), PortNum(1)}, "", ""};
}

TEST(AttributionTest, EvidenceOverTimeAddsUp) {
  const Accusation cable{Culprit::kCable, HeldPort(), "", ""};
  const auto is_cable = [](const Accusation& joined) {
    return joined.culprit == Culprit::kCable && joined.end == HeldPort();
  };
  const Accusation sender = Accused(Culprit::kTransmitter, 1);
  // The same direction: what it was called first stays.
  EXPECT_EQ(Join(sender, Accused(Culprit::kReceiver, 2)).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Join(Accused(Culprit::kCable, 2), sender).end.node, Guid(2));
  // The other one.
  EXPECT_TRUE(is_cable(Join(sender, Accused(Culprit::kReceiver, 1))));
  EXPECT_TRUE(is_cable(Join(sender, Accused(Culprit::kTransmitter, 2))));
  EXPECT_TRUE(is_cable(Join(sender, cable)));
  EXPECT_TRUE(is_cable(Join(cable, sender)));
  // What says nothing takes nothing back.
  EXPECT_EQ(Join(sender, Accusation()).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Join(Accused(Culprit::kUnknown, 0), sender).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Join(Accused(Culprit::kHost, 1), Accused(Culprit::kSwitch, 2)).culprit,
            Culprit::kUnknown);
}

TEST(AttributionTest, LinkDownsAreAttributedByTheReportsOfBothEnds) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkDowns, 2);
  EXPECT_EQ(Of(link).culprit, Culprit::kUnknown);
  link.a.last_down = LinkDownReport{Blame::kRemote};
  EXPECT_EQ(Of(link).culprit, Culprit::kSwitch);
  link.b.last_down = LinkDownReport{Blame::kRemote};
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  link.a.last_down = LinkDownReport{Blame::kLocal};
  EXPECT_EQ(Of(link).culprit, Culprit::kHost);
  link.b.last_down = LinkDownReport{Blame::kLocal};  // Both accuse themselves.
  EXPECT_EQ(Of(link).culprit, Culprit::kUnknown);
}

TEST(AttributionTest, OverrunAtTheSwitchMeansAHostWithoutCredits) {
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kBufferOverrun, 3);
  EXPECT_EQ(Of(link).culprit, Culprit::kHost);
  link = CleanLink();
  SetAll(link.a, Signal::kBufferOverrun, 3);
  EXPECT_EQ(Of(link).culprit, Culprit::kReceiver);
}

TEST(AttributionTest, MalformedPacketsAccuseTheirSender) {
  LinkEvidence link = CleanLink();
  SetAll(link.b, Signal::kMalformed, 10);
  EXPECT_EQ(Of(link).culprit, Culprit::kHost);
  EXPECT_EQ(Of(link).side, Side::kA);
}

TEST(AttributionTest, TimeoutsOfAHostAloneAccuseTheHost) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kTimeouts, 5);
  EXPECT_EQ(Evaluate(link, Limits()).verdict, Verdict::kSuspect);
  EXPECT_EQ(Of(link).culprit, Culprit::kHost);
}

TEST(AttributionTest, HeatAloneAccusesTheModule) {
  LinkEvidence link = CleanLink();
  link.b.temperature = 72;
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  EXPECT_EQ(Of(link).side, Side::kB);
}

TEST(AttributionTest, UnexplainedLinkDownsHideNoHotModule) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkDowns, 1);
  link.b.temperature = 84;
  EXPECT_EQ(Of(link).culprit, Culprit::kCable);
  EXPECT_EQ(Of(link).side, Side::kB);
  EXPECT_EQ(Of(link).reason, "a module above its alarm limit");
}

}  // namespace
}  // namespace fabricd::policy
