// SPDX-License-Identifier: Apache-2.0
// ApiServers: the servers of the API: gRPC, and HTTP for metrics and pages. Calls may arrive while
// Open() still runs; until the gRPC server is published in serving_, OnPublished() and SetAccess()
// do nothing.
#pragma once

#include <atomic>
#include <memory>

#include <absl/status/status.h>

#include "common/sm_mode.h"
#include "config/config.h"
#include "daemon/base/backend.h"

namespace fabricd::rpc {
class Server;
}
namespace fabricd::http {
class HttpServer;
}

namespace fabricd::daemon {

class ApiServers {
 public:
  ApiServers();
  ~ApiServers();

  // Listens on the configured addresses. `backend` must outlive this.
  absl::Status Open(const config::Config& config, SmMode mode, Backend& backend);
  // A view was published. `serves`: the health service reports SERVING.
  void OnPublished(bool serves);
  void SetAccess(const config::Security& security);
  // Refuses new calls and ends those under way. Stop pages first: they show counters of the gRPC
  // server.
  void StopPages();
  void StopCalls();

 private:
  // Any thread. Null before the gRPC server has started.
  rpc::Server* serving() const { return serving_.load(std::memory_order_acquire); }

  std::unique_ptr<rpc::Server> server_;
  std::atomic<rpc::Server*> serving_ = nullptr;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace fabricd::daemon
