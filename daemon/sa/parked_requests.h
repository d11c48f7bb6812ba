// SPDX-License-Identifier: Apache-2.0
// ParkedRequests: requests of SA clients that cannot be answered yet. They are not refused: the
// kernel's ib_sa takes any status for the final answer, and silence for a reason to ask again.
//
// Bounded: kMost in all, kShare of one LID. A client repeats a request with the same transaction
// id; repetitions of one that waits are dropped, as they would get a second answer. Not
// thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "mad/transport.h"

namespace fabricd::daemon {

class ParkedRequests {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMost = 16'384, kShare = 256;

  struct Parked {
    mad::IncomingMad request;
    Clock::time_point until;
  };

  // REQUIRES: a whole MAD. False: no room for it, and the request is as it was. True also for a
  // repetition.
  bool Add(mad::IncomingMad& request, Clock::time_point until);
  std::vector<Parked> TakeAll();
  // The first `until`; max(): none waits.
  Clock::time_point first_deadline() const { return first_deadline_; }
  size_t size() const { return parked_.size(); }

 private:
  using Key = std::tuple<uint16_t, uint32_t, uint64_t>;  // LID, QP number, transaction id

  std::vector<Parked> parked_;
  absl::flat_hash_set<Key> keys_;
  absl::flat_hash_map<uint16_t, size_t> of_lid_;
  Clock::time_point first_deadline_ = Clock::time_point::max();
};

}  // namespace fabricd::daemon
