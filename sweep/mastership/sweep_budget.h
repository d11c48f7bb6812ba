// SPDX-License-Identifier: Apache-2.0
// SweepBudget: how many heavy sweeps other SMs' words may cause. Whoever has a port can send them:
// with the default SM_Key a forged handover, without any key an SMInfo that claims to be a
// master's. Five at once, then one every ten seconds; what is refused is noticed again later if it
// is so.
#pragma once

#include <algorithm>

#include "common/time.h"

namespace fabricd::sweep {

class SweepBudget {
 public:
  static constexpr int kMost = 5;
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  // False: not now.
  bool Take(Instant now) {
    // next_free_ is when the last of all that were taken will have been paid for.
    const Instant from = std::max(next_free_, now);
    if (from - now > (kMost - 1) * kPeriod) return false;
    next_free_ = from + kPeriod;
    return true;
  }

 private:
  Instant next_free_{};
};

}  // namespace fabricd::sweep
