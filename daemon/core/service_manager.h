// SPDX-License-Identifier: Apache-2.0
// What systemd is told (sd_notify(3)): readiness, state, more time while a first sweep makes
// progress, and the watchdog, fed by the core's own loop and not by a timer. Without systemd
// nothing happens. Used by the core thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fabricd::daemon {

class ServiceManager {
 public:
  using Clock = std::chrono::steady_clock;
  ServiceManager();

  // Once: the first complete sweep, or standby.
  void Ready();
  void Status(const std::string& status);
  // Called by the core's loop. `progress` differs from the last call when work was done: before
  // Ready() only that buys more start-up time.
  void Tick(size_t progress, Clock::time_point now);
  void Stopping();

 private:
  const bool active_;
  Clock::duration watchdog_period_{};
  Clock::time_point last_watchdog_{}, last_extension_{};
  size_t last_progress_ = 0;
  bool ready_ = false;
};

}  // namespace fabricd::daemon
