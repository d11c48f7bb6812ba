// SPDX-License-Identifier: Apache-2.0
// fabric.v1.RemediationService: commands about holds are posted to the core and answered when it
// has done them; all else is read from the published view. Any thread.
#pragma once

#include "daemon/base/access.h"
#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/rpc/convert/convert_policy.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class RemediationService final : public pb::RemediationService::CallbackService {
 public:
  // `worker` makes the answers of commands: the core's thread, on which they end, has better to do.
  RemediationService(daemon::Backend& backend, daemon::Models& models, ExportWorker& worker,
                     const Access& access)
      : backend_(backend), models_(models), worker_(worker), access_(access) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* CreateHold(Context*, const pb::CreateHoldRequest*, pb::CreateHoldResponse*) override;
  Unary* DeleteHold(Context*, const pb::DeleteHoldRequest*, pb::DeleteHoldResponse*) override;
  Unary* ListHolds(Context*, const pb::ListHoldsRequest*, pb::ListHoldsResponse*) override;
  Unary* AckHold(Context*, const pb::AckHoldRequest*, pb::AckHoldResponse*) override;
  Unary* BatchGetReadiness(Context*, const pb::BatchGetReadinessRequest*,
                           pb::BatchGetReadinessResponse*) override;
  Unary* ListConditions(Context*, const pb::ListConditionsRequest*,
                        pb::ListConditionsResponse*) override;
  Unary* ListDampedLinks(Context*, const pb::ListDampedLinksRequest*,
                         pb::ListDampedLinksResponse*) override;
  Unary* ClearDamping(Context*, const pb::ClearDampingRequest*, pb::ClearDampingResponse*) override;

 private:
  // Posts `command` and answers the call, on the worker, with what `fill` makes of its end.
  template <typename Response, typename Fill>
  void Post(daemon::HoldCommand command, std::shared_ptr<LaterCall<Response>> call, Fill fill);
  absl::Status CheckDurable() const;

  daemon::Backend& backend_;
  daemon::Models& models_;
  ExportWorker& worker_;
  const Access& access_;
};

}  // namespace fabricd::rpc
