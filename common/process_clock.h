// SPDX-License-Identifier: Apache-2.0
// The clock by which a program gives Instants to pure code: the steady clock, or one that runs
// faster where the program sits on a simulated fabric (`fabricctl sim clock`). One for the whole
// process, so that an Instant means the same on all its threads. Any thread.
//
// What is kept or shown by the wall clock, and what waits for people and sockets, runs on real
// time and does not ask here.
#pragma once

#include <chrono>

#include "common/time.h"

namespace fabricd {

class ProcessClock {
 public:
  using Steady = std::chrono::steady_clock;

  static Instant Now();
  // When Now() will have reached `at`, if the rate stays as it is. kNever: the latest time there
  // is.
  static Steady::time_point ToSteady(Instant at);
  // Seconds of Now() in a second of real time: 1 unless SetRate was called.
  static double rate();
  // From now on; Now() does not jump. REQUIRES: 0 < rate. Threads that wait for a time of ToSteady
  // are not woken.
  static void SetRate(double rate);
};

}  // namespace fabricd
