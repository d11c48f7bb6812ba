// SPDX-License-Identifier: Apache-2.0
// The telemetry section of the configuration as the collector takes it. Pure.
#pragma once

#include "config/config.h"
#include "telemetry/options.h"

namespace fabricd::daemon {

telemetry::Options ToTelemetryOptions(const config::Telemetry& telemetry);

}  // namespace fabricd::daemon
