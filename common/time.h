// SPDX-License-Identifier: Apache-2.0
// Time as pure code sees it: a value passed in, never a clock that is read. The shell takes it from
// the steady clock, the simulator from its virtual time.
#pragma once

#include <chrono>

namespace fabricd {

using Duration = std::chrono::nanoseconds;
struct CoreClock {  // A tag only: nothing can ask it for the time.
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoreClock, Duration>;
  static constexpr bool is_steady = true;
};
using Instant = CoreClock::time_point;

inline constexpr Instant kNever = Instant::max();

}  // namespace fabricd
