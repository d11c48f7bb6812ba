// SPDX-License-Identifier: Apache-2.0
// Notifications to systemd (sd_notify(3)): readiness, state, more start-up time while a first sweep
// makes progress, and the watchdog. The core's own loop feeds the watchdog, not a timer. Without
// systemd nothing happens. Used by the core thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fabricd::daemon {

class ServiceManager {
 public:
  using Clock = std::chrono::steady_clock;
  ServiceManager();

  // After the first complete sweep, or as standby. Once.
  void Ready();
  void Status(const std::string& status);
  // Call from the core's loop. `progress` must change when work was done: before Ready() only that
  // extends the start-up time.
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
