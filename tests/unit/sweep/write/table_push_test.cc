// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/table_push.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

routing::TableWrite WriteOf(uint32_t node, uint16_t block, uint16_t stage, uint16_t wave) {
  return {NodeIndex(node), block, stage, wave, ~uint64_t{0}, false};
}

// "node/block" of all that may be sent now.
std::vector<std::string> TakeWrites(TablePush& push, const TablePush::IsBusy& is_busy = nullptr) {
  std::vector<std::string> texts;
  const auto free = [](NodeIndex, uint16_t) { return false; };
  while (const auto write = push.Next(is_busy ? is_busy : free))
    texts.push_back(fmt::format("{}/{}", write->node, write->block));
  return texts;
}

TEST(TablePush, IsDoneAtOnceWithoutWrites) {
  TablePush push;
  EXPECT_TRUE(push.done());
  EXPECT_THAT(TakeWrites(push), IsEmpty());
}

TEST(TablePush, WavesOfOneBlockWaitForEachOtherAndOtherBlocksDoNot) {
  TablePush push({WriteOf(1, 0, 0, 0), WriteOf(2, 0, 0, 0), WriteOf(1, 5, 0, 0),
                  WriteOf(3, 0, 0, 1), WriteOf(2, 5, 0, 1)});
  EXPECT_THAT(TakeWrites(push), ElementsAre("1/0", "2/0", "1/5"));
  push.OnAnswer(NodeIndex(1), 5, true);
  EXPECT_THAT(TakeWrites(push), ElementsAre("2/5"));
  push.OnAnswer(NodeIndex(1), 0, true);
  EXPECT_THAT(TakeWrites(push), IsEmpty());
  push.OnAnswer(NodeIndex(2), 0, true);
  EXPECT_THAT(TakeWrites(push), ElementsAre("3/0"));
  push.OnAnswer(NodeIndex(3), 0, true);
  EXPECT_FALSE(push.done());
  push.OnAnswer(NodeIndex(2), 5, true);
  EXPECT_TRUE(push.done());
  EXPECT_EQ(push.sent(), 5u);
  EXPECT_EQ(push.size(), 5u);
  EXPECT_EQ(push.skipped(), 0u);
}

TEST(TablePush, AStageWaitsForAllBlocksOfTheOneBefore) {
  TablePush push({WriteOf(1, 0, 0, 0), WriteOf(1, 1, 0, 0), WriteOf(2, 7, 1, 0)});
  EXPECT_THAT(TakeWrites(push), ElementsAre("1/0", "1/1"));
  push.OnAnswer(NodeIndex(1), 0, true);
  EXPECT_THAT(TakeWrites(push), IsEmpty());
  push.OnAnswer(NodeIndex(1), 1, true);
  EXPECT_THAT(TakeWrites(push), ElementsAre("2/7"));
}

TEST(TablePush, AFailureSkipsLaterWavesOfItsBlockAndAllLaterStages) {
  TablePush push({WriteOf(1, 0, 0, 0), WriteOf(1, 1, 0, 0), WriteOf(2, 0, 0, 1),
                  WriteOf(2, 1, 0, 1), WriteOf(3, 0, 1, 0)});
  TakeWrites(push);
  push.OnAnswer(NodeIndex(1), 0, false);
  EXPECT_EQ(push.skipped(), 1u);
  EXPECT_FALSE(push.done());
  push.OnAnswer(NodeIndex(1), 1, true);
  EXPECT_THAT(TakeWrites(push), ElementsAre("2/1")) << "the other block goes on";
  push.OnAnswer(NodeIndex(2), 1, true);
  EXPECT_TRUE(push.done());
  EXPECT_EQ(push.skipped(), 2u);
  EXPECT_EQ(push.sent(), 3u);
}

TEST(TablePush, ABusyBlockIsPassedOverUntilItIsFree) {
  TablePush push({WriteOf(1, 0, 0, 0), WriteOf(2, 0, 0, 0)});
  bool busy = true;
  const auto is_busy = [&](NodeIndex node, uint16_t) { return busy && node == NodeIndex(1); };
  EXPECT_THAT(TakeWrites(push, is_busy), ElementsAre("2/0"));
  push.OnAnswer(NodeIndex(2), 0, true);
  EXPECT_FALSE(push.done());
  busy = false;
  EXPECT_THAT(TakeWrites(push, is_busy), ElementsAre("1/0"));
}

TEST(TablePush, ABlockThatIsWrittenTwiceWaitsForItsFirstAnswer) {
  TablePush push({WriteOf(1, 0, 0, 0), WriteOf(1, 0, 0, 1)});
  EXPECT_THAT(TakeWrites(push), ElementsAre("1/0"));
  push.OnAnswer(NodeIndex(1), 0, true);
  EXPECT_THAT(TakeWrites(push), ElementsAre("1/0"));
  push.OnAnswer(NodeIndex(1), 0, true);
  EXPECT_TRUE(push.done());
}

TEST(TablePushDeathTest, AnAnswerToNoWriteIsRefused) {
  TablePush push({WriteOf(1, 0, 0, 0)});
  EXPECT_DEATH(push.OnAnswer(NodeIndex(1), 0, true), "block 0 of node index 1");
}

}  // namespace
}  // namespace fabricd::sweep
