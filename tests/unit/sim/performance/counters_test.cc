// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/counters.h"

#include <set>

#include <gtest/gtest.h>

#include "sim/performance/performance_options.h"

namespace fabricd::sim {
namespace {

using Registers = PortCounts::Registers;

TEST(CountersTest, NamesAreUniqueAndReadBack) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    EXPECT_FALSE(CounterName(counter).empty());
    EXPECT_TRUE(names.insert(CounterName(counter)).second);
    EXPECT_EQ(ParseCounter(CounterName(counter)), counter);
  }
  EXPECT_EQ(ParseCounter("symbols"), std::nullopt);
}

TEST(CountersTest, PartsCountInTheirSum) {
  PortCounts counts;
  counts.Add(Counter::kXmitSwHoqLifetimeDiscards, 3);
  counts.Add(Counter::kRcvMalformedPacketErrors, 2);
  counts.Add(Counter::kRcvLoopingErrors, 5);
  EXPECT_EQ(counts.Total(Counter::kXmitDiscards), 3u);
  EXPECT_EQ(counts.Total(Counter::kRcvErrors), 2u);
  EXPECT_EQ(counts.Total(Counter::kRcvSwitchRelayErrors), 5u);
}

TEST(CountersTest, TheTwoSetsOfRegistersAreClearedApart) {
  PortCounts counts;
  counts.Add(Counter::kSymbolErrors, 10);
  counts.Clear(Registers::kClassic, Counter::kSymbolErrors);
  counts.Add(Counter::kSymbolErrors, 2);
  EXPECT_EQ(counts.Shown(Registers::kClassic, Counter::kSymbolErrors), 2u);
  EXPECT_EQ(counts.Shown(Registers::kExtended, Counter::kSymbolErrors), 12u);
  EXPECT_EQ(counts.Total(Counter::kSymbolErrors), 12u);
}

TEST(CountersTest, StickAtTheirMaximum) {
  PortCounts counts;
  counts.Add(Counter::kXmitWait, ~uint64_t{0} - 1);
  counts.Add(Counter::kXmitWait, 5);
  EXPECT_EQ(counts.Total(Counter::kXmitWait), ~uint64_t{0});
  EXPECT_EQ(ClampedTo(4, 16), 15u);
  EXPECT_EQ(ClampedTo(4, 14), 14u);
  EXPECT_EQ(ClampedTo(64, ~uint64_t{0}), ~uint64_t{0});
}

TEST(PerformanceOptionsTest, TextReadsBackAsTheSame) {
  const std::string text = "plain,shared_clear,no_tick,slow=250";
  const auto options = ParsePerformanceOptions(text);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->family, PerformanceFamily::kPlain);
  EXPECT_TRUE(options->Has(PerformanceQuirk::kSharedClear));
  EXPECT_FALSE(options->Has(PerformanceQuirk::kUnresponsive));
  EXPECT_EQ(options->answer_delay, std::chrono::milliseconds(250));
  EXPECT_EQ(ToText(*options), text);
  EXPECT_EQ(*ParsePerformanceOptions(ToText(PerformanceOptions())), PerformanceOptions());
  EXPECT_EQ(*ParsePerformanceOptions(""), PerformanceOptions());
}

TEST(PerformanceOptionsTest, RefusesUnknownWordsByName) {
  for (const char* text : {"plane", "plain,,no_tick", "slow=", "slow=-1", "slow=3600001"}) {
    EXPECT_EQ(ParsePerformanceOptions(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_NE(ParsePerformanceOptions("plain,nonsense").status().ToString().find("\"nonsense\""),
            std::string::npos);
}

}  // namespace
}  // namespace fabricd::sim
