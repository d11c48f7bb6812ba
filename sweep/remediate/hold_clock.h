// SPDX-License-Identifier: Apache-2.0
// HoldClock: the wall clock by which holds expire. The times in the book were written by an epoch,
// the wall-clock time at Instant zero. When the clock is set they are rewritten, so that holds keep
// the time that they have left; until that is durable the epoch of the book is behind the clock.
#pragma once

#include <chrono>

#include "common/time.h"
#include "policy/holds.h"

namespace fabricd::sweep {

class HoldClock {
 public:
  // The book is read, or the clock is set: its times are to be rewritten. What was stored was
  // written by another epoch, which shows in nothing but the wall clock.
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
  // By how much times in the book are to change.
  policy::WallMs correction() const { return clock_ - epoch_; }
  // The book is durable by this epoch.
  void OnRewritten(policy::WallMs epoch) {
    epoch_ = epoch;
    rewritten_ = epoch_ == clock_;
  }

  // In the epoch of the book.
  policy::WallMs Wall(Instant now) const {
    return epoch_ +
           std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  }
  // kNever: in a century or later.
  Instant InstantOf(policy::WallMs wall) const {
    constexpr policy::WallMs kCentury = int64_t{100} * 366 * 24 * 3600 * 1000;
    return wall - epoch_ > kCentury ? kNever : Instant(std::chrono::milliseconds(wall - epoch_));
  }

 private:
  policy::WallMs epoch_ = 0;  // Of the times in the book.
  policy::WallMs clock_ = 0;  // Of the wall clock.
  bool rewritten_ = true;
};

}  // namespace fabricd::sweep
