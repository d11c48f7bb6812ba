// SPDX-License-Identifier: Apache-2.0
#include "common/process_clock.h"

#include <atomic>

#include "common/check.h"
#include "common/mutex.h"

namespace fabricd {
namespace {

using Steady = ProcessClock::Steady;

Duration SinceSteadyZero(Steady::time_point time) {
  return std::chrono::duration_cast<Duration>(time.time_since_epoch());
}

// As long as no rate was set, the lock is never taken.
struct ClockState {
  std::atomic<bool> scaled = false;
  Mutex mutex;
  // At `since` of the steady clock, Now() was `at`.
  Steady::time_point since FABRICD_GUARDED_BY(mutex);
  Instant at FABRICD_GUARDED_BY(mutex);
  double rate FABRICD_GUARDED_BY(mutex) = 1;

  Instant AtLocked(Steady::time_point steady) const FABRICD_REQUIRES(mutex) {
    const auto passed =
        static_cast<double>((SinceSteadyZero(steady) - SinceSteadyZero(since)).count());
    return at + Duration(static_cast<int64_t>(passed * rate));
  }
};

ClockState& State() {
  static ClockState state;
  return state;
}

}  // namespace

Instant ProcessClock::Now() {
  ClockState& state = State();
  if (!state.scaled.load(std::memory_order_acquire)) return Instant(SinceSteadyZero(Steady::now()));
  MutexLock lock(state.mutex);
  return state.AtLocked(Steady::now());
}

Steady::time_point ProcessClock::ToSteady(Instant at) {
  if (at == kNever) return Steady::time_point::max();
  ClockState& state = State();
  if (!state.scaled.load(std::memory_order_acquire)) {
    return Steady::time_point(std::chrono::duration_cast<Steady::duration>(at.time_since_epoch()));
  }
  MutexLock lock(state.mutex);
  const double wait = static_cast<double>((at - state.at).count()) / state.rate;
  const Duration furthest = Steady::time_point::max() - state.since;
  if (wait >= static_cast<double>(furthest.count())) return Steady::time_point::max();
  // One more, so that Now() has reached `at` then, rounded as it is.
  return state.since +
         std::chrono::duration_cast<Steady::duration>(Duration(static_cast<int64_t>(wait) + 1));
}

double ProcessClock::rate() {
  ClockState& state = State();
  MutexLock lock(state.mutex);
  return state.rate;
}

void ProcessClock::SetRate(double rate) {
  FABRICD_CHECK(rate > 0, "{} is no rate of a clock", rate);
  ClockState& state = State();
  MutexLock lock(state.mutex);
  const Steady::time_point now = Steady::now();
  const bool scaled = state.scaled.load(std::memory_order_relaxed);
  state.at = scaled ? state.AtLocked(now) : Instant(SinceSteadyZero(now));
  state.since = now;
  state.rate = rate;
  state.scaled.store(true, std::memory_order_release);
}

}  // namespace fabricd
