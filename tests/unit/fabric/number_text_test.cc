// SPDX-License-Identifier: Apache-2.0
#include "common/number_text.h"

#include <gtest/gtest.h>

namespace fabricd {
namespace {

TEST(NumberText, TakesAllOfTheTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("42"), 42);
  EXPECT_EQ(ParseNumber<int>("-1"), -1);
  EXPECT_EQ(ParseNumber<double>("2.5"), 2.5);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "x"})
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << text;
}

TEST(NumberText, RefusesNumbersOutsideTheRangeOfTheType) {
  EXPECT_EQ(ParseNumber<uint8_t>("255"), 255);
  EXPECT_EQ(ParseNumber<uint8_t>("256"), std::nullopt);
  EXPECT_EQ(ParseNumber<uint8_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseHex("0xffffffffffffffff"), UINT64_MAX);
  EXPECT_EQ(ParseHex("0x10000000000000000"), std::nullopt);
}

TEST(NumberText, KnowsHexByItsPrefix) {
  EXPECT_EQ(ParseHex("10"), 16u);
  EXPECT_EQ(ParseHex("0X10"), 16u);
  EXPECT_EQ(ParseDecimalOrHex<uint16_t>("10"), 10);
  EXPECT_EQ(ParseDecimalOrHex<uint16_t>("0x10"), 16);
  for (const char* text : {"0x", "0x 1", "0x0x1", "a"})
    EXPECT_EQ(ParseDecimalOrHex<uint16_t>(text), std::nullopt) << text;
}

}  // namespace
}  // namespace fabricd
