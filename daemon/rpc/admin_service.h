// SPDX-License-Identifier: Apache-2.0
// fabric.v1.AdminService. Any thread.
#pragma once

#include "daemon/backend.h"
#include "daemon/rpc/reactors.h"
#include "fabric/v1/admin_service.grpc.pb.h"

namespace fabricd::rpc {

class AdminService final : public ::fabric::v1::AdminService::CallbackService {
 public:
  AdminService(daemon::Backend& backend, ExportWorker& worker)
      : backend_(backend), worker_(worker) {}

  grpc::ServerUnaryReactor* StartSweep(grpc::CallbackServerContext* context,
                                       const ::fabric::v1::StartSweepRequest* request,
                                       ::fabric::v1::StartSweepResponse* response) override;
  grpc::ServerWriteReactor<::fabric::v1::DumpResponse>* Dump(
      grpc::CallbackServerContext* context, const ::fabric::v1::DumpRequest* request) override;

 private:
  daemon::Backend& backend_;
  ExportWorker& worker_;
};

}  // namespace fabricd::rpc
