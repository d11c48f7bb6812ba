// SPDX-License-Identifier: Apache-2.0
// The errors of query/status.h as handlers make them, and the one place that turns them into
// gRPC's.
#pragma once

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

#include "query/status.h"

namespace fabricd::rpc {

using query::BadField;
using query::BadFields;
using query::GuardRefusal;
using query::kErrorDomain;
using query::MakeError;
using query::NoSuch;
using query::OverQuota;
using query::TryLater;
using query::WithReason;

// What goes over the wire (query::ToRpcStatus). OK stays OK.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace fabricd::rpc
