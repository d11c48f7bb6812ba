// SPDX-License-Identifier: Apache-2.0
// HoldClock: the wall clock by which holds expire. The times in the book are relative to an epoch,
// the wall-clock time at Instant zero. When the clock is set, the times are rewritten, so that
// holds keep their remaining time. Until that is durable, the epoch of the book is the old one.
#pragma once

#include <chrono>

#include "common/time.h"
#include "policy/holds.h"

namespace fabricd::sweep {

class HoldClock {
 public:
  // The book was read or the clock was set: its times must be rewritten. Stored times belong to the
  // epoch of an earlier run, which is not stored.
  void Start(policy::WallMs epoch) {
    epoch_ = clock_ = epoch;
    rewritten_ = false;
  }
  void Set(policy::WallMs epoch) {
    clock_ = epoch;
    rewritten_ = false;
  }
  bool MustRewrite() const { return !rewritten_; }
  policy::WallMs clock() const { return clock_; }
  // The correction to add to the times in the book.
  policy::WallMs correction() const { return clock_ - epoch_; }
  // The book with this epoch is durable.
  void OnRewritten(policy::WallMs epoch) {
    epoch_ = epoch;
    rewritten_ = epoch_ == clock_;
  }

  // By the epoch of the book.
  policy::WallMs Wall(Instant now) const {
    return epoch_ +
           std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  }
  // kNever: more than a century ahead.
  Instant InstantOf(policy::WallMs wall) const {
    constexpr policy::WallMs kCentury = int64_t{100} * 366 * 24 * 3600 * 1000;
    return wall - epoch_ > kCentury ? kNever : Instant(std::chrono::milliseconds(wall - epoch_));
  }

 private:
  policy::WallMs epoch_ = 0;  // Epoch of the times in the book.
  policy::WallMs clock_ = 0;  // Epoch by the wall clock.
  bool rewritten_ = true;
};

}  // namespace fabricd::sweep
