// SPDX-License-Identifier: Apache-2.0
// What the collector may do, as an operator sets it up. Values only.
#pragma once

#include <cstdint>

#include "common/time.h"
#include "telemetry/history.h"

namespace fabricd::telemetry {

struct Options {
  bool enabled = true;
  // How often each port is read. 0: 30 s up to kManyHosts channel adapters, 60 s above.
  Duration interval{};
  // PortCounters of devices whose PortCountersExtended has no errors, or has been seen to miss
  // some.
  Duration classic_interval = std::chrono::seconds(60);
  Duration ber_interval = std::chrono::minutes(5);      // PPCNT 0x16
  Duration module_interval = std::chrono::minutes(30);  // Cables, FEC, the device's own monitor.
  bool vendor = true;                                   // Class 0x0A and vendor SMPs.
  bool as_standby = false;         // Poll while another SM is master and may poll too.
  uint32_t max_outstanding = 256;  // GMPs in flight. The window starts at 128, or this if less.
  HistoryOptions history;          // fine_step is the interval.

  friend bool operator==(const Options&, const Options&) = default;
};
inline constexpr size_t kManyHosts = 12'000;
inline constexpr uint32_t kFirstWindow = 128;
inline constexpr uint8_t kInFlightPerDevice = 2;

}  // namespace fabricd::telemetry
