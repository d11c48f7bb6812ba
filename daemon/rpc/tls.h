// SPDX-License-Identifier: Apache-2.0
// Credentials of the TCP listeners: certificates of both sides, read again when their files change.
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <grpcpp/grpcpp.h>

#include "config/config.h"

namespace fabricd::rpc {

// kInvalidArgument: a file is not named, cannot be read or is no PEM; the message says which. The
// files are looked at every `refresh_seconds`; what cannot be read then leaves the certificates of
// before in use.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Security& security,
                                                                   unsigned refresh_seconds);

}  // namespace fabricd::rpc
