// SPDX-License-Identifier: Apache-2.0
// WriteFence: whether this process may still write to devices, after the machine or the process may
// have been stopped. A stopped master does not know that another SM has taken its subnet. So before
// each Set is sent one of these must hold, by a clock that counts while the machine sleeps:
//
//   the turn of the core began less than kMostPause ago: no standby has missed us (1.6 s at least)
//   the epoch of the shared store is still the one with which the turn began, and the store
//   confirms it, and takes writes: no other fabricd has taken it. (With a full etcd no fabricd can
//   take it, so another one may be master without it.)
//
// The first one keeps a master routing that cannot reach the store. It does not hold for a moment
// after a stop that cost no epoch: another fabricd may have missed this one just before it went on,
// and take the epoch once its discovery ends. So for kDoubt each Set needs a confirmation.
//
// The core's thread; one at a time. Confirming may wait for the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "mad/transport.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::shell {

bool IsSmpSet(const mad::OutgoingMad& mad);

class WriteFence {
 public:
  static constexpr std::chrono::milliseconds kMostPause{1500};
  // As long as a contender's discovery lasts after its last poll of this SM: 1.7 s at 11,664 ports.
  static constexpr std::chrono::seconds kDoubt{2};

  using Time = std::chrono::nanoseconds;
  struct Witnesses {
    std::function<Time()> now;       // Since boot, sleep included.
    std::function<int64_t()> epoch;  // 0: none is held. Its lease is over by itself.
    std::function<bool()> confirms;  // Asks the store whether it is still held.
  };
  // `shared` outlives them.
  static Witnesses WitnessesOf(store::etcd::SharedStore& shared, store::etcd::BootClock clock);

  explicit WriteFence(Witnesses witnesses) : witnesses_(std::move(witnesses)) {}

  // For how long this process was stopped, if another SM may have become master since.
  std::optional<Time> Pause();
  // A turn begins. Pause() of the last one.
  std::optional<Time> BeginTurn();
  // False: it is a Set of an SMP, and the fence is closed.
  bool MaySend(const mad::OutgoingMad& mad);
  bool MayWrite();

 private:
  bool HasKeptEpoch() const;
  void BeginDoubt(Time stopped, Time now);

  const Witnesses witnesses_;
  std::optional<Time> turn_;  // When it began, or was confirmed.
  int64_t epoch_ = 0;         // As it began.
  // Of the last stop that cost no epoch.
  Time stopped_{}, doubt_until_{};
  bool is_refused_ = false;  // A Set in that time.
};

}  // namespace fabricd::shell
