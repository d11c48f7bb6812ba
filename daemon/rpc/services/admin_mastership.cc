// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "common/utf8.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/services/admin_service.h"
#include "fabric/names.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;
using Outcome = std::shared_ptr<const sweep::MastershipOutcome>;

constexpr uint32_t kHighestPriority = 15;

absl::Status MastershipError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return status;
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", Message(status), std::chrono::seconds(1));
    case absl::StatusCode::kNotFound:
      return MakeError(absl::StatusCode::kFailedPrecondition, "NO_STANDBY", Message(status));
    case absl::StatusCode::kAborted: return WithReason(status, "HANDOVER_FAILED");
    default: return WithReason(status, "NOT_MASTER");
  }
}

bool HasWaitingNode(const daemon::Backend& backend) {
  const auto nodes = backend.sharing_nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const daemon::SharingNode& node) { return node.MaySucceed(); });
}

void Fill(const daemon::Backend& backend, const sweep::RemoteSm& sm, pb::SmSuccessor* out) {
  out->set_guid(fmt::format("{}", sm.guid));
  out->set_priority(sm.priority);
  const auto view = backend.view();
  if (const fabric::Node* node = view->snapshot->node(sm.port.node))
    out->set_node_name(Utf8(fabric::DisplayName(*node, &backend.node_name_map())));
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::SetPriority(grpc::CallbackServerContext*,
                                                    const pb::SetPriorityRequest* request,
                                                    pb::SetPriorityResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::SetPriorityResponse>>(response);
  auto* reactor = call->Start(call);
  if (request->priority() > kHighestPriority) {
    call->Fail(BadField(
        "priority", fmt::format("expected 0-{}, got {}", kHighestPriority, request->priority())));
    return reactor;
  }
  const sweep::SetPriority command{0, static_cast<uint8_t>(request->priority()),
                                   request->validate_only()};
  backend_.PostMastership(command,
                          [this, call](const absl::Status& status, const Outcome& outcome) {
                            call->Answer([&](pb::SetPriorityResponse* out) {
                              if (!status.ok()) return MastershipError(status);
                              out->set_before(outcome->before);
                              out->set_priority(outcome->priority);
                              if (outcome->successor)
                                Fill(backend_, *outcome->successor, out->mutable_successor());
                              return absl::OkStatus();
                            });
                          });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::StepDown(grpc::CallbackServerContext*,
                                                 const pb::StepDownRequest* request,
                                                 pb::StepDownResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::StepDownResponse>>(response);
  // The fabric is read once more before it is given away.
  auto* reactor = call->StartWithoutLimit(call);
  if (request->for_upgrade() && !HasWaitingNode(backend_)) {
    call->Fail(
        MastershipError(NotFound("no other fabricd waits that shares the state (fabricctl "
                                 "describe sm lists them)")));
    return reactor;
  }
  const sweep::StepDown command{0, request->validate_only(), request->request_id()};
  backend_.PostMastership(command,
                          [this, call](const absl::Status& status, const Outcome& outcome) {
                            call->Answer([&](pb::StepDownResponse* out) {
                              if (!status.ok()) return MastershipError(status);
                              if (outcome->successor)
                                Fill(backend_, *outcome->successor, out->mutable_successor());
                              out->set_before(outcome->before);
                              out->set_priority(outcome->priority);
                              out->set_existing(outcome->existing);
                              return absl::OkStatus();
                            });
                          });
  return reactor;
}

}  // namespace fabricd::rpc
