// SPDX-License-Identifier: Apache-2.0
// SweepBudget: limits the heavy sweeps that messages of other SMs may cause. Any port can send
// them: with the default SM_Key a forged handover, and without any key an SMInfo that claims to be
// a master. Five at once, then one every ten seconds. A refused change is noticed again later if it
// persists.
#pragma once

#include <algorithm>

#include "common/time.h"

namespace fabricd::sweep {

class SweepBudget {
 public:
  static constexpr int kMost = 5;
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  // False: the budget is used up.
  bool Take(Instant now) {
    // next_free_ is the time at which the budget is full again.
    const Instant from = std::max(next_free_, now);
    if (from - now > (kMost - 1) * kPeriod) return false;
    next_free_ = from + kPeriod;
    return true;
  }

 private:
  Instant next_free_{};
};

}  // namespace fabricd::sweep
