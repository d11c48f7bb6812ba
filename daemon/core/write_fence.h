// SPDX-License-Identifier: Apache-2.0
// WriteFence: whether this process may still write to devices, after the machine or the process may
// have been stopped. A stopped master does not know that another SM has taken its subnet. So before
// each Set is sent one of these must hold, by a clock that counts while the machine sleeps:
//
//   the epoch of the shared store is still the one with which the turn of the core began: nobody
//   else can have it
//   the turn began less than kMostPause ago: no standby has missed us (standby: 1.6 s at least)
//
// The second one keeps a master routing that cannot reach etcd. The core's thread; one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace fabricd::daemon {

class WriteFence {
 public:
  static constexpr std::chrono::milliseconds kMostPause{1500};

  using Time = std::chrono::nanoseconds;
  // `now`: time since boot, sleep included. `epoch`: 0: none is held. Its lease is over by itself.
  struct Clocks {
    std::function<Time()> now;
    std::function<int64_t()> epoch;
  };
  explicit WriteFence(Clocks clocks) : clocks_(std::move(clocks)) {}

  // A turn begins. How long ago the last one did, if another SM may have become master since.
  std::optional<Time> BeginTurn() {
    const Time now = clocks_.now();
    const bool is_first = !turn_;
    const Time pause = is_first ? Time{} : now - *turn_;
    const bool was_safe = is_first || pause <= kMostPause || HasKeptEpoch();
    turn_ = now;
    epoch_ = clocks_.epoch();
    if (was_safe) return std::nullopt;
    return pause;
  }

  bool MayWrite() const {
    return turn_ && (clocks_.now() - *turn_ <= kMostPause || HasKeptEpoch());
  }

 private:
  bool HasKeptEpoch() const { return epoch_ != 0 && clocks_.epoch() == epoch_; }

  const Clocks clocks_;
  std::optional<Time> turn_;  // When it began.
  int64_t epoch_ = 0;         // As it began.
};

}  // namespace fabricd::daemon
