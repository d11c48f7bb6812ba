// SPDX-License-Identifier: Apache-2.0
#include "telemetry/temperature_day.h"

#include <gtest/gtest.h>

namespace fabricd::telemetry {
namespace {

constexpr uint64_t kHalfAnHour = 30 * 60 * 1000, kOneHour = 2 * kHalfAnHour;

TEST(TemperatureDayTest, TheMedianIsThatOfTheLastDay) {
  TemperatureDay day;
  uint64_t last = 0;
  for (uint64_t at = kHalfAnHour; at <= 60 * kOneHour; last = at, at += kHalfAnHour) {
    day.Add(at, last, at <= 36 * kOneHour ? 70 : 50);
  }
  EXPECT_EQ(day.Median(60 * kOneHour, last), 50);
}

TEST(TemperatureDayTest, AFewHotHoursDoNotMoveIt) {
  TemperatureDay day;
  uint64_t last = 0;
  for (uint64_t at = kHalfAnHour; at <= 24 * kOneHour; last = at, at += kHalfAnHour) {
    day.Add(at, last, at > 20 * kOneHour ? 75 : 50);
  }
  EXPECT_EQ(day.Median(24 * kOneHour, last), 50);
}

TEST(TemperatureDayTest, NoMedianOfLessThanHalfADay) {
  TemperatureDay day;
  EXPECT_FALSE(day.Median(kOneHour, 0));
  uint64_t last = 0;
  for (uint64_t at = kHalfAnHour; at <= 10 * kOneHour; last = at, at += kHalfAnHour)
    day.Add(at, last, 50);
  EXPECT_FALSE(day.Median(10 * kOneHour, last));
}

TEST(TemperatureDayTest, AModuleWithoutReadingsHasNoMedian) {
  TemperatureDay day;
  uint64_t last = 0;
  for (uint64_t at = kHalfAnHour; at <= 24 * kOneHour; last = at, at += kHalfAnHour)
    day.Add(at, last, std::nullopt);
  EXPECT_FALSE(day.Median(24 * kOneHour, last));
}

TEST(TemperatureDayTest, ReadingsOlderThanADayAreNotUsed) {
  TemperatureDay day;
  uint64_t last = 0;
  for (uint64_t at = kHalfAnHour; at <= 24 * kOneHour; last = at, at += kHalfAnHour)
    day.Add(at, last, 50);
  EXPECT_TRUE(day.Median(30 * kOneHour, last));
  EXPECT_FALSE(day.Median(40 * kOneHour, last));
  EXPECT_FALSE(day.Median(100 * kOneHour, last));
  day.Add(100 * kOneHour, last, 60);
  EXPECT_FALSE(day.Median(100 * kOneHour, 100 * kOneHour));
}

}  // namespace
}  // namespace fabricd::telemetry
