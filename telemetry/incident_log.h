// SPDX-License-Identifier: Apache-2.0
// IncidentLog: what one device did that no counter counts, for at most 24 hours. Bounded: when it
// is full, the oldest is dropped. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "telemetry/port_record.h"

namespace fabricd::telemetry {

enum class Incident : uint8_t {
  kTrap,     // The port has sent one about its link.
  kTimeout,  // A request and its repetition had no response, while the peer of the port responds.
};

struct IncidentEntry {
  Millis at = 0;       // The last of a minute.
  uint16_t count = 0;  // Sticks at its maximum.
  PortNum port;
  Incident what{};
};

class IncidentLog {
 public:
  static constexpr size_t kMaxEntries = 64;
  static constexpr Millis kSpan = 24u * 60 * 60 * 1000;

  void Add(PortNum port, Incident what, Millis at);
  // In the order of their times.
  const std::vector<IncidentEntry>& entries() const { return entries_; }

 private:
  std::vector<IncidentEntry> entries_;
};

}  // namespace fabricd::telemetry
