// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/report_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

TEST(ReportMaker, CountsTheDifferenceSinceTheSweepBegan) {
  mad::EngineStatistics statistics;
  statistics.attributes[wire::AttributeId::kPortInfo].get = {100, 95, 5, 3};
  ReportMaker maker;
  EXPECT_EQ(maker.kind(), SweepKind::kNone);
  maker.Begin(SweepKind::kHeavy, Instant(10s), statistics);
  EXPECT_EQ(maker.kind(), SweepKind::kHeavy);
  statistics.attributes[wire::AttributeId::kPortInfo].get = {130, 120, 7, 4};
  statistics.attributes[wire::AttributeId::kPortInfo].set.sent = 4;
  statistics.attributes[wire::AttributeId::kSwitchInfo].set.sent = 2;
  const SweepReport report = maker.Finish(Instant(10s + 1500us), statistics);
  EXPECT_EQ(report.kind, SweepKind::kHeavy);
  EXPECT_DOUBLE_EQ(report.duration_ms, 1.5);
  EXPECT_EQ(report.smps_sent, 36u);
  EXPECT_EQ(report.sets_sent, 6u);
  EXPECT_EQ(report.timeouts, 2u);
  EXPECT_THAT(
      report.smps_by_attribute,
      ElementsAre(Pair("Get PortInfo", 30), Pair("Set PortInfo", 4), Pair("Set SwitchInfo", 2)));
}

}  // namespace
}  // namespace fabricd::sweep
