// SPDX-License-Identifier: Apache-2.0
// TelemetryService.WatchRates. Any thread.
#pragma once

#include <chrono>
#include <memory>

#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/rpc/streams/watch_stream.h"
#include "fabric/v1/telemetry_service.pb.h"

namespace fabricd::rpc {

using RateStreamBase = WatchStream<::fabric::v1::WatchRatesResponse>;

// Longest that a client may take for one view.
inline constexpr std::chrono::seconds kLongestView{60};

// What a request asks for. It looks for newer views once a second, by itself. Errors carry their
// ErrorInfo. `models` and `backend` outlive the stream.
absl::StatusOr<std::shared_ptr<RateStreamBase>> MakeRateStream(
    daemon::Models& models, daemon::Backend& backend,
    const ::fabric::v1::WatchRatesRequest& request,
    std::chrono::milliseconds longest_view = kLongestView);

}  // namespace fabricd::rpc
