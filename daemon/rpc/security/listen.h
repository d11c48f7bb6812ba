// SPDX-License-Identifier: Apache-2.0
// Listening addresses of the daemon, and what must be true of a unix socket's path before gRPC
// binds it.
#pragma once

#include <string>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace fabricd::rpc {

// Whether it is HOST:PORT; an IPv6 host stands in brackets.
bool IsTcpAddress(const std::string& address);

// PATH of "unix:PATH" or "unix:///PATH". kInvalidArgument for all else.
absl::StatusOr<std::string> UnixSocketPath(const std::string& address);

// Removes a socket that nobody listens on any more: gRPC would remove a living one as well.
// kFailedPrecondition: a process listens there, or the path is not a socket.
absl::Status RemoveStaleSocket(const std::string& path);

}  // namespace fabricd::rpc
