// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/source_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace fabricd::daemon {
namespace {

using testing::ElementsAre;

using Queue = SourceQueue<std::string>;

TEST(SourceQueueTest, SourcesTakeTurns) {
  Queue queue(100, 10);
  for (const char* item : {"a1", "a2", "a3"}) ASSERT_TRUE(queue.Push(1, item));
  ASSERT_TRUE(queue.Push(2, "b1"));
  ASSERT_TRUE(queue.Push(3, "c1"));
  ASSERT_TRUE(queue.Push(3, "c2"));
  std::vector<std::string> taken;
  ASSERT_TRUE(queue.Take(taken, 4));
  EXPECT_THAT(taken, ElementsAre("a1", "b1", "c1", "a2"));
  ASSERT_TRUE(queue.Take(taken, 100));
  EXPECT_THAT(taken, ElementsAre("a1", "b1", "c1", "a2", "c2", "a3"));
}

TEST(SourceQueueTest, AStormOfOneSourceLeavesRoomForOthers) {
  Queue queue(8, 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Push(1, "storm"));
  std::string refused = "storm";
  EXPECT_FALSE(queue.Push(1, std::move(refused)));
  EXPECT_EQ(refused, "storm") << "the producer still has it, to answer BUSY";
  EXPECT_TRUE(queue.Push(2, "other"));
}

TEST(SourceQueueTest, AFullQueueStillTakesOneOfANewSource) {
  Queue queue(4, 4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.Push(1, "storm"));
  EXPECT_TRUE(queue.Push(2, "first"));
  EXPECT_FALSE(queue.Push(2, "second"));
  std::vector<std::string> taken;
  ASSERT_TRUE(queue.Take(taken, 2));
  EXPECT_THAT(taken, ElementsAre("storm", "first"));
  EXPECT_TRUE(queue.Push(1, "again"));
}

// Few consumers are woken for many items, but no item waits while all consumers sleep.
TEST(SourceQueueTest, WakesAsManyConsumersAsItemsNeed) {
  Queue queue(100, 100);
  std::atomic<size_t> taken = 0;
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i)
    takers.emplace_back([&] {
      std::vector<std::string> batch;
      while (queue.Take(batch, 2)) {
        taken += batch.size();
        batch.clear();
      }
    });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  size_t pushed = 0;
  for (int round = 0; round < 20'000 && taken == pushed; ++round) {
    for (int i = 0; i <= round % 7; ++i, ++pushed)
      EXPECT_TRUE(queue.Push(static_cast<uint16_t>(i % 3), "item"));
    while (taken != pushed && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  EXPECT_EQ(taken, pushed);
  queue.Close();
  for (std::thread& taker : takers) taker.join();
}

TEST(SourceQueueTest, CloseWakesWaitingConsumers) {
  Queue queue(4, 4);
  bool open = true;
  std::thread consumer([&] {
    std::vector<std::string> taken;
    open = queue.Take(taken, 1);
  });
  queue.Close();
  consumer.join();
  EXPECT_FALSE(open);
  EXPECT_FALSE(queue.Push(1, "late"));
}

}  // namespace
}  // namespace fabricd::daemon
