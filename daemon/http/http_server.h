// SPDX-License-Identifier: Apache-2.0
// daemon/http: health, metrics and the page over HTTP. Knows no gRPC.
//
// HttpServer: read-only pages over plain HTTP, for Prometheus, probes and browsers. It knows no
// fabric: each page is a function.
//
// One thread waits for all connections, so that one that says nothing, or takes nothing, costs a
// descriptor and at most kMostHead bytes; pages that take computing are made by a pool. At the
// bounds: of more than kConnections the client with the most of them loses its oldest one, of more
// than kQueue requests that wait the next is answered 503, and of more than kPendingBytes that
// clients have not taken yet the oldest answer is given up. A connection serves one request. Hence
// a page of kQuick is answered whatever clients do, which is what /healthz is for.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "daemon/http/request.h"

namespace fabricd::http {

struct Reply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;  // Not null.
};

struct Page {
  // kQuick: takes no time, and is made where connections are served.
  enum class Cost { kQuick, kComputed };

  // kComputed: called by several threads at a time.
  std::function<Reply(const Query&)> make;
  Cost cost = Cost::kComputed;
};
using Pages = std::map<std::string, Page>;  // By path: "/metrics".

Reply Text(std::string body, int status = 200);

struct HttpLimits {
  // From the connection to the end of the request's head; from the answer until it is taken.
  std::chrono::milliseconds request = std::chrono::seconds(5);
  std::chrono::milliseconds answer = std::chrono::seconds(30);
};

class HttpServer {
 public:
  static constexpr size_t kThreads = 4;
  static constexpr size_t kQueue = 64;
  static constexpr size_t kConnections = 256;
  static constexpr size_t kPendingBytes = size_t{256} << 20;

  // `address`: HOST:PORT, an IPv6 host in brackets; port 0: any. kInvalidArgument: no such address;
  // kUnavailable: it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, Pages pages,
                                                           HttpLimits limits = {});
  ~HttpServer();  // Cuts off what is being served.

  int port() const;
  // Whether only this machine reaches it.
  bool is_loopback() const;

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace fabricd::http
