// SPDX-License-Identifier: Apache-2.0
// ApiServers: where calls come in: gRPC, and the pages of HTTP. Calls are accepted before Open() is
// back: they, and the core, see the server by serving().
#pragma once

#include <atomic>
#include <memory>

#include <absl/status/status.h>

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

  // Listens where the configuration says. `backend` outlives this.
  absl::Status Open(const config::Config& config, Backend& backend);
  // The newest view was published. `serves`: calls have something to show.
  void OnPublished(bool serves);
  void SetAccess(const config::Security& security);
  // New calls are refused, and those under way end. Pages go first: they show the server's
  // counters.
  void StopPages();
  void StopCalls();

 private:
  // Null until calls are served. Any thread.
  rpc::Server* serving() const { return serving_.load(std::memory_order_acquire); }

  std::unique_ptr<rpc::Server> server_;
  std::atomic<rpc::Server*> serving_ = nullptr;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace fabricd::daemon
