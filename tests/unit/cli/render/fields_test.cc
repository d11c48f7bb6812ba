// SPDX-License-Identifier: Apache-2.0
#include "cli/render/fields.h"

#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

bool Holds(const std::string& condition, const pb::GetSmResponse& sm = SampleSm()) {
  std::string error;
  const auto parsed =
      FieldCondition::Parse(condition, pb::GetSmResponse::default_instance(), &error);
  EXPECT_TRUE(parsed) << error;
  return parsed && parsed->Holds(sm);
}

TEST(FieldsTest, Set) {
  EXPECT_TRUE(Holds("subnet_up"));
  EXPECT_TRUE(Holds("nodes"));
  EXPECT_TRUE(Holds("engine"));
  for (const char* field : {"subnet_up", "nodes", "engine"})
    EXPECT_FALSE(Holds(field, {})) << field;
}

TEST(FieldsTest, Equal) {
  EXPECT_TRUE(Holds("state=MASTER"));
  EXPECT_FALSE(Holds("state=STANDBY"));
  EXPECT_TRUE(Holds("links=5"));
  EXPECT_FALSE(Holds("links=50"));
  EXPECT_TRUE(Holds("subnet_up=true"));
  EXPECT_FALSE(Holds("subnet_up=false"));
}

TEST(FieldsTest, AtLeast) {
  EXPECT_TRUE(Holds("generation>=7"));
  EXPECT_FALSE(Holds("generation>=8"));
}

TEST(FieldsTest, RejectsInvalidConditions) {
  for (const char* text :
       {"", "nothing", "last_sweep", "problems", "=x", "generation>=x", "generation>="}) {
    std::string error;
    EXPECT_FALSE(FieldCondition::Parse(text, pb::GetSmResponse::default_instance(), &error))
        << text;
    EXPECT_FALSE(error.empty()) << text;
  }
}

}  // namespace
}  // namespace fabricd::cli::testing
