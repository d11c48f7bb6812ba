// SPDX-License-Identifier: Apache-2.0
#include "telemetry/incident_log.h"

#include <gtest/gtest.h>

namespace fabricd::telemetry {
namespace {

constexpr Millis kMinuteMillis = 60'000;

TEST(IncidentLogTest, ThoseOfOneMinuteAreOneEntry) {
  IncidentLog log;
  log.Add(PortNum(1), Incident::kTrap, kMinuteMillis + 1);
  log.Add(PortNum(2), Incident::kTrap, kMinuteMillis + 2);
  log.Add(PortNum(1), Incident::kTimeout, kMinuteMillis + 3);
  log.Add(PortNum(1), Incident::kTrap, kMinuteMillis + 4);
  log.Add(PortNum(1), Incident::kTrap, 2 * kMinuteMillis);
  ASSERT_EQ(log.entries().size(), 4u);
  EXPECT_EQ(log.entries()[2].count, 2u);
  EXPECT_EQ(log.entries()[2].at, kMinuteMillis + 4);
}

TEST(IncidentLogTest, TheOldestIsDroppedWhereItIsFull) {
  IncidentLog log;
  for (Millis minute = 1; minute <= 100; ++minute)
    log.Add(PortNum(1), Incident::kTrap, minute * kMinuteMillis);
  EXPECT_EQ(log.entries().size(), IncidentLog::kMaxEntries);
  EXPECT_EQ(log.entries().back().at, 100 * kMinuteMillis);
}

TEST(IncidentLogTest, ADayLaterNothingIsLeft) {
  IncidentLog log;
  log.Add(PortNum(1), Incident::kTrap, kMinuteMillis);
  log.Add(PortNum(1), Incident::kTrap, 2 * IncidentLog::kSpan);
  EXPECT_EQ(log.entries().size(), 1u);
}

}  // namespace
}  // namespace fabricd::telemetry
