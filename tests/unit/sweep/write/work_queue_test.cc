// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

WorkItem ItemAt(uint32_t node, uint16_t block, int port, Work work = Work::kReadLft) {
  return {NodeIndex(node), block, PortNum(static_cast<uint8_t>(port)), work};
}
bool IsFree(const WorkItem&) { return false; }

std::vector<WorkItem> TakeItems(WorkQueue& queue) {
  std::vector<WorkItem> items;
  while (const auto item = queue.Next(IsFree)) items.push_back(*item);
  return items;
}

TEST(WorkQueue, GivesItemsInTheirOrderAndCountsThem) {
  WorkQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.Add(ItemAt(2, 0, 0));
  queue.Add(ItemAt(1, 0, 0));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.Next(IsFree), ItemAt(2, 0, 0));
  EXPECT_EQ(queue.position(), 1u);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.Next(IsFree), ItemAt(1, 0, 0));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.Next(IsFree), std::nullopt);
}

TEST(WorkQueue, StripesABatchByBlockAndPortAndKeepsTheOrderOfNodes) {
  WorkQueue queue;
  for (const WorkItem& item : {ItemAt(9, 1, 0), ItemAt(9, 0, 2), ItemAt(9, 0, 1), ItemAt(3, 0, 1)})
    queue.Add(item);
  queue.Stripe();
  EXPECT_THAT(TakeItems(queue),
              ElementsAre(ItemAt(9, 0, 1), ItemAt(3, 0, 1), ItemAt(9, 0, 2), ItemAt(9, 1, 0)));
}

TEST(WorkQueue, StripesEachItemOnce) {
  WorkQueue queue;
  for (const WorkItem& item :
       {ItemAt(9, 0, 1), ItemAt(3, 0, 1), ItemAt(9, 0, 1), ItemAt(9, 0, 1, Work::kReadPKeys)})
    queue.Add(item);
  queue.StripeUnique();
  EXPECT_THAT(TakeItems(queue),
              ElementsAre(ItemAt(3, 0, 1), ItemAt(9, 0, 1), ItemAt(9, 0, 1, Work::kReadPKeys)));
}

TEST(WorkQueue, ALaterBatchIsOrderedBehindTheOneBefore) {
  WorkQueue queue;
  queue.Add(ItemAt(1, 5, 0));
  queue.Stripe();
  queue.EndBatch();
  queue.Add(ItemAt(2, 3, 0));
  queue.Add(ItemAt(1, 2, 0));
  queue.StripeUnique();
  queue.MoveToFront([](const WorkItem& item) { return item.block == 3; });
  EXPECT_THAT(TakeItems(queue), ElementsAre(ItemAt(1, 5, 0), ItemAt(2, 3, 0), ItemAt(1, 2, 0)));
}

TEST(WorkQueue, MovesItemsToTheFrontAndKeepsTheOrderOfTheOthers) {
  WorkQueue queue;
  for (uint32_t node : {1, 2, 3, 4}) queue.Add(ItemAt(node, 0, 0));
  queue.MoveToFront([](const WorkItem& item) { return item.node.value() % 2 == 0; });
  EXPECT_THAT(TakeItems(queue),
              ElementsAre(ItemAt(2, 0, 0), ItemAt(4, 0, 0), ItemAt(1, 0, 0), ItemAt(3, 0, 0)));
}

TEST(WorkQueue, ABusyItemIsDeferredBehindAllOthersAndNotLost) {
  WorkQueue queue;
  for (uint32_t node : {1, 2, 3}) queue.Add(ItemAt(node, 0, 0));
  bool busy = true;
  const auto is_busy = [&](const WorkItem& item) { return busy && item.node == NodeIndex(1); };
  EXPECT_EQ(queue.Next(is_busy), ItemAt(2, 0, 0));
  EXPECT_EQ(queue.Next(is_busy), ItemAt(3, 0, 0));
  EXPECT_EQ(queue.Next(is_busy), std::nullopt);
  EXPECT_FALSE(queue.empty());
  busy = false;
  EXPECT_EQ(queue.Next(is_busy), ItemAt(1, 0, 0));
  EXPECT_TRUE(queue.empty());
}

TEST(WorkQueue, ItemsThatAreAddedWhileSomeAreDeferredAreTaken) {
  WorkQueue queue;
  queue.Add(ItemAt(1, 0, 0));
  const auto is_busy = [](const WorkItem& item) { return item.node == NodeIndex(1); };
  EXPECT_EQ(queue.Next(is_busy), std::nullopt);
  queue.Add(ItemAt(2, 1, 0));
  EXPECT_EQ(queue.Next(is_busy), ItemAt(2, 1, 0));
  EXPECT_EQ(queue.Next(IsFree), ItemAt(1, 0, 0));
}

TEST(WorkQueue, IsEmptyAfterItWasCleared) {
  WorkQueue queue;
  queue.Add(ItemAt(1, 0, 0));
  EXPECT_EQ(queue.Next([](const WorkItem&) { return true; }), std::nullopt);
  queue.Add(ItemAt(2, 0, 0));
  queue.EndBatch();
  queue.Clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
  queue.Add(ItemAt(4, 0, 0));
  queue.Add(ItemAt(3, 0, 0));
  queue.StripeUnique();
  EXPECT_THAT(TakeItems(queue), ElementsAre(ItemAt(3, 0, 0), ItemAt(4, 0, 0)));
}

}  // namespace
}  // namespace fabricd::sweep
