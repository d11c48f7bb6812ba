// SPDX-License-Identifier: Apache-2.0
// fabric.v1.PlanService. Any thread; what takes computing is done on the worker.
#pragma once

#include <chrono>

#include "daemon/base/models.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/plan_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class PlanService final : public ::fabric::v1::PlanService::CallbackService {
 public:
  // Of an expected topology: most bytes, and how long its client may take to send it.
  static constexpr size_t kMostText = size_t{64} << 20;
  static constexpr std::chrono::seconds kLongestText{120};

  // REQUIRES: the worker outlives all calls.
  PlanService(daemon::Models& models, ExportWorker& worker) : models_(models), worker_(worker) {}

  grpc::ServerUnaryReactor* PreviewChange(grpc::CallbackServerContext* context,
                                          const ::fabric::v1::PreviewChangeRequest* request,
                                          ::fabric::v1::PreviewChangeResponse* response) override;
  grpc::ServerUnaryReactor* AnalyzeJob(grpc::CallbackServerContext* context,
                                       const ::fabric::v1::AnalyzeJobRequest* request,
                                       ::fabric::v1::AnalyzeJobResponse* response) override;
  grpc::ServerReadReactor<::fabric::v1::ValidateWiringRequest>* ValidateWiring(
      grpc::CallbackServerContext* context,
      ::fabric::v1::ValidateWiringResponse* response) override;

 private:
  template <typename Request, typename Response, typename Work>
  grpc::ServerUnaryReactor* Later(const Request* request, Response* response, Work work);

  daemon::Models& models_;
  ExportWorker& worker_;
};

}  // namespace fabricd::rpc
