// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/grpc_status.h"

#include "google/rpc/status.pb.h"

namespace fabricd::rpc {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status message = query::ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(message.code()), message.message(),
                      message.SerializeAsString());
}

}  // namespace fabricd::rpc
