// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/telemetry_options.h"

namespace fabricd::daemon {

telemetry::Options ToTelemetryOptions(const config::Telemetry& telemetry) {
  telemetry::Options options;
  options.enabled = telemetry.enabled;
  options.interval = telemetry.interval;
  options.classic_interval = telemetry.classic_interval;
  options.ber_interval = telemetry.ber_interval;
  options.module_interval = telemetry.module_interval;
  options.vendor = telemetry.vendor;
  options.as_standby = telemetry.as_standby;
  options.max_outstanding = telemetry.max_outstanding;
  options.history.fine_span = telemetry.history;
  options.history.coarse_span = telemetry.long_history;
  if (telemetry.interval.count() != 0) options.history.fine_step = telemetry.interval;
  return options;
}

}  // namespace fabricd::daemon
