// SPDX-License-Identifier: Apache-2.0
#include "mad/device_queues.h"

#include <algorithm>

namespace fabricd::mad {

void DeviceQueues::Enqueue(SlotIndex index, bool front) {
  RequestSlot& slot = slots_.At(index);
  slot.state = RequestSlot::State::kQueued;
  queues_[slot.request.device][slot.request.priority].Insert(
      index, front, [this](SlotIndex each) -> RequestSlot& { return slots_.At(each); });
  ++size_;
  non_empty_.insert(slot.request.device);
}

void DeviceQueues::Dequeue(SlotIndex index) {
  const SmpRequest& request = slots_.At(index).request;
  queues_[request.device][request.priority].Remove(
      index, [this](SlotIndex each) -> RequestSlot& { return slots_.At(each); });
  --size_;
  if (TopPriority(request.device) == kPriorities) non_empty_.erase(request.device);
}

uint8_t DeviceQueues::TopPriority(DeviceId device) const {
  const auto& queues = queues_[device];
  uint8_t priority = 0;
  while (priority < kPriorities && queues[priority].empty()) ++priority;
  return priority;
}

std::vector<DeviceId> DeviceQueues::NonEmpty() const {
  std::vector<DeviceId> devices(non_empty_.begin(), non_empty_.end());
  std::sort(devices.begin(), devices.end());  // Hash order decides nothing.
  return devices;
}

}  // namespace fabricd::mad
