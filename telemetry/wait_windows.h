// SPDX-License-Identifier: Apache-2.0
// WaitWindows: how long a port waited and how much it sent in each of the last windows of 300 s, in
// 24 bytes. Windows begin at multiples of their length. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "policy/evidence.h"

namespace fabricd::telemetry {

class WaitWindows {
 public:
  static constexpr uint64_t kLength = 300 * 1000;  // Milliseconds.
  static constexpr size_t kEnded = 3;

  // Of a reading at `at`, by which the port waited (sent) so much of the `window` before.
  void AddWait(uint64_t at, uint64_t window, double share);
  void AddSent(uint64_t at, uint64_t window, double utilisation);
  // The window that is `back` before the one that `now` is in; from 1, the last that has ended, to
  // kEnded. nullopt: less than three quarters of it were observed.
  std::optional<policy::WaitWindow> Read(uint64_t now, uint32_t back) const;

 private:
  // In units of 5 ms.
  struct Part {
    uint16_t of = 0, observed = 0;
  };
  struct Sum {
    Part waited, sent;
  };
  static constexpr uint16_t kNone = 0xFFFF;
  struct Ended {
    uint16_t wait = kNone, utilisation = kNone;
  };
  void Add(uint64_t at, uint64_t window, double share, Part Sum::*part);
  void Begin(uint32_t number);
  Ended Summary() const;

  uint32_t number_ = 0;  // Of the window that sum_ is of, counted from 0.
  Sum sum_;
  std::array<Ended, kEnded> ended_;  // Before it, the newest first.
};
static_assert(sizeof(WaitWindows) == 24);

}  // namespace fabricd::telemetry
