// SPDX-License-Identifier: Apache-2.0
// What --http-listen serves: /metrics, /healthz, /ui and the page's data.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "daemon/base/access.h"
#include "daemon/base/backend.h"
#include "daemon/http/http_server.h"

namespace fabricd::http {

// The embedded page.
const std::string& UiHtml();

// `backend` outlives the server; `handled_calls` (may be empty) too. Errors as HttpServer::Start().
absl::StatusOr<std::unique_ptr<HttpServer>> ServePages(
    const std::string& address, const std::string& version, daemon::Backend& backend,
    std::function<std::vector<rpc::HandledCalls>()> handled_calls);

}  // namespace fabricd::http
