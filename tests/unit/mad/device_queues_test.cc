// SPDX-License-Identifier: Apache-2.0
// Queues of requests by device and priority.
#include "mad/device_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DeviceQueuesTest : public testing::Test {
 protected:
  SlotIndex Add(DeviceId device, uint8_t priority, bool front = false) {
    SmpRequest request;
    request.device = device;
    request.priority = priority;
    const SlotIndex index = slots_.Allocate(request);
    queues_.Add(device);
    queues_.Enqueue(index, front);
    return index;
  }
  std::vector<SlotIndex> Queued(DeviceId device) {
    std::vector<SlotIndex> indices;
    queues_.ForEach(device, [&](SlotIndex index) { indices.push_back(index); });
    return indices;
  }

  RequestSlots slots_{1};
  DeviceQueues queues_{slots_};
};

TEST_F(DeviceQueuesTest, FirstInFirstOutAndRepeatsToTheFront) {
  const SlotIndex a = Add(7, 1), b = Add(7, 1), repeat = Add(7, 1, /*front=*/true);
  EXPECT_THAT(Queued(7), ElementsAre(repeat, a, b));
  EXPECT_EQ(queues_.First(7), repeat);
  queues_.Dequeue(a);
  EXPECT_THAT(Queued(7), ElementsAre(repeat, b));
  queues_.Dequeue(repeat);
  EXPECT_EQ(queues_.First(7), b);
}

TEST_F(DeviceQueuesTest, TheTopPriorityIsTheFirstThatHasSomething) {
  const SlotIndex background = Add(2, 2);
  EXPECT_EQ(queues_.TopPriority(2), 2);
  const SlotIndex urgent = Add(2, 0);
  EXPECT_EQ(queues_.TopPriority(2), 0);
  EXPECT_EQ(queues_.First(2), urgent);
  EXPECT_THAT(Queued(2), ElementsAre(urgent, background));
  queues_.Dequeue(urgent);
  queues_.Dequeue(background);
  EXPECT_EQ(queues_.TopPriority(2), kPriorities);
}

TEST_F(DeviceQueuesTest, CountsRequestsAndListsDevicesThatHaveSome) {
  const SlotIndex a = Add(9, 1);
  Add(4, 1);
  Add(4, 2);
  EXPECT_EQ(queues_.size(), 3u);
  EXPECT_THAT(queues_.NonEmpty(), ElementsAre(4, 9));
  queues_.Dequeue(a);
  EXPECT_EQ(queues_.size(), 2u);
  EXPECT_THAT(queues_.NonEmpty(), ElementsAre(4));
}

TEST_F(DeviceQueuesTest, DevicesBelowAnAddedOneHaveEmptyQueues) {
  EXPECT_FALSE(queues_.Has(0));
  queues_.Add(100);
  EXPECT_TRUE(queues_.Has(0));
  EXPECT_TRUE(queues_.Has(100));
  EXPECT_EQ(queues_.TopPriority(50), kPriorities);
  EXPECT_THAT(Queued(50), IsEmpty());
}

TEST_F(DeviceQueuesTest, AVisitMayDequeueTheRequest) {
  const SlotIndex a = Add(1, 1), b = Add(1, 1), c = Add(1, 2);
  queues_.ForEach(1, [&](SlotIndex index) {
    if (index == b) return;
    queues_.Dequeue(index);
    slots_.Free(index);
  });
  EXPECT_THAT(Queued(1), ElementsAre(b));
  EXPECT_NE(a, c);
}

}  // namespace
}  // namespace fabricd::mad
