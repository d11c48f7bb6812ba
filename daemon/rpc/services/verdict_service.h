// SPDX-License-Identifier: Apache-2.0
// fabric.v1.VerdictService: lists are read from the published view of verdicts; what is said of a
// verdict is posted to its keeper and answered when it is durable. Any thread.
#pragma once

#include <memory>

#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/rpc/convert/view_page.h"
#include "daemon/rpc/streams/log_stream.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/verdict_service.grpc.pb.h"
#include "query/verdict_view.h"

namespace fabricd::rpc {

class VerdictService final : public ::fabric::v1::VerdictService::CallbackService {
 public:
  // All outlive it. `worker` makes the answers of what is posted: the keeper's thread, on which
  // they end, has better to do.
  VerdictService(daemon::Backend& backend, daemon::Models& models, ExportWorker& worker,
                 WatchHub& hub)
      : backend_(backend), models_(models), worker_(worker), hub_(hub) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* ListVerdicts(Context*, const ::fabric::v1::ListVerdictsRequest*,
                      ::fabric::v1::ListVerdictsResponse*) override;
  Unary* GetVerdict(Context*, const ::fabric::v1::GetVerdictRequest*,
                    ::fabric::v1::GetVerdictResponse*) override;
  grpc::ServerWriteReactor<::fabric::v1::WatchVerdictsResponse>* WatchVerdicts(
      Context*, const ::fabric::v1::WatchVerdictsRequest*) override;
  Unary* ListCongestion(Context*, const ::fabric::v1::ListCongestionRequest*,
                        ::fabric::v1::ListCongestionResponse*) override;
  Unary* AckVerdict(Context*, const ::fabric::v1::AckVerdictRequest*,
                    ::fabric::v1::AckVerdictResponse*) override;
  Unary* OverruleVerdict(Context*, const ::fabric::v1::OverruleVerdictRequest*,
                         ::fabric::v1::OverruleVerdictResponse*) override;
  Unary* ReleaseVerdict(Context*, const ::fabric::v1::ReleaseVerdictRequest*,
                        ::fabric::v1::ReleaseVerdictResponse*) override;
  Unary* ResetVerdictBreaker(Context*, const ::fabric::v1::ResetVerdictBreakerRequest*,
                             ::fabric::v1::ResetVerdictBreakerResponse*) override;

 private:
  // Of the link at `name` in the snapshot of verdicts.
  absl::StatusOr<PortRef> FindPort(const std::string& name);
  // Answers the call, on the worker, with what `fill` makes of the end of what is posted.
  template <typename Response, typename Fill>
  daemon::VerdictDone AnswerWith(std::shared_ptr<LaterCall<Response>> call, Fill fill);
  // Posts what is said of the verdict at `port`.
  template <typename Response>
  Unary* Say(Context* context, const std::string& port, daemon::VerdictCommand command,
             Response* response);
  absl::StatusOr<std::shared_ptr<WatchStream<::fabric::v1::WatchVerdictsResponse>>> MakeStream(
      const ::fabric::v1::WatchVerdictsRequest& request);

  daemon::Backend& backend_;
  daemon::Models& models_;
  ExportWorker& worker_;
  WatchHub& hub_;
  KeptViews<query::VerdictView> kept_;
};

}  // namespace fabricd::rpc
