// SPDX-License-Identifier: Apache-2.0
// Credentials of the TCP listeners: certificates of both sides.
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <grpcpp/grpcpp.h>

#include "daemon/rpc/security/certificates.h"

namespace fabricd::rpc {

// Of what `keeper`, which outlives the server, has at the moment of a handshake, or had a second
// before.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const CertificateKeeper& keeper);

}  // namespace fabricd::rpc
