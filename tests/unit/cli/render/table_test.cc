// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <gtest/gtest.h>

namespace fabricd::cli {
namespace {

Table Sample() {
  Table table({"NAME", "STATUS", "X"});
  table.AddRow({"a", {"ACTIVE", Tone::kGood}, "1"});
  table.AddRow({"longer", {"DOWN", Tone::kBad}, ""});
  return table;
}

TEST(TableTest, ColumnsAlignAndLinesEndWithText) {
  EXPECT_EQ(Sample().Render({}),
            "NAME     STATUS   X\n"
            "a        ACTIVE   1\n"
            "longer   DOWN     <none>\n");
}

TEST(TableTest, WithoutHeadersTheyTakeNoRoom) {
  Table table({"A VERY LONG HEADER", "B"});
  table.AddRow({"a", "b"});
  EXPECT_EQ(table.Render({.headers = false}), "a   b\n");
}

TEST(TableTest, ColorChangesNoAlignment) {
  EXPECT_EQ(Sample().Render({.headers = false, .color = true}),
            "a        \x1b[32mACTIVE\x1b[0m   1\n"
            "longer   \x1b[31mDOWN\x1b[0m     <none>\n");
}

TEST(TableTest, CodePointsAreOneColumnEach) {
  Table table({"N", "V"});
  table.AddRow({"ä€", "1"});
  table.AddRow({"ab", "2"});
  EXPECT_EQ(table.Render({.headers = false}), "ä€   1\nab   2\n");
}

TEST(TableTest, EmptyIsTheHeader) { EXPECT_EQ(Table({"A", "B"}).Render({}), "A   B\n"); }

}  // namespace
}  // namespace fabricd::cli
