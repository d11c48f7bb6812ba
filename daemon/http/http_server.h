// SPDX-License-Identifier: Apache-2.0
// HttpServer: read-only pages over plain HTTP, for Prometheus, probes and browsers. It knows no
// fabric: each page is a function. Bounded: kThreads requests are served at a time, kQueue
// connections wait, and the kernel's backlog holds the rest; a request has at most 8 KiB a line and
// no body; a connection that says nothing is closed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

namespace fabricd::http {

struct Reply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;  // Not null.
};
using Query = std::map<std::string, std::string>;
// Called by the server's threads, several at a time.
using Page = std::function<Reply(const Query&)>;
using Pages = std::map<std::string, Page>;  // By path: "/metrics".

Reply Text(std::string body, int status = 200);

class HttpServer {
 public:
  static constexpr size_t kThreads = 4;
  static constexpr size_t kQueue = 64;

  // `address`: HOST:PORT, an IPv6 host in brackets; port 0: any. kInvalidArgument: no such address;
  // kUnavailable: it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, Pages pages);
  ~HttpServer();  // Ends what is being served.

  int port() const;
  // Whether only this machine reaches it.
  bool is_loopback() const;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fabricd::http
