// SPDX-License-Identifier: Apache-2.0
// WriteFence: whether this process may still write to devices, after the machine or the process may
// have been stopped. A stopped master does not know that another SM has taken its subnet. So before
// each Set is sent one of these must hold, by a clock that counts while the machine sleeps:
//
//   the turn of the core began less than kMostPause ago: no standby has missed us (1.6 s at least)
//   the epoch of the shared store is still the one with which the turn began, and the store
//   confirms it: no other fabricd has taken it
//
// The first one keeps a master routing that cannot reach the store. The core's thread; one at a
// time. Confirming may wait for the store.
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
  struct Witnesses {
    std::function<Time()> now;       // Since boot, sleep included.
    std::function<int64_t()> epoch;  // 0: none is held. Its lease is over by itself.
    std::function<bool()> confirms;  // Asks the store whether it is still held.
  };
  explicit WriteFence(Witnesses witnesses) : witnesses_(std::move(witnesses)) {}

  // A turn begins. How long ago the last one did, if another SM may have become master since.
  std::optional<Time> BeginTurn() {
    const Time now = witnesses_.now();
    const Time pause = turn_ ? now - *turn_ : Time{};
    const bool was_safe = pause <= kMostPause || HasKeptEpoch();
    turn_ = now;
    epoch_ = witnesses_.epoch();
    if (was_safe) return std::nullopt;
    return pause;
  }

  bool MayWrite() {
    const Time now = witnesses_.now();
    if (turn_ && now - *turn_ <= kMostPause) return true;
    if (!turn_ || !HasKeptEpoch()) return false;
    turn_ = now;
    return true;
  }

 private:
  bool HasKeptEpoch() const {
    return epoch_ != 0 && witnesses_.epoch() == epoch_ && witnesses_.confirms();
  }

  const Witnesses witnesses_;
  std::optional<Time> turn_;  // When it began, or was confirmed.
  int64_t epoch_ = 0;         // As it began.
};

}  // namespace fabricd::daemon
