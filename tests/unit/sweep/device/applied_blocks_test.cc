// SPDX-License-Identifier: Apache-2.0
// What a port's P_Key table is believed to hold: only what an answer showed.
#include "sweep/device/applied_blocks.h"

#include <gtest/gtest.h>

#include "mad/wire/tables.h"

namespace fabricd::sweep {
namespace {

using Blocks = AppliedBlocks<wire::PKeyTable>;

wire::PKeyTable With(uint16_t key) {
  wire::PKeyTable table;
  table.keys[0] = PKey(key);
  return table;
}

Blocks Of(size_t blocks) {
  Blocks made;
  made.Resize(blocks);
  return made;
}

TEST(AppliedBlocks, ABlockIsKnownFromItsAnswerToTheNextSet) {
  Blocks blocks = Of(2);
  EXPECT_EQ(blocks.Find(0), nullptr);
  blocks.Confirm(0, With(1));
  EXPECT_TRUE(blocks.Knows(0));
  EXPECT_FALSE(blocks.Knows(1));
  blocks.MarkSent(0, With(2));
  EXPECT_FALSE(blocks.Knows(0));
  EXPECT_EQ(blocks.Find(0), nullptr) << "a Set without an answer may have been carried out";
  EXPECT_TRUE(blocks.Answer(0, With(2)));
  ASSERT_TRUE(blocks.Knows(0));
  EXPECT_EQ(*blocks.Find(0), With(2));
}

TEST(AppliedBlocks, KeepsAContradictedBlockUnknownUntilAnAnswerMatches) {
  Blocks blocks = Of(1);
  blocks.Confirm(0, With(1));
  blocks.MarkSent(0, With(2));
  EXPECT_FALSE(blocks.Answer(0, With(1)));
  EXPECT_FALSE(blocks.Knows(0));
  EXPECT_TRUE(blocks.IsContradicted(0));
  ASSERT_NE(blocks.Find(0), nullptr);
  EXPECT_EQ(*blocks.Find(0), With(2)) << "it answered a Set of this";
  blocks.ReadAgain();
  EXPECT_TRUE(blocks.IsContradicted(0)) << "what it shows proves nothing";
  blocks.MarkSent(0, With(2));
  EXPECT_TRUE(blocks.Answer(0, With(2)));
  EXPECT_FALSE(blocks.IsContradicted(0));
  EXPECT_TRUE(blocks.Knows(0));
  blocks.ReadAgain();
  EXPECT_EQ(blocks.Find(0), nullptr);
}

TEST(AppliedBlocks, ASetWithoutAnAnswerIsReadAndThenWritten) {
  Blocks blocks = Of(1);
  blocks.MarkSent(0, With(2));
  EXPECT_FALSE(blocks.IsContradicted(0));
  blocks.Confirm(0, With(1));
  ASSERT_TRUE(blocks.Knows(0));
  EXPECT_EQ(*blocks.Find(0), With(1));
}

TEST(AppliedBlocks, IgnoresALateAnswerToAForgottenTable) {
  Blocks blocks = Of(1);
  blocks.MarkSent(0, With(2));
  blocks.Forget();
  EXPECT_TRUE(blocks.Answer(0, With(2)));
  EXPECT_FALSE(blocks.Knows(0));
  blocks.MarkSent(0, With(2));
  EXPECT_FALSE(blocks.Answer(0, With(1)));
  blocks.Forget();
  EXPECT_FALSE(blocks.IsContradicted(0));
  EXPECT_EQ(blocks.Find(0), nullptr);
}

TEST(AppliedBlocks, IgnoresABlockBeyondTheTable) {
  Blocks blocks = Of(1);
  blocks.Confirm(1, With(1));
  blocks.MarkSent(1, With(1));
  EXPECT_TRUE(blocks.Answer(1, With(1)));
  EXPECT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.Find(1), nullptr);
}

}  // namespace
}  // namespace fabricd::sweep
