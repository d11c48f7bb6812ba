// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/service_manager.h"

#include <systemd/sd-daemon.h>

#include <cstdlib>

#include <fmt/format.h>

namespace fabricd::daemon {

ServiceManager::ServiceManager() : active_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  uint64_t usec = 0;
  if (active_ && sd_watchdog_enabled(0, &usec) > 0)
    watchdog_period_ = std::chrono::microseconds(usec / 3);
}

void ServiceManager::Ready() {
  if (active_ && !ready_) sd_notify(0, "READY=1");
  ready_ = true;
}

void ServiceManager::Status(const std::string& status) {
  if (active_) sd_notify(0, fmt::format("STATUS={}", status).c_str());
}

void ServiceManager::Tick(size_t progress, Clock::time_point now) {
  if (!active_) return;
  if (watchdog_period_ > Clock::duration::zero() && now - last_watchdog_ >= watchdog_period_) {
    sd_notify(0, "WATCHDOG=1");
    last_watchdog_ = now;
  }
  if (!ready_ && progress != last_progress_ && now - last_extension_ >= std::chrono::seconds(5)) {
    sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
    last_extension_ = now;
    last_progress_ = progress;
  }
}

void ServiceManager::Stopping() {
  if (active_) sd_notify(0, "STOPPING=1");
}

}  // namespace fabricd::daemon
