// SPDX-License-Identifier: Apache-2.0
// Which request is sent next, where limits are full, and who goes first when a place is free.
#include "mad/device_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using testing::ElementsAre;

class DeviceSchedulerTest : public testing::Test {
 protected:
  DeviceSchedulerTest() {
    options_.device_limit = 2;
    options_.subtree_limit = 2;
  }
  // The modifier is its number.
  void Submit(DeviceId device, uint32_t number, wire::DirectedPath path = {1},
              uint8_t priority = 1) {
    SmpRequest request;
    request.device = device;
    request.modifier = number;
    request.path = path;
    request.priority = priority;
    Submit(request);
  }
  void Submit(const SmpRequest& request) {
    queues_.Add(request.device);
    suspects_.Add(request.device);
    scheduler_.Add(request.device);
    queues_.Enqueue(slots_.Allocate(request), /*front=*/false);
    scheduler_.OnQueueChange(request.device);
  }
  // Numbers of all that may go out now.
  std::vector<uint32_t> SendAll() {
    std::vector<uint32_t> numbers;
    for (SlotIndex index = scheduler_.TakeNext(); index != kNoIndex;
         index = scheduler_.TakeNext()) {
      numbers.push_back(slots_.At(index).request.modifier);
      sent_.push_back(index);
    }
    return numbers;
  }
  // The attempt is over, and with it the request.
  void End(uint32_t number) {
    const auto found = std::find_if(sent_.begin(), sent_.end(), [&](SlotIndex index) {
      return slots_.At(index).request.modifier == number;
    });
    ASSERT_NE(found, sent_.end());
    scheduler_.Release(slots_.At(*found));
    slots_.Free(*found);
    sent_.erase(found);
  }
  void Suspect(DeviceId device) {
    suspects_.Add(device);
    scheduler_.Add(device);
    queues_.Add(device);
    suspects_.OnTimeout(device, 0);
    scheduler_.OnSuspectChange(device);
  }

  EngineOptions options_;
  RequestSlots slots_{1};
  DeviceQueues queues_{slots_};
  SuspectDevices suspects_;
  DeviceScheduler scheduler_{options_, slots_, queues_, suspects_, /*suspect_limit=*/2};
  std::vector<SlotIndex> sent_;
};

TEST_F(DeviceSchedulerTest, DevicesTakeTurnsAndUrgentRequestsGoFirst) {
  Submit(5, 0);
  Submit(5, 1);
  Submit(3, 2);
  Submit(4, 3, {1}, /*priority=*/0);
  EXPECT_THAT(SendAll(), ElementsAre(3, 0, 2, 1));
  EXPECT_EQ(queues_.size(), 0u);
}

TEST_F(DeviceSchedulerTest, ADeviceHasNoMoreInFlightThanItsLimit) {
  for (uint32_t number = 0; number < 4; ++number) Submit(0, number);
  EXPECT_THAT(SendAll(), ElementsAre(0, 1));
  End(1);
  EXPECT_THAT(SendAll(), ElementsAre(2));
}

TEST_F(DeviceSchedulerTest, ASuspectDeviceHasOneInFlight) {
  Suspect(0);
  for (uint32_t number = 0; number < 4; ++number) Submit(0, number);
  EXPECT_THAT(SendAll(), ElementsAre(0));
  suspects_.Clear(0);
  scheduler_.OnSuspectChange(0);
  EXPECT_THAT(SendAll(), ElementsAre(1));
}

TEST_F(DeviceSchedulerTest, AtTheFirstContactADeviceHasOneInFlightUntilItHasAnsweredSome) {
  options_.first_contact = true;
  options_.device_trial = 2;
  for (uint32_t number = 0; number < 4; ++number) Submit(0, number);
  EXPECT_THAT(SendAll(), ElementsAre(0));
  suspects_.OnAnswer(0, Instant());
  End(0);
  EXPECT_THAT(SendAll(), ElementsAre(1));
  suspects_.OnAnswer(0, Instant());
  End(1);
  EXPECT_THAT(SendAll(), ElementsAre(2, 3));
}

TEST_F(DeviceSchedulerTest, RequestsBehindOneEgressPortOfTheFirstSwitchShareALimit) {
  Submit(0, 0, {1, 7, 1});
  Submit(1, 1, {1, 7, 2});
  Submit(2, 2, {1, 7, 3});
  Submit(3, 3, {1, 8, 1});
  Submit(4, 4, {1});
  SmpRequest by_lid;
  by_lid.device = 5;
  by_lid.modifier = 5;
  by_lid.path = {1, 7, 4};
  by_lid.lid = Lid(9);
  Submit(by_lid);
  EXPECT_THAT(SendAll(), ElementsAre(0, 1, 3, 4, 5));
  End(3);
  EXPECT_THAT(SendAll(), ElementsAre()) << "another subtree";
  End(0);
  EXPECT_THAT(SendAll(), ElementsAre(2));
}

TEST_F(DeviceSchedulerTest, DevicesThatWaitedAtAGateGoAheadOfThoseThatAreReady) {
  for (uint32_t number = 0; number < 4; ++number) Submit(number, number, {1, 7, 1});
  EXPECT_THAT(SendAll(), ElementsAre(0, 1));
  Submit(9, 9);
  End(0);
  End(1);
  EXPECT_THAT(SendAll(), ElementsAre(3, 2, 9));
}

TEST_F(DeviceSchedulerTest, AnUrgentRequestNeedNotWaitAtTheGateOfTheNextOne) {
  for (uint32_t number = 0; number < 3; ++number) Submit(number, number, {1, 7, 1});
  EXPECT_THAT(SendAll(), ElementsAre(0, 1));
  Submit(2, 3, {1, 8, 1}, /*priority=*/0);
  EXPECT_THAT(SendAll(), ElementsAre(3));
}

TEST_F(DeviceSchedulerTest, SuspectDevicesTogetherHaveALimitThatMayGrow) {
  for (DeviceId device = 0; device < 4; ++device) {
    Suspect(device);
    Submit(device, device);
  }
  Submit(8, 8);
  EXPECT_THAT(SendAll(), ElementsAre(0, 1, 8));
  scheduler_.SetSuspectLimit(3);
  EXPECT_THAT(SendAll(), ElementsAre(2));
  suspects_.Clear(3);
  scheduler_.OnSuspectChange(3);
  EXPECT_THAT(SendAll(), ElementsAre(3)) << "it waits with the suspects no longer";
}

TEST_F(DeviceSchedulerTest, ANewRouteLeavesTheGateOfTheOldOne) {
  for (uint32_t number = 0; number < 3; ++number) Submit(number, number, {1, 7, 1});
  EXPECT_THAT(SendAll(), ElementsAre(0, 1));
  slots_.At(queues_.First(2)).request.path = {1, 8};
  scheduler_.OnRouteChange(2);
  EXPECT_THAT(SendAll(), ElementsAre(2));
}

TEST_F(DeviceSchedulerTest, TheAlternativeIsTakenAfterSoManyTimeouts) {
  options_.alternative_after = 2;
  SmpRequest request;
  request.path = {1, 7};
  request.alternative = wire::DirectedPath{1, 8};
  Submit(request);
  slots_.At(queues_.First(0)).timeouts = 1;
  const SlotIndex first = scheduler_.TakeNext();
  EXPECT_EQ(slots_.At(first).path(), (wire::DirectedPath{1, 7}));
  scheduler_.Release(slots_.At(first));
  slots_.At(first).timeouts = 2;
  queues_.Enqueue(first, /*front=*/true);
  scheduler_.OnQueueChange(0);
  ASSERT_EQ(scheduler_.TakeNext(), first);
  EXPECT_EQ(slots_.At(first).path(), (wire::DirectedPath{1, 8}));
}

TEST_F(DeviceSchedulerTest, ADeviceWhoseQueueIsEmptyGivesItsPlaceAtTheGateToTheNext) {
  for (uint32_t number = 0; number < 4; ++number) Submit(number, number, {1, 7, 1});
  EXPECT_THAT(SendAll(), ElementsAre(0, 1));
  End(0);  // Device 2 is ready now.
  const SlotIndex cancelled = queues_.First(2);
  queues_.Dequeue(cancelled);
  slots_.Free(cancelled);
  scheduler_.OnQueueChange(2);
  EXPECT_THAT(SendAll(), ElementsAre(3));
}

}  // namespace
}  // namespace fabricd::mad
