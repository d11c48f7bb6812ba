// SPDX-License-Identifier: Apache-2.0
// The Client that speaks to etcd over gRPC.
#pragma once

#include <memory>

#include <absl/status/statusor.h>

#include "store/etcd/client.h"

namespace fabricd::store::etcd {

// Connects later, with the first call. INVALID_ARGUMENT: no endpoints, a certificate without its
// key, or a file that cannot be read.
absl::StatusOr<std::unique_ptr<Client>> MakeGrpcClient(ClientOptions options);

}  // namespace fabricd::store::etcd
