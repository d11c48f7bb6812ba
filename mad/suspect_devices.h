// SPDX-License-Identifier: Apache-2.0
// SuspectDevices: which devices are suspect, that is, one of their requests has timed out and
// nothing has come from them since; and what their next answer says about the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "common/time.h"
#include "mad/smp_request.h"

namespace fabricd::mad {

class SuspectDevices {
 public:
  // A device must have been added before anything else is asked about it.
  void Add(DeviceId device);

  bool IsSuspect(DeviceId device) const { return devices_[device].suspect; }
  // When it answered last; Instant::min(): never.
  Instant answered_at(DeviceId device) const { return devices_[device].answered_at; }
  // If it answered now: the MAD that timed out first was lost, not the device, and it left after
  // the last time that the window shrank, of which there were `shrinks`.
  bool WouldRevealLoss(DeviceId device, uint64_t shrinks) const {
    return devices_[device].suspect && devices_[device].shrinks_at_loss == shrinks;
  }

  // A request has timed out that was sent when the window had shrunk so many times. True: the
  // device is suspect from now on.
  bool OnTimeout(DeviceId device, uint64_t shrinks);
  void OnAnswer(DeviceId device, Instant now) { devices_[device].answered_at = now; }
  // It is not suspect. True: it was.
  bool Clear(DeviceId device);

  uint32_t count() const { return count_; }
  // Those that have become suspect since the last call and still are, in that order.
  std::vector<DeviceId> TakeNew();

 private:
  struct Device {
    Instant answered_at = Instant::min();
    uint64_t shrinks_at_loss = 0;  // When the first lost attempt left.
    bool suspect = false;
  };

  std::vector<Device> devices_;
  std::vector<DeviceId> new_;  // Each once.
  uint32_t count_ = 0;
};

}  // namespace fabricd::mad
