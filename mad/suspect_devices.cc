// SPDX-License-Identifier: Apache-2.0
#include "mad/suspect_devices.h"

#include <algorithm>
#include <utility>

namespace fabricd::mad {

bool SuspectDevices::OnTimeout(DeviceId id, uint64_t shrinks) {
  Device& device = devices_[id];
  if (std::exchange(device.suspect, true)) return false;
  device.shrinks_at_loss = shrinks;
  ++count_;
  if (std::find(new_.begin(), new_.end(), id) == new_.end()) new_.push_back(id);
  return true;
}

bool SuspectDevices::Clear(DeviceId id) {
  if (!std::exchange(devices_[id].suspect, false)) return false;
  --count_;
  const auto known = std::find(new_.begin(), new_.end(), id);
  if (known != new_.end()) new_.erase(known);
  return true;
}

std::vector<DeviceId> SuspectDevices::TakeNew() { return std::exchange(new_, {}); }

}  // namespace fabricd::mad
