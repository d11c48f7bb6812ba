// SPDX-License-Identifier: Apache-2.0
// ErrorLog: when the error counters of one device's ports grew, minute by minute, for at most
// 24 hours. Bounded: when it is full, entries older than an hour are joined hour by hour, and then
// the oldest are dropped, and covered_since says so. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "telemetry/port_record.h"

namespace fabricd::telemetry {

struct ErrorEntry {
  static constexpr uint32_t kEpochMask = 0x7FF;
  static constexpr uint8_t kMostReadings = 15;

  Millis at = 0;       // The last increase that it holds.
  uint32_t count = 0;  // Sticks at its maximum.
  PortNum port;
  Counter counter{};
  uint16_t epoch : 11 = 0;  // Low bits of the port's.
  // Increases that it holds. Sticks at kMostReadings.
  uint16_t readings : 4 = 1;
  // Counted up to a minute before or kYoung after a change of the link's state, which may be the
  // cause.
  uint16_t at_change : 1 = 0;

  bool IsOfEpoch(uint32_t number) const { return epoch == (number & kEpochMask); }
};
static_assert(sizeof(ErrorEntry) == 16);

class ErrorLog {
 public:
  static constexpr Millis kSpan = 24u * 60 * 60 * 1000;

  explicit ErrorLog(size_t max_entries) : max_entries_(max_entries) {}

  void Add(const ErrorEntry& entry);
  // The link's state has changed: that may be why the port counted what it did after `since`.
  void MarkChange(PortNum port, Millis since);
  // Another link is at the port.
  void Forget(PortNum port);
  // In the order of their times.
  const std::vector<ErrorEntry>& entries() const { return entries_; }
  // Nothing later than this has been dropped.
  Millis covered_since() const { return covered_since_; }
  // What one port counted after `since`.
  uint64_t Sum(PortNum port, Counter counter, Millis since) const;

 private:
  void Shorten(Millis now);

  size_t max_entries_;
  Millis covered_since_ = 0;
  std::vector<ErrorEntry> entries_;
};

}  // namespace fabricd::telemetry
