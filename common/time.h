// SPDX-License-Identifier: Apache-2.0
// Time in pure code: a value that is passed in. Pure code never reads a clock. The shell takes the
// time from the steady clock, the simulator from its virtual time.
#pragma once

#include <chrono>

namespace fabricd {

using Duration = std::chrono::nanoseconds;
struct CoreClock {  // A tag only: it has no now().
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoreClock, Duration>;
  static constexpr bool is_steady = true;
};
using Instant = CoreClock::time_point;

inline constexpr Instant kNever = Instant::max();

}  // namespace fabricd
