// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "common/status.h"
#include "common/utf8.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/services/admin_service.h"
#include "fabric/names.h"
#include "fabric/port_name.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;
using Outcome = std::shared_ptr<const sweep::MastershipOutcome>;

// Names of nodes and ports of one view.
class Names {
 public:
  Names(const daemon::Backend& backend, const sweep::FabricView& view)
      : map_(backend.node_name_map()), snapshot_(*view.snapshot) {}

  std::string OfNode(Guid guid) const {
    const fabric::Node* node = snapshot_.FindNode(guid);
    return node == nullptr ? fmt::format("{}", guid) : Utf8(fabric::DisplayName(*node, &map_));
  }
  std::string OfPort(Guid guid, PortNum port) const {
    return guid ? fabric::EndName(OfNode(guid), port) : "";
  }
  std::string OfNodeAt(NodeIndex index) const {
    const fabric::Node* node = snapshot_.node(index);
    return node == nullptr ? "" : Utf8(fabric::DisplayName(*node, &map_));
  }

 private:
  const fabric::NodeNameMap& map_;
  const fabric::FabricSnapshot& snapshot_;
};

void Fill(const sweep::TakeoverReport& report, const Names& names,
          pb::GetTakeoverReportResponse* out) {
  out->set_id(report.id);
  for (const sweep::TakeoverChange& risk : report.risks) {
    pb::TakeoverRisk* added = out->add_risks();
    added->set_kind(std::string(sweep::TakeoverRiskName(risk.risk)));
    added->set_from(risk.from);
    added->set_to(risk.to);
    added->set_ports(risk.ports);
    added->set_example(names.OfPort(risk.node, risk.port));
  }
  for (const auto& [attribute, sets] : report.sets) {
    pb::TakeoverSets* added = out->add_sets();
    added->set_attribute(attribute);
    added->set_sets(sets.sets);
    for (const auto& [field, count] : sets.fields) (*added->mutable_fields())[field] = count;
  }
  out->set_lft_blocks(report.lft_blocks);
  out->set_lft_switches(report.lft_switches);
  out->set_lids_changed(report.lids_changed);
  for (const sweep::LidChange& change : report.lid_changes) {
    pb::TakeoverLid* added = out->add_lids();
    added->set_port_guid(fmt::format("{}", change.port_guid));
    added->set_from(change.from.value());
    added->set_to(change.to.value());
  }
  out->set_mlids_forwarded(report.mlids_forwarded);
  out->set_mlids_unknown(report.mlids_unknown);
  out->set_active_ports(report.active_ports);
  out->set_unresponsive_ports(report.unresponsive_ports);
  for (const sweep::UnresponsivePort& port : report.unresponsive)
    out->add_unresponsive(names.OfPort(port.node, port.port));
  out->set_ports_kept_enforcing(report.ports_kept_enforcing);
  for (const Guid guid : report.adaptive_routing)
    out->add_adaptive_routing_switches(names.OfNode(guid));
  out->set_virtualized_ports(report.virtualized_ports);
  for (const Guid guid : report.aggregation_nodes) out->add_aggregation_nodes(names.OfNode(guid));
  out->set_no_plan(report.no_plan);
}

absl::Status AcceptError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", Message(status), std::chrono::seconds(1));
    case absl::StatusCode::kNotFound:
      return MakeError(absl::StatusCode::kAborted, "REPORT_CHANGED", Message(status));
    default: return WithReason(status, "NOTHING_HELD");
  }
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::GetTakeoverReport(grpc::CallbackServerContext*,
                                                          const pb::GetTakeoverReportRequest*,
                                                          pb::GetTakeoverReportResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::GetTakeoverReportResponse>>(response);
  auto* reactor = call->Start(call);
  const auto view = backend_.view();
  call->Answer([&](pb::GetTakeoverReportResponse* out) {
    if (view->takeover == nullptr)
      return MakeError(absl::StatusCode::kFailedPrecondition, "NO_TAKEOVER_REPORT",
                       "there is no takeover report: this fabricd manages the subnet, or its first "
                       "sweep has not ended");
    const Names names(backend_, *view);
    Fill(*view->takeover, names, out);
    out->set_held(view->sm.is_held);
    out->set_mode(std::string(SmModeName(view->sm.mode)));
    for (const sweep::RemoteSm& sm : view->sm.remote) {
      pb::TakeoverSm* added = out->add_sms();
      added->set_guid(fmt::format("{}", sm.guid));
      added->set_priority(sm.priority);
      added->set_state(std::string(wire::SmStateName(sm.state)));
      added->set_node_name(names.OfNodeAt(sm.port.node));
    }
    return absl::OkStatus();
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::AcceptTakeover(grpc::CallbackServerContext*,
                                                       const pb::AcceptTakeoverRequest* request,
                                                       pb::AcceptTakeoverResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::AcceptTakeoverResponse>>(response);
  auto* reactor = call->Start(call);
  if (request->id().empty()) {
    call->Fail(BadField("id", "expected the id of a takeover report"));
    return reactor;
  }
  backend_.PostMastership(sweep::AcceptTakeover{0, request->id()},
                          [call](const absl::Status& status, const Outcome&) {
                            call->Answer([&](pb::AcceptTakeoverResponse*) {
                              return status.ok() ? status : AcceptError(status);
                            });
                          });
  return reactor;
}

}  // namespace fabricd::rpc
