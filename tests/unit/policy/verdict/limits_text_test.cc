// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/limits_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LimitsText, ReadsCountsSharesAndRatios) {
  Limits limits;
  ASSERT_TRUE(ApplyLimit("link_downs 2 5 9", limits).ok());
  EXPECT_EQ(limits.link_downs.suspect, 2u);
  EXPECT_EQ(limits.link_downs.fatal, 9u);
  ASSERT_TRUE(ApplyLimit("  wait  0.05\t0.2 ", limits).ok());
  EXPECT_EQ(limits.wait_suspect, 0.05);
  EXPECT_EQ(limits.wait_strong, 0.2);
  const size_t rows = limits.ber.size();
  ASSERT_TRUE(ApplyLimit("ber 190 kp4 optical 1e-15 5e-15 1e-14 2e-15 6e-15 2e-14", limits).ok());
  ASSERT_EQ(limits.ber.size(), rows + 1);
  EXPECT_EQ(limits.ber[0].fec, FecClass::kKp4);
  EXPECT_EQ(limits.ber[0].media, Media::kOptical);
  EXPECT_EQ(limits.ber[0].effective.error, 2e-14);
  EXPECT_THAT(Check(limits), IsEmpty());
}

TEST(LimitsText, ReportsFaultyLimits) {
  Limits limits;
  const auto fault = [&](std::string_view text) { return Message(ApplyLimit(text, limits)); };
  EXPECT_THAT(fault(""), HasSubstr("empty"));
  EXPECT_THAT(fault("link_down 1 2 3"),
              HasSubstr("there is no limit \"link_down\"; there are ber"));
  EXPECT_THAT(fault("link_downs 1 2"), HasSubstr("link_downs has 3 numbers, not 2"));
  EXPECT_THAT(fault("link_downs 1 two 3"), HasSubstr("\"two\" is no number"));
  EXPECT_THAT(fault("link_downs 1 -2 3"), HasSubstr("\"-2\" is no number"));
  EXPECT_THAT(fault("ber"), HasSubstr("six ratios"));
  EXPECT_THAT(fault("ber ndr kp4 any 1 1 1 1 1 1"), HasSubstr("no number of Gb/s"));
  EXPECT_THAT(fault("ber 90 rs any 1 1 1 1 1 1"), HasSubstr("\"rs\" is none of"));
  EXPECT_THAT(fault("ber 90 any fibre 1 1 1 1 1 1"), HasSubstr("\"fibre\" is none of"));
}

TEST(LimitsText, WrittenLimitsAreReadBackUnchanged) {
  Limits limits;
  Limits read;
  read.ber.clear();
  for (const std::string& text : LimitTexts(limits)) {
    // The default table has rows of media that are unknown, which nobody configures.
    if (text.find("unknown") != std::string::npos) continue;
    ASSERT_TRUE(ApplyLimit(text, read).ok()) << text;
  }
  EXPECT_EQ(read.ber.front().min_gigabits, limits.ber.front().min_gigabits);
  EXPECT_EQ(LimitTexts(read).front(), LimitTexts(limits).front());
}

}  // namespace
}  // namespace fabricd::policy
