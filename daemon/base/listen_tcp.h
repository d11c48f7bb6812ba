// SPDX-License-Identifier: Apache-2.0
// Sockets that listen on TCP. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

namespace fabricd::daemon {

struct TcpSockets {
  std::vector<int> fds;  // Not blocking. The caller closes them.
  uint16_t port = 0;
};

// On every address of `host`, with one port; 0: any that is free. kUnavailable: none of them can be
// listened on.
absl::StatusOr<TcpSockets> ListenTcp(const std::string& host, uint16_t port);

// As ListenTcp() of "HOST:PORT", an IPv6 host in brackets. kInvalidArgument: it is no such text.
absl::StatusOr<TcpSockets> ListenTcp(const std::string& address);

}  // namespace fabricd::daemon
