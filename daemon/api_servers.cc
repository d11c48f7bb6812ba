// SPDX-License-Identifier: Apache-2.0
#include "daemon/api_servers.h"

#include <utility>
#include <vector>

#include "common/status.h"
#include "daemon/base/config_keeper.h"
#include "daemon/http/pages.h"
#include "daemon/rpc/services/server.h"
#include "daemon/version.h"

namespace fabricd::daemon {

ApiServers::ApiServers() = default;
ApiServers::~ApiServers() {
  StopPages();
  StopCalls();
}

absl::Status ApiServers::Open(const config::Config& config, SmMode mode, Backend& backend) {
  if (!config.listen.empty()) {
    rpc::ServerOptions options{config.listen, kVersion, config.security};
    options.mode = mode;
    auto server = rpc::Server::Start(options, backend);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    serving_.store(server_.get(), std::memory_order_release);
    // One of the first calls may have reloaded the configuration before serving_ was set.
    server_->SetAccess(backend.configuration().in_force()->security);
  }
  if (config.http_listen.empty()) return absl::OkStatus();
  auto http = http::ServePages(config.http_listen, kVersion, backend, [this] {
    return serving() ? serving()->Handled() : std::vector<rpc::HandledCalls>();
  });
  if (!http.ok()) return http.status();
  http_ = *std::move(http);
  return absl::OkStatus();
}

void ApiServers::OnPublished(bool serves) {
  rpc::Server* const server = serving();
  if (server == nullptr) return;
  server->OnPublished();
  server->SetServing(serves);
}

void ApiServers::SetAccess(const config::Security& security) {
  if (rpc::Server* const server = serving()) server->SetAccess(security);
}

void ApiServers::StopPages() { http_.reset(); }

void ApiServers::StopCalls() {
  if (server_) server_->Shutdown();
}

}  // namespace fabricd::daemon
