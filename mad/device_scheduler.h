// SPDX-License-Identifier: Apache-2.0
// DeviceScheduler: selects the queued request that is sent next: by priority, and within one
// priority round-robin over the devices. A request is sent if three limits allow it (the window is
// the caller's):
//   device    device_limit in flight to one device, 1 while the device is suspect, and at the first
//             contact with a fabric until it has answered some requests;
//   subtree   subtree_limit in flight behind one egress port of the first switch, that is per
//             (path[0], path[1]) of a path of two or more hops. The first hop alone says nothing:
//             the SM's CA has one port. Shorter paths and LID routed requests have no subtree;
//   suspects  AdaptiveWindow::suspect_limit() for all suspect devices together, so that
//             unresponsive devices are still probed but cannot fill the window.
//
// A limit that several devices share is a Gate. A device that finds one full waits there, at no
// cost, until a place is free. Then it goes ahead of devices that did not wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "mad/device_map.h"
#include "mad/device_queues.h"
#include "mad/engine_options.h"
#include "mad/index_list.h"
#include "mad/request_slots.h"
#include "mad/suspect_devices.h"

namespace fabricd::mad {

// Devices that found the limit full wait by priority.
struct Gate {
  uint32_t in_flight = 0;
  uint32_t woken = 0;  // Devices made ready for a free place and not tried since.
  std::array<IndexList, kPriorities> waiting;
};

class DeviceScheduler {
 public:
  // All must outlive this. REQUIRES: limits above 0.
  DeviceScheduler(const EngineOptions& options, RequestSlots& slots, DeviceQueues& queues,
                  const SuspectDevices& suspects, uint32_t suspect_limit);

  // Call before any other function for a device.
  void Add(DeviceId device) { standings_.Add(device); }

  // Dequeues the next request, selects its route and counts it as in flight. kNoIndex: nothing is
  // queued, or the limits allow nothing.
  SlotIndex TakeNext();
  // An attempt of a request from TakeNext() has ended: frees its places.
  void Release(const RequestSlot& slot);

  // The queue of the device has changed.
  void OnQueueChange(DeviceId device);
  // The queued requests of the device may have another route, and so another gate.
  void OnRouteChange(DeviceId device);
  // The device has become suspect, or is no longer suspect.
  void OnSuspectChange(DeviceId device);
  void SetSuspectLimit(uint32_t limit);

 private:
  // A device is in ready_ or in the waiting list of one gate. It is in neither if nothing is queued
  // or if it is at its limit.
  struct Standing {
    uint32_t in_flight = 0;
    uint8_t list_priority = 0;
    IndexList* list = nullptr;
    DeviceId previous = kNoIndex, next = kNoIndex;
    Gate* waiting_at = nullptr;
    Gate* woken_by = nullptr;
  };

  uint32_t DeviceLimit(DeviceId device) const;
  uint32_t LimitOf(const Gate& gate) const;
  Gate* SubtreeOf(const RequestSlot& slot);
  void Link(DeviceId device, IndexList& list, uint8_t priority, bool front);
  void Unlink(DeviceId device);
  DeviceId PopReady();
  void WaitAt(DeviceId device, Gate& gate, bool front);
  void ReturnToken(DeviceId device);
  void Balance(Gate& gate);

  const EngineOptions& options_;
  RequestSlots& slots_;
  DeviceQueues& queues_;
  const SuspectDevices& suspects_;
  uint32_t suspect_limit_;
  DeviceMap<Standing> standings_;
  std::array<IndexList, kPriorities> ready_;
  Gate suspect_gate_;
  // By the first hop (a CA has only one), then by the second.
  std::array<std::unique_ptr<std::array<Gate, 256>>, 256> subtrees_;
};

}  // namespace fabricd::mad
