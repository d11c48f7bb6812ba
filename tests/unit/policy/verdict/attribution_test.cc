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

TEST(AttributionTest, AnAlarmOfTheDeviceSaysWhichEndOfADirection) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  link.a.device_verdict = DeviceVerdict::kAlarm;
  EXPECT_EQ(Of(link).culprit, Culprit::kReceiver);
  EXPECT_EQ(Of(link).side, Side::kA);
  link.a.device_verdict = DeviceVerdict::kNormal;
  link.b.device_verdict = DeviceVerdict::kAlarm;
  EXPECT_EQ(Of(link).culprit, Culprit::kTransmitter);
  EXPECT_EQ(Of(link).side, Side::kB);
}

TEST(AttributionTest, LinkDownsFollowWhatBothDevicesReport) {
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

TEST(AttributionTest, WhatOnlyTheHostDoesAccusesTheHost) {
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

}  // namespace
}  // namespace fabricd::policy
