// SPDX-License-Identifier: Apache-2.0
// /metrics: the published view as Prometheus series. What is not measured has no series. Names,
// labels and units: docs/METRICS.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/base/access.h"
#include "daemon/base/backend.h"
#include "daemon/http/event_counts.h"

namespace fabricd::http {

struct MetricSources {
  daemon::Backend* backend = nullptr;  // Not null.
  std::string version;
  std::shared_ptr<const EventCounts> events;                      // May be null.
  std::function<std::vector<rpc::HandledCalls>()> handled_calls;  // May be empty.
};

// The text that Prometheus reads.
std::string MetricsText(const MetricSources& sources);

}  // namespace fabricd::http
