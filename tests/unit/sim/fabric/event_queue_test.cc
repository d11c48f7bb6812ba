// SPDX-License-Identifier: Apache-2.0
// The order in which a simulated fabric runs its events, on which every digest rests.
#include "sim/fabric/event_queue.h"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Instant At(int microseconds) { return Instant{} + std::chrono::microseconds(microseconds); }

std::vector<uint64_t> IdsOfDue(EventQueue& queue, Instant now) {
  std::vector<uint64_t> ids;
  while (const std::optional<Event> event = queue.TakeDue(now)) ids.push_back(event->id);
  return ids;
}

TEST(EventQueueTest, EventsOfOneInstantRunInTheOrderOfScheduling) {
  EventQueue queue;
  queue.Schedule({At(5), Event::Kind::kTimeOut, {}, 1});
  queue.Schedule({At(5), Event::Kind::kArrive, {}, 2});
  queue.Schedule({At(3), Event::Kind::kTrap, {}, 3});
  queue.Schedule({At(5), Event::Kind::kTimeOut, {}, 4});
  queue.Schedule({At(5), Event::Kind::kTrain, {}, 5});
  EXPECT_EQ(queue.next_at(), At(3));
  EXPECT_THAT(IdsOfDue(queue, At(5)), ElementsAre(3, 1, 2, 4, 5));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, TakesNothingBeforeItIsDue) {
  EventQueue queue;
  queue.Schedule({At(5), Event::Kind::kArrive, {}, 1});
  EXPECT_THAT(IdsOfDue(queue, At(4)), IsEmpty());
  EXPECT_EQ(queue.now(), At(4));
  EXPECT_EQ(queue.next_at(), At(5));
  EXPECT_THAT(IdsOfDue(queue, At(9)), ElementsAre(1));
  EXPECT_EQ(queue.next_at(), kNever);
}

TEST(EventQueueTest, TheClockFollowsTheEventsAndNeverDecreases) {
  EventQueue queue;
  queue.Schedule({At(5), Event::Kind::kArrive, {}, 1});
  ASSERT_TRUE(queue.TakeDue(At(9)).has_value());
  EXPECT_EQ(queue.now(), At(5));
  EXPECT_FALSE(queue.TakeDue(At(9)).has_value());
  EXPECT_EQ(queue.now(), At(9));
  queue.AdvanceTo(At(2));
  EXPECT_EQ(queue.now(), At(9));
  // Scheduled for an instant that has passed, it is due at once and does not set the clock back.
  queue.Schedule({At(7), Event::Kind::kArrive, {}, 2});
  EXPECT_THAT(IdsOfDue(queue, At(1)), IsEmpty());
  EXPECT_THAT(IdsOfDue(queue, At(9)), ElementsAre(2));
  EXPECT_EQ(queue.now(), At(9));
}

}  // namespace
}  // namespace fabricd::sim
