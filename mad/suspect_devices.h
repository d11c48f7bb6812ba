// SPDX-License-Identifier: Apache-2.0
// SuspectDevices: the suspect devices: one of their requests has timed out, and nothing has come
// from them since. It also decides what their next response reveals about losses.
#pragma once

#include <cstdint>
#include <vector>

#include "common/time.h"
#include "mad/device_map.h"
#include "mad/smp_request.h"

namespace fabricd::mad {

class SuspectDevices {
 public:
  // Call before any other function for a device.
  void Add(DeviceId device) { devices_.Add(device); }

  bool IsSuspect(DeviceId device) const { return devices_[device].suspect; }
  // Time of the last response; Instant::min(): never.
  Instant answered_at(DeviceId device) const { return devices_[device].answered_at; }
  // Whether a response now would reveal a loss: the MAD that timed out first was lost, not the
  // device, and it was sent after the last shrink of the window. `shrinks`: number of shrinks.
  bool WouldRevealLoss(DeviceId device, uint64_t shrinks) const {
    return devices_[device].suspect && devices_[device].shrinks_at_loss == shrinks;
  }

  // A request has timed out that was sent when the window had shrunk `shrinks` times. True: the
  // device becomes suspect.
  bool OnTimeout(DeviceId device, uint64_t shrinks);
  void OnAnswer(DeviceId device, Instant now) {
    devices_[device].answered_at = now;
    ++devices_[device].answers;
  }
  // Responses so far.
  uint32_t answers(DeviceId device) const { return devices_[device].answers; }
  // The device is no longer suspect. Returns whether it was.
  bool Clear(DeviceId device);

  uint32_t count() const { return count_; }
  // Devices that have become suspect since the last call and still are, in that order.
  std::vector<DeviceId> TakeNew();

 private:
  struct Device {
    Instant answered_at = Instant::min();
    uint64_t shrinks_at_loss = 0;  // When the first lost attempt was sent.
    uint32_t answers = 0;
    bool suspect = false;
  };

  DeviceMap<Device> devices_;
  std::vector<DeviceId> new_;  // Each once.
  uint32_t count_ = 0;
};

}  // namespace fabricd::mad
