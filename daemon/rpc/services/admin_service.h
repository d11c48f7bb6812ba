// SPDX-License-Identifier: Apache-2.0
// fabric.v1.AdminService: sweeps and dumps (admin_service.cc), the place among subnet managers
// (admin_mastership.cc), takeovers (admin_takeover.cc), recordings (admin_recording.cc), the
// configuration, the audit log and who calls (admin_config.cc). Any thread.
#pragma once

#include "daemon/base/access.h"
#include "daemon/base/backend.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/admin_service.grpc.pb.h"

namespace fabricd::rpc {

class AdminService final : public ::fabric::v1::AdminService::CallbackService {
 public:
  // `dumps` for what may take seconds, `answers` for what only must not block.
  AdminService(daemon::Backend& backend, ExportWorker& dumps, ExportWorker& answers,
               const Access& access)
      : backend_(backend), dumps_(dumps), answers_(answers), access_(access) {}

  grpc::ServerUnaryReactor* StartSweep(grpc::CallbackServerContext* context,
                                       const ::fabric::v1::StartSweepRequest* request,
                                       ::fabric::v1::StartSweepResponse* response) override;
  grpc::ServerUnaryReactor* SetPriority(grpc::CallbackServerContext* context,
                                        const ::fabric::v1::SetPriorityRequest* request,
                                        ::fabric::v1::SetPriorityResponse* response) override;
  grpc::ServerUnaryReactor* StepDown(grpc::CallbackServerContext* context,
                                     const ::fabric::v1::StepDownRequest* request,
                                     ::fabric::v1::StepDownResponse* response) override;
  grpc::ServerUnaryReactor* GetTakeoverReport(
      grpc::CallbackServerContext* context, const ::fabric::v1::GetTakeoverReportRequest* request,
      ::fabric::v1::GetTakeoverReportResponse* response) override;
  grpc::ServerUnaryReactor* AcceptTakeover(grpc::CallbackServerContext* context,
                                           const ::fabric::v1::AcceptTakeoverRequest* request,
                                           ::fabric::v1::AcceptTakeoverResponse* response) override;
  grpc::ServerWriteReactor<::fabric::v1::DownloadRecordingResponse>* DownloadRecording(
      grpc::CallbackServerContext* context,
      const ::fabric::v1::DownloadRecordingRequest* request) override;
  grpc::ServerWriteReactor<::fabric::v1::DumpResponse>* Dump(
      grpc::CallbackServerContext* context, const ::fabric::v1::DumpRequest* request) override;
  grpc::ServerUnaryReactor* GetConfig(grpc::CallbackServerContext* context,
                                      const ::fabric::v1::GetConfigRequest* request,
                                      ::fabric::v1::GetConfigResponse* response) override;
  grpc::ServerUnaryReactor* ReloadConfig(grpc::CallbackServerContext* context,
                                         const ::fabric::v1::ReloadConfigRequest* request,
                                         ::fabric::v1::ReloadConfigResponse* response) override;
  grpc::ServerUnaryReactor* ValidateConfig(grpc::CallbackServerContext* context,
                                           const ::fabric::v1::ValidateConfigRequest* request,
                                           ::fabric::v1::ValidateConfigResponse* response) override;
  grpc::ServerUnaryReactor* ImportOpensm(grpc::CallbackServerContext* context,
                                         const ::fabric::v1::ImportOpensmRequest* request,
                                         ::fabric::v1::ImportOpensmResponse* response) override;
  grpc::ServerUnaryReactor* ListAuditRecords(
      grpc::CallbackServerContext* context, const ::fabric::v1::ListAuditRecordsRequest* request,
      ::fabric::v1::ListAuditRecordsResponse* response) override;
  grpc::ServerUnaryReactor* GetCaller(grpc::CallbackServerContext* context,
                                      const ::fabric::v1::GetCallerRequest* request,
                                      ::fabric::v1::GetCallerResponse* response) override;

 private:
  daemon::Backend& backend_;
  ExportWorker &dumps_, &answers_;
  const Access& access_;
};

}  // namespace fabricd::rpc
