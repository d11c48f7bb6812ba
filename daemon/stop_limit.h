// SPDX-License-Identifier: Apache-2.0
// StopLimit: ends the process when stopping takes too long, and logs the step that did. A call that
// does not end, a hung disk or a plan that cannot be interrupted then costs seconds, and systemd
// does not have to kill the service. Everything acknowledged is durable by then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "daemon/record/logging.h"

namespace fabricd::daemon {

class StopLimit {
 public:
  // Less than TimeoutStopSec of the unit.
  static constexpr std::chrono::seconds kLongest{15};

  explicit StopLimit(std::chrono::milliseconds limit = kLongest, int exit_code = 1)
      : thread_([this, limit, exit_code] { Run(limit, exit_code); }) {}
  ~StopLimit() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    changed_.NotifyOne();
    thread_.join();
  }
  StopLimit(const StopLimit&) = delete;
  StopLimit& operator=(const StopLimit&) = delete;

  // The current step. A literal.
  void At(const char* what) { at_ = what; }

 private:
  void Run(std::chrono::milliseconds limit, int exit_code) {
    MutexLock lock(mutex_);
    if (changed_.WaitFor(lock, limit, [this]() FABRICD_REQUIRES(mutex_) { return stopped_; }))
      return;
    spdlog::error("not stopped within {} ms, at {}: ended hard", limit.count(), at_.load());
    EndLogging();
    std::_Exit(exit_code);
  }

  std::atomic<const char*> at_ = "the core";
  Mutex mutex_;
  Condition changed_;
  bool stopped_ FABRICD_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace fabricd::daemon
