// SPDX-License-Identifier: Apache-2.0
// ProgressReporter: how far the core is, for those who wait for it: systemd, the terminal,
// telemetry, which leaves the fabric to what is urgent, and `--once`. Of the core's thread.
#pragma once

#include <chrono>
#include <optional>

#include "daemon/core/once.h"
#include "daemon/core/view_publisher.h"
#include "daemon/sa/sa_service.h"
#include "daemon/telemetry/telemetry_thread.h"
#include "sweep/core.h"

namespace fabricd::daemon {

class ProgressReporter {
 public:
  // All outlive this.
  ProgressReporter(ViewPublisher& publisher, TelemetryThread& telemetry, SaService& sa)
      : publisher_(publisher), telemetry_(telemetry), sa_(sa) {}

  // After each turn of the core's loop.
  void Report(const sweep::Core& core);
  // With `--once`, after Report(): the exit code once the answer is known.
  std::optional<int> FindEnd(const sweep::Core& core);

 private:
  void ReportLoad(const sweep::Core& core);

  ViewPublisher& publisher_;
  TelemetryThread& telemetry_;
  SaService& sa_;
  telemetry::CoreLoad load_;  // As telemetry was given it.
  std::chrono::steady_clock::time_point next_line_{};
  OnceWatch once_;
};

}  // namespace fabricd::daemon
