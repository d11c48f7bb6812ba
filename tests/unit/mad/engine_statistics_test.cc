// SPDX-License-Identifier: Apache-2.0
// What an engine counts.
#include "mad/engine_statistics.h"

#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using std::chrono::microseconds;

TEST(StatisticsRecorder, CountsByAttributeAndMethod) {
  StatisticsRecorder recorder;
  MethodStatistics* const gets =
      recorder.CountersOf(wire::AttributeId::kPortInfo, wire::Method::kGet);
  MethodStatistics* const sets =
      recorder.CountersOf(wire::AttributeId::kPortInfo, wire::Method::kSet);
  MethodStatistics* const others =
      recorder.CountersOf(wire::AttributeId::kNodeInfo, wire::Method::kGet);
  recorder.CountAttempt(*gets, /*is_repeat=*/false);
  recorder.CountAttempt(*gets, /*is_repeat=*/true);
  recorder.CountAttempt(*sets, /*is_repeat=*/false);
  recorder.CountAttempt(*others, /*is_repeat=*/false);
  recorder.CountResponse(*gets, wire::kStatusOk);
  recorder.CountResponse(*sets, 0x1C);
  const EngineStatistics& all = recorder.statistics();
  const auto& counters = all.attributes.at(wire::AttributeId::kPortInfo);
  EXPECT_EQ(counters.get, (MethodStatistics{.sent = 2, .received = 1, .retries = 1}));
  EXPECT_EQ(counters.set, (MethodStatistics{.sent = 1, .received = 1}));
  EXPECT_EQ(all.bad_status, 1u);
  EXPECT_EQ(all.total_sent(), 4u);
}

TEST(StatisticsRecorder, TheAverageRoundTripFollowsSlowly) {
  StatisticsRecorder recorder;
  recorder.CountRoundTrip(microseconds(160));
  EXPECT_EQ(recorder.statistics().rtt_average, microseconds(160));
  recorder.CountRoundTrip(microseconds(320));
  recorder.CountRoundTrip(microseconds(10));
  const EngineStatistics& all = recorder.statistics();
  EXPECT_EQ(all.rtt_min, microseconds(10));
  EXPECT_EQ(all.rtt_max, microseconds(320));
  EXPECT_EQ(all.rtt_average, microseconds(170) - microseconds(10));
}

}  // namespace
}  // namespace fabricd::mad
