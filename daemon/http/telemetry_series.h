// SPDX-License-Identifier: Apache-2.0
// What the collector knows, as series. Stale is not healthy: gauges end where the readings of a
// port are stale, counters where nothing may be concluded from them any more, and what was never
// measured has no series at all.
#pragma once

#include "config/config.h"
#include "daemon/http/port_rows.h"
#include "daemon/http/series_text.h"
#include "query/measures.h"

namespace fabricd::http {

// Counters and gauges of ports, as far as telemetry.metrics and telemetry.metrics_counters ask for
// them. `rows`: of the snapshot of telemetry.model.
void WriteTelemetry(const query::Telemetry& telemetry, const PortRows& rows,
                    const config::Telemetry& wanted, SeriesText& out);

// What the collector does, fabricd_telemetry_*. `now`: on the clock of TelemetryView::started.
void WriteCollector(const query::Telemetry& telemetry, Instant now, SeriesText& out);

}  // namespace fabricd::http
