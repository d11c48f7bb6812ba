// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/topology_service.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "common/status.h"
#include "daemon/rpc/convert/convert_telemetry.h"
#include "daemon/rpc/convert/name_filter.h"
#include "daemon/rpc/convert/pages.h"
#include "daemon/rpc/convert/read_mask.h"
#include "daemon/rpc/streams/export.h"
#include "daemon/rpc/streams/reactors.h"
#include "daemon/store/config_watch.h"
#include "daemon/store/store_watch.h"
#include "query/trace.h"

namespace fabricd::rpc {
namespace {

// INVALID_ARGUMENT unless each word is one of `known`.
template <size_t N>
absl::Status CheckWords(const char* field,
                        const google::protobuf::RepeatedPtrField<std::string>& words,
                        const std::array<std::string_view, N>& known) {
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    return BadField(field, fmt::format("\"{}\" is none of {}", word, fmt::join(known, ", ")));
  }
  return absl::OkStatus();
}

bool Contains(const google::protobuf::RepeatedPtrField<std::string>& words,
              const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 3> kNodeTypes = {"CA", "SWITCH", "ROUTER"};
constexpr std::array<std::string_view, 4> kPortStates = {"DOWN", "INIT", "ARMED", "ACTIVE"};

struct PortFilter {
  NameFilter names;
  const pb::ListPortsRequest& request;

  bool Passes(const query::ReadModel& model, PortRef ref, const fabric::Port& port) const {
    if (!names.Passes(ref)) return false;
    if (!request.states().empty() &&
        (!port.known ||
         !Contains(request.states(), std::string(wire::PortStateName(port.info.port_state))))) {
      return false;
    }
    return !request.degraded_only() ||
           (!port.peer.IsNone() && query::QualityOf(model.snapshot(), ref, port.peer).degraded);
  }
};

// What the counters of ports say, for PORT_VIEW_RATES. Ports come by node.
class PortRates {
 public:
  PortRates(const query::ReadModel& model, std::shared_ptr<const telemetry::TelemetryView> view)
      : view_(std::move(view)), telemetry_{model, *view_} {}

  void Fill(PortRef port, pb::Port* out) {
    const telemetry::PortRecord* record = telemetry_.Find(port);
    ToProto(record ? query::MeasuresOf(*view_, *record) : query::PortMeasures(),
            out->mutable_rates());
    if (telemetry_.FreshnessOf(port) != telemetry::Freshness::kFresh) return;
    if (!std::exchange(has_sums_, true) || of_ != port.node) {
      of_ = port.node;
      sums_ = query::ErrorsOf(telemetry_, of_, telemetry_.SinceOf(std::chrono::hours(1)),
                              query::ErrorsThatAddUp());
    }
    if (port.port.value() < sums_.size())
      out->set_errors(static_cast<double>(query::SumOf(sums_[port.port.value()])));
  }

 private:
  const std::shared_ptr<const telemetry::TelemetryView> view_;
  const query::Telemetry telemetry_;
  bool has_sums_ = false;
  NodeIndex of_{};
  std::vector<query::PortErrorSums> sums_;
};

absl::Status NoPlan(const query::ReadModel& model) {
  return MakeError(absl::StatusCode::kFailedPrecondition, "NO_ROUTES",
                   fmt::format("no routes have been computed (this subnet manager is {})",
                               wire::SmStateName(model.view->sm.state)));
}

// The switch and the entries asked for: by LID, of `destination` only if one is given.
struct TableQuery {
  const fabric::Node* node = nullptr;
  std::optional<std::set<PortRef>> destinations;
};
absl::StatusOr<TableQuery> ReadTableQuery(const query::ReadModel& model,
                                          const pb::GetForwardingTableRequest& request) {
  TableQuery query;
  const auto node = model.FindNode(request.node());
  if (!node.ok()) return node.status();
  query.node = *node;
  if (!query.node->IsSwitch()) {
    return BadField("node", fmt::format("{} is not a switch", model.name(query.node->index)));
  }
  if (!model.view->plan || !model.view->plan->HasRow(query.node->index)) return NoPlan(model);
  if (request.destination().empty()) return query;
  query.destinations.emplace();
  const auto address = model.Resolve(request.destination());
  if (!address.ok()) return address.status();
  const fabric::Node& owner = *model.snapshot().node(address->node);
  if (address->has_port) query.destinations->insert({owner.index, address->port});
  for (const auto& [ref, port] : owner.EndPorts())
    if (!address->has_port) query.destinations->insert(ref);
  return query;
}

void AddEntry(const query::ReadModel& model, const fabric::Node& node, Lid lid, PortRef owner,
              pb::ForwardingEntry* out) {
  const uint8_t egress = model.view->plan->EgressPort(node.index, lid);
  out->set_lid(lid.value());
  out->set_routed(egress != routing::kNoRoute);
  if (egress != routing::kNoRoute) out->set_port(egress);
  ToProto(model, owner, out->mutable_destination());
  out->set_destination_type(NodeTypeWord(model.snapshot().node(owner.node)->info.node_type));
}

void AddPath(const query::ReadModel& model, PortRef source, Lid lid, pb::Path* out) {
  const query::Trace trace = query::TracePath(model, source, lid);
  out->set_destination_lid(lid.value());
  out->set_reachable(trace.reachable);
  out->set_stopped(trace.stopped);
  for (const query::TraceHop& hop : trace.hops) {
    const fabric::Node& node = *model.snapshot().node(hop.node);
    // The LID of a CA is that of the port passed: the one it came in by, at the source the one it
    // leaves by.
    const PortNum passed = node.IsSwitch() ? PortNum(0) : hop.ingress ? *hop.ingress : source.port;
    pb::PathHop* added = out->add_hops();
    added->set_node_guid(fmt::format("{}", node.guid()));
    added->set_node_name(model.name(hop.node));
    added->set_node_type(NodeTypeWord(node.info.node_type));
    const fabric::LidRange lids = model.LidsOf({hop.node, passed});
    added->set_lid(lids.base.value());
    added->set_lmc(lids.lmc);
    added->set_port_guid(fmt::format("{}", node.port(passed).guid));
    if (hop.ingress) added->set_ingress_port(hop.ingress->value());
    if (hop.egress) added->set_egress_port(hop.egress->value());
  }
}

}  // namespace

grpc::ServerUnaryReactor* TopologyService::ListNodes(Context* context,
                                                     const pb::ListNodesRequest* request,
                                                     pb::ListNodesResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    FABRICD_RETURN_IF_ERROR(CheckWords("types", request->types(), kNodeTypes));
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto mask = ReadMask<pb::Node>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    std::set<NodeIndex> named;
    for (const std::string& name : request->names()) {
      const auto node = model.FindNode(name);
      if (!node.ok()) return node.status();
      named.insert((*node)->index);
    }
    for (const NodeIndex index : model.names->nodes) {
      if (!named.empty() && !named.count(index)) continue;
      const fabric::Node& node = *model.snapshot().node(index);
      if (!Contains(request->types(), NodeTypeWord(node.info.node_type))) continue;
      if (!page->Take()) continue;
      pb::Node* added = response->add_nodes();
      ToProto(model, node, added);
      mask->Trim(added);
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::GetNode(Context* context,
                                                   const pb::GetNodeRequest* request,
                                                   pb::GetNodeResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto model = models_.Ready();
    if (!model.ok()) return model.status();
    const auto node = (*model)->FindNode(request->node());
    if (!node.ok()) return node.status();
    ToProto(**model, **node, response->mutable_node());
    response->set_generation(static_cast<uint32_t>((*model)->view->generation.value()));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::ListHosts(Context* context,
                                                     const pb::ListHostsRequest* request,
                                                     pb::ListHostsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto mask = ReadMask<pb::Host>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    for (const std::string& name : request->names()) {
      if (!model.hosts->Find(name)) return NoSuch("host", name);
    }
    for (const fabric::Host& host : model.hosts->hosts()) {
      if (!Contains(request->names(), host.name)) continue;
      if (!page->Take()) continue;
      pb::Host* added = response->add_hosts();
      ToProto(model, host, added);
      mask->Trim(added);
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::ListPorts(Context* context,
                                                     const pb::ListPortsRequest* request,
                                                     pb::ListPortsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    FABRICD_RETURN_IF_ERROR(CheckWords("states", request->states(), kPortStates));
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto mask = ReadMask<pb::Port>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    auto names = NameFilter::Read(model, request->names());
    if (!names.ok()) return names.status();
    const PortFilter filter{*std::move(names), *request};
    std::optional<PortRates> rates;
    if (request->view() == pb::PORT_VIEW_RATES) rates.emplace(model, backend_.telemetry());
    for (const NodeIndex index : model.names->nodes) {
      const fabric::Node& node = *model.snapshot().node(index);
      for (const auto& [ref, port] : node.AllPorts()) {
        if (!filter.Passes(model, ref, port)) continue;
        if (!page->Take()) continue;
        pb::Port* added = response->add_ports();
        ToProto(model, ref, request->view(), added);
        if (rates) rates->Fill(ref, added);
        mask->Trim(added);
      }
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::GetPort(Context* context,
                                                   const pb::GetPortRequest* request,
                                                   pb::GetPortResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto model = models_.Ready();
    if (!model.ok()) return model.status();
    const auto port = (*model)->FindPort(request->port());
    if (!port.ok()) return port.status();
    ToProto(**model, *port, pb::PORT_VIEW_FULL, response->mutable_port());
    response->set_generation(static_cast<uint32_t>((*model)->view->generation.value()));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::ListLinks(Context* context,
                                                     const pb::ListLinksRequest* request,
                                                     pb::ListLinksResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto mask = ReadMask<pb::Link>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    const auto names = NameFilter::Read(model, request->names());
    if (!names.ok()) return names.status();
    model.ForEachLink([&](const query::LinkEnds& link) {
      if (!names->Passes(link.a) && !names->Passes(link.b)) return;
      if (request->degraded_only() && !query::QualityOf(model.snapshot(), link.a, link.b).degraded)
        return;
      if (!page->Take()) return;
      pb::Link* added = response->add_links();
      ToProto(model, link, added);
      mask->Trim(added);
    });
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

// Nodes that should be configured alike, and are not, are a problem of all.
void TopologyService::AddSharingNode(const daemon::SharingNode& node, pb::GetSmResponse* response) {
  pb::SharingNode* added = response->add_sharing_nodes();
  added->set_name(node.name);
  added->set_endpoint(node.endpoint);
  added->set_version(node.version);
  added->set_state(node.state);
  if (node.sm_port) added->set_sm_guid(fmt::format("{}", node.sm_port));
  added->set_is_this(node.is_this);
  for (const std::string& key : node.different_keys) added->add_different_keys(key);
  if (node.different_keys.empty()) return;
  pb::Problem* problem = response->add_problems();
  problem->set_kind("ConfigDiffers");
  problem->set_subject(node.name);
  problem->set_message(daemon::ConfigWatch::Difference(node));
}

grpc::ServerUnaryReactor* TopologyService::GetSm(Context* context, const pb::GetSmRequest*,
                                                 pb::GetSmResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    ToProto(*models_.Current(), version_, response);
    if (const absl::Status writable = backend_.store_writable(); !writable.ok()) {
      pb::Problem* problem = response->add_problems();
      problem->set_kind("StoreUnavailable");
      problem->set_subject("store");
      problem->set_message(daemon::StoreWatch::Refusal(writable));
    }
    response->set_epoch(static_cast<uint64_t>(backend_.epoch()));
    for (const daemon::SharingNode& node : backend_.sharing_nodes()) AddSharingNode(node, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::GetForwardingTable(
    Context* context, const pb::GetForwardingTableRequest* request,
    pb::GetForwardingTableResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto query = ReadTableQuery(model, *request);
    if (!query.ok()) return query.status();
    const fabric::LidTable& lids = *model.view->lids;
    ToProto(model, PortRef{query->node->index, PortNum(0)}, response->mutable_node());
    response->set_lid_top(query->node->switch_info->linear_fdb_top);
    for (uint32_t value = 1; value <= lids.top().value(); ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      const PortRef owner = lids.Owner(lid);
      // A LID is kept for a node that has gone; nothing can be said of its owner then.
      if (!model.snapshot().port(owner)) continue;
      if (query->destinations && !query->destinations->count(owner)) continue;
      if (page->Take()) AddEntry(model, *query->node, lid, owner, response->add_entries());
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TopologyService::TracePath(Context* context,
                                                     const pb::TracePathRequest* request,
                                                     pb::TracePathResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto ready = models_.Ready();
    if (!ready.ok()) return ready.status();
    const query::ReadModel& model = **ready;
    const auto source = model.FindEnd(request->source());
    if (!source.ok()) return source.status();
    const auto destination = model.FindEnd(request->destination());
    if (!destination.ok()) return destination.status();
    if (!model.view->plan) return NoPlan(model);
    if (!destination->lid) {
      return MakeError(absl::StatusCode::kFailedPrecondition, "NO_LID",
                       fmt::format("{} has no LID", request->destination()));
    }
    ToProto(model, source->port, response->mutable_source());
    ToProto(model, destination->port, response->mutable_destination());
    response->set_generation(static_cast<uint32_t>(model.view->generation.value()));
    const fabric::LidRange range = request->all_lids() ? model.LidsOf(destination->port)
                                                       : fabric::LidRange{destination->lid, 0};
    for (uint32_t i = 0; i < range.count(); ++i) {
      const Lid lid(static_cast<uint16_t>(range.base.value() + i));
      AddPath(model, source->port, lid, response->add_paths());
    }
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<pb::GetTopologyResponse>* TopologyService::GetTopology(
    Context* context, const pb::GetTopologyRequest* request) {
  const auto prepare =
      [this, format = request->format()]() -> absl::StatusOr<NextPiece<pb::GetTopologyResponse>> {
    auto model = models_.Ready();
    if (!model.ok()) return model.status();
    return ExportTopology(*std::move(model), format);
  };
  return StreamReactor<pb::GetTopologyResponse>::Start(context, worker_, prepare);
}

grpc::ServerWriteReactor<pb::WatchTopologyResponse>* TopologyService::WatchTopology(
    Context* context, const pb::WatchTopologyRequest* request) {
  return TopologyStream::Start(context, hub_, MakeTopologyStream(models_, deltas_, *request));
}

}  // namespace fabricd::rpc
