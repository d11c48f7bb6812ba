// SPDX-License-Identifier: Apache-2.0
// DeviceQueues: the requests that wait to be sent, with a queue for each device and priority. First
// in, first out, but a retry goes to the front.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "mad/device_map.h"
#include "mad/index_list.h"
#include "mad/request_slots.h"
#include "mad/smp_request.h"

namespace fabricd::mad {

class DeviceQueues {
 public:
  // `slots` must outlive this; the links of queued slots are the queues'.
  explicit DeviceQueues(RequestSlots& slots) : slots_(slots) {}

  // Call before any other function for a device.
  void Add(DeviceId device) { queues_.Add(device); }
  bool Has(DeviceId device) const { return queues_.Has(device); }

  void Enqueue(SlotIndex index, bool front);
  // REQUIRES: queued.
  void Dequeue(SlotIndex index);
  // The highest priority with a queued request. kPriorities: none is queued.
  uint8_t TopPriority(DeviceId device) const;
  // The next request. REQUIRES: something is queued.
  SlotIndex First(DeviceId device) const { return queues_[device][TopPriority(device)].head; }
  // Calls visit(SlotIndex) by priority and then in order. `visit` may dequeue that request.
  template <typename Visit>
  void ForEach(DeviceId device, Visit&& visit) {
    for (const IndexList& queue : queues_[device]) {
      for (SlotIndex index = queue.head; index != kNoIndex;) {
        const SlotIndex next = slots_.At(index).next;
        visit(index);
        index = next;
      }
    }
  }

  size_t size() const { return size_; }
  // Devices with something queued, sorted.
  std::vector<DeviceId> NonEmpty() const;

 private:
  RequestSlots& slots_;
  DeviceMap<std::array<IndexList, kPriorities>> queues_;
  size_t size_ = 0;
  absl::flat_hash_set<DeviceId> non_empty_;
};

}  // namespace fabricd::mad
