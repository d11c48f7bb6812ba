// SPDX-License-Identifier: Apache-2.0
#include "query/port_text.h"

#include <gtest/gtest.h>

namespace fabricd::rpc {
namespace {

std::string Split(const std::string& text) {
  const auto parts = query::SplitPortText(text);
  return parts ? fmt::format("{}|{}", parts->node, parts->port) : "none";
}

TEST(PortTextTest, ThreeForms) {
  EXPECT_EQ(Split("leaf1[17]"), "leaf1|17");
  EXPECT_EQ(Split("leaf1/17"), "leaf1|17");
  EXPECT_EQ(Split("leaf1:17"), "leaf1|17");
  EXPECT_EQ(Split("node1 mlx5_0[1]"), "node1 mlx5_0|1");
  EXPECT_EQ(Split("MF0;leaf:MQM8700/U1/3"), "MF0;leaf:MQM8700/U1|3");
  EXPECT_EQ(Split("S-0000000000200000[3]"), "S-0000000000200000|3");
}

TEST(PortTextTest, RejectsTextsThatNameNoPort) {
  for (const char* text : {"", "leaf1", "leaf1/", "leaf1/x", "/3", "[3]", "leaf1]", "leaf1/256",
                           "leaf1/-1", "leaf1[3", "leaf1[]", "leaf1/3 ", "MF0;leaf:MQM8700/U1"}) {
    EXPECT_EQ(Split(text), "none") << text;
  }
}

// Unicode 15 table 3-7.
TEST(PortTextTest, Utf8IsKeptAndOtherBytesAreReplaced) {
  EXPECT_EQ(Utf8("plain"), "plain");
  EXPECT_EQ(Utf8("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(Utf8("a\xFF"
                 "b"),
            "a?b");
  EXPECT_EQ(Utf8("\xC0\x80"), "??");            // Overlong.
  EXPECT_EQ(Utf8("\xED\xA0\x80"), "???");       // A surrogate.
  EXPECT_EQ(Utf8("\xF4\x90\x80\x80"), "????");  // Beyond U+10FFFF.
  EXPECT_EQ(Utf8("cut \xE2\x82"), "cut ??");
}

}  // namespace
}  // namespace fabricd::rpc
