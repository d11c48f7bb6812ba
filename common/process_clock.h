// SPDX-License-Identifier: Apache-2.0
// The clock by which a program passes Instants to pure code: the steady clock, or one that runs
// faster on a simulated fabric (`fabricctl sim clock`). There is one for the whole process, so that
// an Instant means the same on all its threads. Any thread.
//
// Wall-clock times, and waits for people and sockets, use real time and not this clock.
#pragma once

#include <chrono>

#include "common/time.h"

namespace fabricd {

class ProcessClock {
 public:
  using Steady = std::chrono::steady_clock;

  static Instant Now();
  // When Now() reaches `at` if the rate does not change. kNever: the latest possible time.
  static Steady::time_point ToSteady(Instant at);
  // Seconds of Now() per second of real time. 1 unless SetRate was called.
  static double rate();
  // Takes effect now; Now() does not jump. REQUIRES: 0 < rate. Threads that already wait for a time
  // of ToSteady are not woken.
  static void SetRate(double rate);
};

}  // namespace fabricd
