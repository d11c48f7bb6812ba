// SPDX-License-Identifier: Apache-2.0
#include "cli/render/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const std::string& text, bool ports = false) {
  std::string error;
  const auto names = ExpandHostlist(text, ports, &error);
  EXPECT_TRUE(names) << error;
  return names.value_or(std::vector<std::string>());
}

std::string Error(const std::string& text) {
  std::string error;
  EXPECT_FALSE(ExpandHostlist(text, false, &error)) << text;
  return error;
}

TEST(HostlistTest, AsSlurmWritesThem) {
  EXPECT_THAT(Names("node12"), ElementsAre("node12"));
  EXPECT_THAT(Names("node[01-03]"), ElementsAre("node01", "node02", "node03"));
  EXPECT_THAT(Names("node[8-10,2]"), ElementsAre("node8", "node9", "node10", "node2"));
  EXPECT_THAT(Names("a,b[1-2],c"), ElementsAre("a", "b1", "b2", "c"));
  EXPECT_THAT(Names("r[1-2]n[1-2]x"), ElementsAre("r1n1x", "r1n2x", "r2n1x", "r2n2x"));
  EXPECT_THAT(Names("node[1-2]/mlx5_3"), ElementsAre("node1/mlx5_3", "node2/mlx5_3"));
  EXPECT_THAT(Names("node1 mlx5_0"), ElementsAre("node1 mlx5_0"));
  EXPECT_THAT(Names("node[098-101]"), ElementsAre("node098", "node099", "node100", "node101"));
}

TEST(HostlistTest, ABracketAtTheEndOfAPortsNameIsThePort) {
  EXPECT_THAT(Names("leaf1[3]", true), ElementsAre("leaf1/3"));
  EXPECT_THAT(Names("leaf[1-2][3-4]", true),
              ElementsAre("leaf1/3", "leaf1/4", "leaf2/3", "leaf2/4"));
  EXPECT_THAT(Names("leaf[1-2]/3", true), ElementsAre("leaf1/3", "leaf2/3"));
  EXPECT_THAT(Names("leaf1[3]"), ElementsAre("leaf13"));
}

TEST(HostlistTest, RejectsInvalidHostlists) {
  EXPECT_THAT(Error("node[1-"), HasSubstr("without its ]"));
  EXPECT_THAT(Error("node[]"), HasSubstr("no range"));
  EXPECT_THAT(Error("node[3-1]"), HasSubstr("no range"));
  EXPECT_THAT(Error("node[a-b]"), HasSubstr("no range"));
  EXPECT_THAT(Error("node[1--2]"), HasSubstr("no range"));
  EXPECT_THAT(Error("a,,b"), HasSubstr("empty name"));
  EXPECT_THAT(Error(""), HasSubstr("empty name"));
  EXPECT_THAT(Error("node[1-999999999]"), HasSubstr("more than"));
  EXPECT_THAT(Error("a[1-1000]b[1-1000]"), HasSubstr("more than"));
}

}  // namespace
}  // namespace fabricd::cli
