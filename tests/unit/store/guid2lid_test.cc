// SPDX-License-Identifier: Apache-2.0
#include "store/guid2lid.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::store {

void PrintTo(const SkippedLine& skipped, std::ostream* out) {
  *out << skipped.line << ": " << skipped.reason;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

auto Left(int line, const std::string& part) {
  return testing::AllOf(testing::Field(&SkippedLine::line, line),
                        testing::Field(&SkippedLine::reason, HasSubstr(part)));
}

// As OpenSM 3.3.23 wrote it on ibsim with LMC 2: an empty line after each, in no order of GUIDs.
constexpr const char* kOpenSm =
    "0x0002c90200000801 0x002c 0x002f\n"
    "\n"
    "0x0002c90200000501 0x0020 0x0023\n"
    "\n";

TEST(Guid2Lid, ReadsAFileOfOpenSm) {
  const Guid2Lid read = ParseGuid2Lid(kOpenSm);
  EXPECT_THAT(read.records, ElementsAre(LidRecord{Guid(0x2c90200000501), Lid(0x20), 2, 0},
                                        LidRecord{Guid(0x2c90200000801), Lid(0x2c), 2, 0}));
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(Guid2Lid, FormatParsesBackToTheSameRecords) {
  EXPECT_EQ(FormatGuid2Lid({LidRecord{Guid(0x2c90200000801), Lid(0xBFFF), 0, 5},
                            LidRecord{Guid(0x2c90200000501), Lid(0x20), 2, 0}}),
            "0x0002c90200000501 0x0020 0x0023\n\n"
            "0x0002c90200000801 0xbfff 0xbfff\n\n");
  const std::vector<LidRecord> records = ParseGuid2Lid(kOpenSm).records;
  EXPECT_EQ(ParseGuid2Lid(FormatGuid2Lid(records)).records, records);
}

TEST(Guid2Lid, ToleratesCommentsBlanksAndMissingNewline) {
  const Guid2Lid read = ParseGuid2Lid("# kept by hand\r\n\t0x1\t5  5 # decimal\r\n\r\n0x2 6 6");
  EXPECT_THAT(read.records,
              ElementsAre(LidRecord{Guid(1), Lid(5), 0, 0}, LidRecord{Guid(2), Lid(6), 0, 0}));
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(Guid2Lid, ReportsAndSkipsWrongLines) {
  const Guid2Lid read = ParseGuid2Lid(
      "0x1 0x8 0xb\n"          // 1: the only good one
      "0x2\n"                  // 2
      "0x0 0x1 0x1\n"          // 3
      "guid 0x1 0x1\n"         // 4
      "0x3 0x1 0x3\n"          // 5: three LIDs
      "0x3 0x5 0x4\n"          // 6: backwards
      "0x3 0x2 0x5\n"          // 7: not aligned
      "0x3 0xc000 0xc000\n"    // 8: multicast
      "0x1 0x20 0x20\n"        // 9: the GUID again
      "0x3 0x9 0x9\n"          // 10: within line 1
      "0x3 0x10000 0x10000\n"  // 11
      "0x3 0x0 0x0\n");        // 12
  EXPECT_THAT(read.records, ElementsAre(LidRecord{Guid(1), Lid(8), 2, 0}));
  EXPECT_THAT(
      read.skipped,
      ElementsAre(Left(2, "got 1 words"), Left(3, "'0x0' is no GUID"), Left(4, "'guid' is no GUID"),
                  Left(5, "1-3 are no 2^LMC"), Left(6, "5-4 are no 2^LMC"),
                  Left(7, "no multiple of 2^LMC"), Left(8, "are not unicast"),
                  Left(9, "also on line 1"), Left(10, "LID 9 is also on line 1"),
                  Left(11, "'0x10000' is no LID"), Left(12, "are not unicast")));
}

TEST(Guid2Lid, AnEmptyFileHasNoRecords) {
  EXPECT_THAT(ParseGuid2Lid("").records, IsEmpty());
  EXPECT_THAT(ParseGuid2Lid("\n\n").skipped, IsEmpty());
  EXPECT_EQ(FormatGuid2Lid({}), "");
}

TEST(Guid2MKey, ReadsAFileOfOpenSm) {
  const Guid2MKey read = ParseGuid2MKey(
      "0x0002c90200000801 0xfedcba9876543210\n\n0x0002c90200000501 0x0000000000000000\n\n");
  EXPECT_THAT(read.keys, ElementsAre(PortMKey{Guid(0x2c90200000501), MKey(0)},
                                     PortMKey{Guid(0x2c90200000801), MKey(0xfedcba9876543210)}));
  EXPECT_THAT(read.skipped, IsEmpty());
}

TEST(Guid2MKey, ReportsWithoutRepeatingKeys) {
  const Guid2MKey read = ParseGuid2MKey("0x1 0x5ecret\n0x1\n0x0 0x1\n0x1 0x7\n0x1 0x8\n");
  EXPECT_THAT(read.keys, ElementsAre(PortMKey{Guid(1), MKey(7)}));
  ASSERT_THAT(read.skipped, ElementsAre(Left(1, "no M_Key"), Left(2, "got 1 words"),
                                        Left(3, "is no GUID"), Left(5, "also on line 4")));
  EXPECT_THAT(read.skipped[0].reason, testing::Not(HasSubstr("5ecret")));
}

}  // namespace
}  // namespace fabricd::store
