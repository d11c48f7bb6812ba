// SPDX-License-Identifier: Apache-2.0
// ProgressReporter: reports the core's progress after each turn of its loop: to systemd, to the
// terminal, to telemetry, which sends less while the core is busy, and to `--once`, which ends the
// process. Only the core's thread calls it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "daemon/core/once.h"
#include "daemon/core/view_publisher.h"
#include "sweep/core.h"
#include "telemetry/collector.h"

namespace fabricd::daemon {

// How busy the core is. `smps`: in flight. `sa_is_busy`: many SA requests wait.
telemetry::CoreLoad LoadOf(sweep::Phase phase, size_t smps, bool sa_is_busy);

class ProgressReporter {
 public:
  struct Links {
    ViewPublisher& publisher;  // Must outlive this.
    std::function<bool()> sa_is_busy;
    std::function<void(const telemetry::CoreLoad&)> on_load;  // Called when it changes.
  };
  ProgressReporter(Links links, bool once);

  void Report(const sweep::Core& core);
  // Call after Report(). With `--once`: the exit code once it is known; otherwise nullopt.
  std::optional<int> FindEnd(const sweep::Core& core);

 private:
  void ReportLoad(const sweep::Core& core);

  const Links links_;
  telemetry::CoreLoad load_;  // As last reported.
  std::chrono::steady_clock::time_point next_line_{};
  std::optional<OnceWatch> once_;  // nullopt: without `--once`.
};

}  // namespace fabricd::daemon
