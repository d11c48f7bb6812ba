// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Expected {
  double ber, seconds;
  // QDR, FDR, EDR, HDR, NDR, XDR.
  std::array<uint64_t, 6> at_1_percent, at_1e6;
};

TEST(CriticalCountTest, IsTheTableOfPoissonCounts) {
  const std::array<double, 6> rates = {32e9, 56e9, 100e9, 200e9, 400e9, 800e9};
  const std::vector<Expected> table = {
      {1e-14, 720, {3, 3, 4, 6, 8, 13}, {6, 7, 8, 11, 15, 21}},
      {1e-15, 7500, {3, 3, 4, 6, 9, 13}, {6, 7, 9, 11, 15, 22}},
      {1e-15, 86'400, {8, 12, 17, 29, 50, 90}, {15, 19, 27, 41, 67, 113}},
      {1e-12, 60, {7, 9, 13, 22, 37, 66}, {12, 16, 22, 33, 52, 85}},
  };
  for (const Expected& row : table) {
    for (size_t i = 0; i < rates.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} over {} s at {}", row.ber, row.seconds, rates[i]));
      const double mean = rates[i] * row.seconds * row.ber;
      EXPECT_EQ(CriticalCount(mean, 0.01), row.at_1_percent[i]);
      EXPECT_EQ(CriticalCount(mean, 1e-6), row.at_1e6[i]);
    }
  }
}

TEST(CriticalCountTest, IsTheSmallestCountAlsoOfLargeMeans) {
  for (const double mean : {0.0, 1e-9, 0.5, 700.0, 5760.0, 1e6}) {
    for (const double probability : {0.01, 1e-6}) {
      const uint64_t count = CriticalCount(mean, probability);
      EXPECT_GE(count, 1u);
      EXPECT_LE(PoissonTail(mean, count), probability) << mean;
      if (count > 1) {
        EXPECT_GT(PoissonTail(mean, count - 1), probability) << mean;
      }
    }
  }
  EXPECT_NEAR(PoissonTail(1, 1), 1 - std::exp(-1), 1e-12);
  EXPECT_EQ(PoissonTail(3, 0), 1);
}

TEST(LimitsTest, DefaultsAreValid) { EXPECT_THAT(Check(Limits()), IsEmpty()); }

TEST(LimitsTest, EveryBadValueIsListedByName) {
  Limits limits;
  limits.ber[2].symbol.error = 1e-16;
  limits.fatal_ber = 0;
  limits.link_integrity = {3, 1, 0};
  limits.wait_windows = 4;
  limits.hot = 90;
  limits.ber.pop_back();
  EXPECT_THAT(Check(limits), ElementsAre(HasSubstr("ber[2].symbol"), HasSubstr("last row"),
                                         HasSubstr("fatal_ber"), HasSubstr("link_integrity"),
                                         HasSubstr("wait_windows"), HasSubstr("hot: 90")));
}

TEST(LimitsTest, NoNumberIsNoLimit) {
  Limits limits;
  limits.fatal_ber = std::numeric_limits<double>::quiet_NaN();
  limits.wait_strong = std::numeric_limits<double>::quiet_NaN();
  limits.ber[0].effective.warning = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Check(limits).size(), 3u);
}

LinkEvidence LinkOf(double gigabits, FecClass fec, Media media) {
  LinkEvidence link;
  link.lane_gigabits = gigabits;
  link.fec = fec;
  link.media = media;
  return link;
}

TEST(BerTableTest, FecAndMediaDecideNotSpeedAlone) {
  const Limits limits;
  const BerRow& copper = BerRowOf(LinkOf(100, FecClass::kLowLatency, Media::kCopper), limits);
  const BerRow& fibre = BerRowOf(LinkOf(100, FecClass::kKp4, Media::kOptical), limits);
  EXPECT_EQ(copper.effective.error, 1e-11);
  EXPECT_EQ(fibre.effective.error, 1e-14);
  EXPECT_EQ(copper.symbol.error, fibre.symbol.error);
  EXPECT_TRUE(BerRowOf(LinkOf(100, FecClass::kUnknown, Media::kCopper), limits).is_documented);
}

TEST(BerTableTest, SpeedsWithoutOfficialLimitsAreUndocumented) {
  const Limits limits;
  EXPECT_TRUE(BerRowOf(LinkOf(100, FecClass::kKp4, Media::kOptical), limits).is_documented);
  for (const double gigabits : {10.0, 25.0, 50.0, 200.0})
    for (const FecClass fec : {FecClass::kUnknown, FecClass::kLowLatency, FecClass::kKp4})
      EXPECT_FALSE(BerRowOf(LinkOf(gigabits, fec, Media::kOptical), limits).is_documented);
}

}  // namespace
}  // namespace fabricd::policy
