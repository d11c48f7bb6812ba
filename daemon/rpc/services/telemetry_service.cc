// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/telemetry_service.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"
#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/convert/convert_telemetry.h"
#include "daemon/rpc/convert/port_selector.h"
#include "daemon/rpc/convert/read_mask.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

constexpr uint32_t kDefaultTop = 20;
constexpr int kMostJobHosts = 4096;
constexpr Duration kOneHour = std::chrono::hours(1);

absl::StatusOr<Duration> ReadSpan(const char* field, bool has,
                                  const google::protobuf::Duration& span, Duration otherwise) {
  if (!has) return otherwise;
  const auto ms = query::ToMilliseconds(field, span);
  if (!ms.ok()) return ms.status();
  if (*ms <= 0) return BadField(field, "is not positive");
  const int64_t most =
      std::chrono::duration_cast<std::chrono::milliseconds>(query::kLongestErrors).count();
  return Duration(std::chrono::milliseconds(std::min(*ms, most)));
}

absl::Status CheckTypes(const google::protobuf::RepeatedPtrField<std::string>& types) {
  for (const std::string& type : types) {
    if (type != "CA" && type != "SWITCH" && type != "ROUTER")
      return BadField("types", fmt::format("\"{}\" is none of CA, SWITCH, ROUTER", type));
  }
  return absl::OkStatus();
}

bool HasType(const google::protobuf::RepeatedPtrField<std::string>& types,
             const fabric::Node& node) {
  return types.empty() ||
         std::find(types.begin(), types.end(), NodeTypeWord(node.info.node_type)) != types.end();
}

// Whether any of `field` is asked for.
bool Wants(const google::protobuf::FieldMask& mask, const std::string& field) {
  return mask.paths().empty() || std::ranges::any_of(mask.paths(), [&](const std::string& path) {
           return path == field || path.rfind(field + ".", 0) == 0;
         });
}

// Visits the ports that can have a link, by node, then number.
template <typename Visit>
void ForEachPort(const query::ReadModel& model, const PortSelector& selector, Visit&& visit) {
  for (const NodeIndex index : model.names->nodes) {
    if (!selector.PassesSome(index)) continue;
    const fabric::Node& node = *model.snapshot().node(index);
    for (const auto& [port, state] : node.LinkPorts()) {
      if (selector.Passes(port)) visit(node, port);
    }
  }
}

std::optional<query::RankedKind> KindOf(pb::TopKind kind) {
  switch (kind) {
    case pb::TOP_KIND_UNSPECIFIED:
    case pb::TOP_KIND_PORT: return query::RankedKind::kPort;
    case pb::TOP_KIND_LINK: return query::RankedKind::kLink;
    case pb::TOP_KIND_HOST: return query::RankedKind::kHost;
    case pb::TOP_KIND_SWITCH: return query::RankedKind::kSwitch;
    default: return std::nullopt;
  }
}

std::optional<query::RankOrder> OrderOf(pb::TopOrder order) {
  switch (order) {
    case pb::TOP_ORDER_UNSPECIFIED:
    case pb::TOP_ORDER_XMIT: return query::RankOrder::kXmit;
    case pb::TOP_ORDER_RCV: return query::RankOrder::kRcv;
    case pb::TOP_ORDER_UTILISATION: return query::RankOrder::kUtilisation;
    case pb::TOP_ORDER_WAIT: return query::RankOrder::kWait;
    case pb::TOP_ORDER_ERRORS: return query::RankOrder::kErrors;
    case pb::TOP_ORDER_BER: return query::RankOrder::kBer;
    default: return std::nullopt;
  }
}

absl::Status NoHistory() {
  return TryLater("NO_HISTORY", "no history is kept of this port now", std::chrono::seconds(5));
}

void FillHistory(const telemetry::TelemetryView& view, const telemetry::HistoryAnswer& sent,
                 const telemetry::HistoryAnswer& received, pb::GetPortHistoryResponse* out) {
  std::map<telemetry::Millis, float> rcv;
  for (const telemetry::HistorySample& sample : received.samples) {
    if (sample.known) rcv[sample.at] = sample.xmit_bytes;
  }
  const TelemetryTimes times(view);
  for (const telemetry::HistorySample& sample : sent.samples) {
    pb::HistorySample* added = out->add_samples();
    *added->mutable_time() = times.At(sample.at);
    if (sample.known) added->set_xmit_bytes(static_cast<double>(sample.xmit_bytes));
    if (sample.knows_wait) added->set_wait(static_cast<double>(sample.wait));
    if (const auto found = rcv.find(sample.at); found != rcv.end())
      added->set_rcv_bytes(static_cast<double>(found->second));
  }
  out->set_step_seconds(static_cast<double>(sent.step) / 1000);
}

absl::Status Rank(const query::Telemetry& telemetry, const pb::ListTopRequest& request,
                  pb::ListTopResponse* response) {
  const auto kind = KindOf(request.kind());
  const auto order = OrderOf(request.order());
  if (!kind) return BadField("kind", "is none of PORT, LINK, HOST and SWITCH");
  if (!order) return BadField("order", "is none of XMIT, RCV, UTILISATION, WAIT, ERRORS and BER");
  const auto since =
      ReadSpan("errors_since", request.has_errors_since(), request.errors_since(), kOneHour);
  if (!since.ok()) return since.status();
  const auto selector = PortSelector::Read(telemetry.model, request.names());
  if (!selector.ok()) return selector.status();
  const uint32_t limit =
      request.limit() == 0 ? kDefaultTop : std::min(request.limit(), kMaxPageSize);
  const query::Ranking ranking =
      query::Rank(telemetry, *kind, *order, limit, telemetry.SinceOf(*since),
                  [&](PortRef port) { return selector->Passes(port); });
  for (const query::RankedEntry& entry : ranking.entries)
    ToProto(telemetry, entry, response->add_entries());
  response->set_total_size(static_cast<uint32_t>(ranking.total));
  response->set_generation(static_cast<uint32_t>(telemetry.model.view->generation.value()));
  *response->mutable_time() = TelemetryTimes(telemetry.view).At(telemetry.view.at);
  response->set_interval_seconds(static_cast<double>(telemetry.view.interval) / 1000);
  return absl::OkStatus();
}

absl::Status ViewJob(const query::Telemetry& telemetry, const pb::GetJobViewRequest& request,
                     pb::GetJobViewResponse* response) {
  if (request.hosts().empty()) return BadField("hosts", "names none");
  if (request.hosts_size() > kMostJobHosts)
    return BadField("hosts", fmt::format("names more than {}", kMostJobHosts));
  const auto since =
      ReadSpan("errors_since", request.has_errors_since(), request.errors_since(), kOneHour);
  if (!since.ok()) return since.status();
  std::vector<const fabric::Host*> hosts;
  for (const std::string& name : request.hosts()) {
    const fabric::Host* host = telemetry.model.hosts->Find(name);
    if (host == nullptr) return NoSuch("host", name);
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  ToProto(telemetry, query::ViewJob(telemetry, hosts, telemetry.SinceOf(*since)), response);
  response->set_hosts(static_cast<uint32_t>(hosts.size()));
  response->set_generation(static_cast<uint32_t>(telemetry.model.view->generation.value()));
  return absl::OkStatus();
}

}  // namespace

// ---- TelemetryService

// For what takes long: on the worker, which is not always free.
template <typename Request, typename Response, typename Work>
grpc::ServerUnaryReactor* TelemetryService::AnswerLater(const Request& request, Response* response,
                                                        Work work) {
  const auto call = std::make_shared<LaterCall<Response>>(response);
  auto* reactor = call->Start(call);
  // The service may be gone when a call that has ended is worked on, what it was given is not.
  const bool taken = worker_.Post([&models = models_, &backend = backend_, call, request, work] {
    if (call->ended()) return;
    const auto model = models.Ready();
    if (!model.ok()) return call->Fail(model.status());
    const auto view = backend.telemetry();
    Response made;
    const absl::Status status = work(query::Telemetry{**model, *view}, request, &made);
    call->Answer([&](Response* out) {
      out->Swap(&made);
      return status;
    });
  });
  if (!taken) {
    call->Fail(MakeError(absl::StatusCode::kResourceExhausted, "TOO_MANY_QUESTIONS",
                         "too many questions wait to be worked out"));
  }
  return reactor;
}

grpc::ServerUnaryReactor* TelemetryService::GetTelemetryStatus(
    Context* context, const pb::GetTelemetryStatusRequest*,
    pb::GetTelemetryStatusResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto model = models_.Current();
    const auto view = backend_.telemetry();
    ToProto(query::Telemetry{*model, *view}, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::ListMeasurementGaps(
    Context* context, const pb::ListMeasurementGapsRequest* request,
    pb::ListMeasurementGapsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = TelemetryPage::Open(models_, backend_.telemetry(), kept_, *request);
    if (!page.ok()) return page.status();
    const query::Telemetry telemetry{page->model(), page->view()};
    const auto mask = ReadMask<pb::DeviceGaps>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    const auto selector = PortSelector::Read(telemetry.model, request->names());
    if (!selector.ok()) return selector.status();
    for (const NodeIndex index : telemetry.model.names->nodes) {
      if (!selector->PassesSome(index)) continue;
      const telemetry::DeviceRecord* device = telemetry.FindDevice(index);
      if (device == nullptr || !HasGaps(*device) || !page->Take()) continue;
      pb::DeviceGaps* added = response->add_devices();
      ToProto(telemetry, *device, added);
      mask->Trim(added);
    }
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::ListPortCounters(
    Context* context, const pb::ListPortCountersRequest* request,
    pb::ListPortCountersResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    FABRICD_RETURN_IF_ERROR(CheckTypes(request->types()));
    auto counters = ReadCounters(request->counters(), AllCounters());
    if (!counters.ok()) return counters.status();
    if (!Wants(request->read_mask(), "counters")) counters = telemetry::CounterSet();
    auto page = TelemetryPage::Open(models_, backend_.telemetry(), kept_, *request);
    if (!page.ok()) return page.status();
    const query::Telemetry telemetry{page->model(), page->view()};
    const auto mask = ReadMask<pb::PortCounters>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    const auto selector = PortSelector::Read(telemetry.model, request->names());
    if (!selector.ok()) return selector.status();
    const TelemetryTimes times(telemetry.view);
    ForEachPort(telemetry.model, *selector, [&](const fabric::Node& node, PortRef port) {
      if (!HasType(request->types(), node) || !page->Take()) return;
      pb::PortCounters* added = response->add_ports();
      ToProto(telemetry, times, port, *counters, added);
      mask->Trim(added);
    });
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::GetPortCounters(
    Context* context, const pb::GetPortCountersRequest* request,
    pb::GetPortCountersResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto model = models_.Ready();
    if (!model.ok()) return model.status();
    const auto port = (*model)->FindPort(request->port());
    if (!port.ok()) return port.status();
    const auto view = backend_.telemetry();
    const query::Telemetry telemetry{**model, *view};
    ToProto(telemetry, TelemetryTimes(*view), *port, AllCounters(), response->mutable_port());
    if (const telemetry::DeviceRecord* device = telemetry.FindDevice(port->node)) {
      pb::DeviceGaps gaps;
      ToProto(telemetry, *device, &gaps);
      response->mutable_port()->mutable_gaps()->Swap(gaps.mutable_gaps());
    }
    response->set_generation(static_cast<uint32_t>((*model)->view->generation.value()));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::ListErrors(Context* context,
                                                       const pb::ListErrorsRequest* request,
                                                       pb::ListErrorsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto counters = ReadCounters(request->counters(), query::AllErrors());
    if (!counters.ok()) return counters.status();
    const auto span =
        ReadSpan("since", request->has_since(), request->since(), query::kLongestErrors);
    if (!span.ok()) return span.status();
    auto page = TelemetryPage::Open(models_, backend_.telemetry(), kept_, *request);
    if (!page.ok()) return page.status();
    const query::Telemetry telemetry{page->model(), page->view()};
    const auto mask = ReadMask<pb::PortErrors>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    const auto selector = PortSelector::Read(telemetry.model, request->names());
    if (!selector.ok()) return selector.status();
    const TelemetryTimes times(telemetry.view);
    const telemetry::Millis since = telemetry.SinceOf(*span);
    std::vector<query::PortErrorSums> sums;
    NodeIndex of{};
    bool is_first = true, is_counted = false;
    ForEachPort(telemetry.model, *selector, [&](const fabric::Node& node, PortRef port) {
      if (std::exchange(is_first, false) || of != node.index) {
        sums = query::ErrorsOf(telemetry, of = node.index, since, *counters);
        is_counted = false;
      }
      if (telemetry.IsRead(port)) {
        if (!std::exchange(is_counted, true))
          response->set_nodes_checked(response->nodes_checked() + 1);
        response->set_ports_checked(response->ports_checked() + 1);
        if (telemetry.FreshnessOf(port) != telemetry::Freshness::kFresh)
          response->set_ports_not_fresh(response->ports_not_fresh() + 1);
      }
      const size_t i = port.port.value();
      if (i >= sums.size() || sums[i].errors.empty() || !page->Take()) return;
      pb::PortErrors* added = response->add_ports();
      ToProto(telemetry, times, port, sums[i], added);
      mask->Trim(added);
    });
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::ListTop(Context*, const pb::ListTopRequest* request,
                                                    pb::ListTopResponse* response) {
  return AnswerLater(*request, response, Rank);
}

grpc::ServerUnaryReactor* TelemetryService::GetJobView(Context*,
                                                       const pb::GetJobViewRequest* request,
                                                       pb::GetJobViewResponse* response) {
  return AnswerLater(*request, response, ViewJob);
}

grpc::ServerUnaryReactor* TelemetryService::GetPortHistory(Context*,
                                                           const pb::GetPortHistoryRequest* request,
                                                           pb::GetPortHistoryResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::GetPortHistoryResponse>>(response);
  auto* reactor = call->Start(call);
  const auto fail = [&](const absl::Status& status) {
    call->Fail(status);
    return reactor;
  };
  const auto model = models_.Ready();
  if (!model.ok()) return fail(model.status());
  const auto port = (*model)->FindPort(request->port());
  if (!port.ok()) return fail(port.status());
  const auto span = ReadSpan("span", request->has_span(), request->span(), kOneHour);
  if (!span.ok()) return fail(span.status());
  if (port->port.value() == 0)
    return fail(BadField("port", "is a switch's port 0, which counts nothing of a link"));
  const auto view = backend_.telemetry();
  const PortRef peer = (*model)->snapshot().port(*port)->peer;
  const auto answer = [call, model = *model, view, port = *port, peer](
                          const telemetry::HistoryAnswer& sent,
                          const telemetry::HistoryAnswer& received) {
    call->Answer([&](pb::GetPortHistoryResponse* out) {
      ToProto(*model, port, out->mutable_id());
      out->set_name(model->port_name(port));
      if (!peer.IsNone()) ToProto(*model, peer, out->mutable_peer());
      const query::Telemetry telemetry{*model, *view};
      if (const telemetry::PortRecord* record = telemetry.Find(port))
        out->set_link_bytes_per_second(static_cast<double>(record->facts.bytes_per_second));
      out->set_generation(static_cast<uint32_t>(model->view->generation.value()));
      FillHistory(*view, sent, received, out);
      return absl::OkStatus();
    });
  };
  backend_.ReadHistory(
      *port, *span,
      [&backend = backend_, call, answer, peer,
       span = *span](std::optional<telemetry::HistoryAnswer> sent) {
        if (!sent || !sent->known) return call->Fail(NoHistory());
        if (peer.IsNone() || peer.port.value() == 0) return answer(*sent, {});
        backend.ReadHistory(
            peer, span,
            [answer, sent = *std::move(sent)](std::optional<telemetry::HistoryAnswer> received) {
              answer(sent, received.value_or(telemetry::HistoryAnswer()));
            });
      });
  return reactor;
}

grpc::ServerUnaryReactor* TelemetryService::ListInventory(Context* context,
                                                          const pb::ListInventoryRequest* request,
                                                          pb::ListInventoryResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = TelemetryPage::Open(models_, backend_.telemetry(), kept_, *request);
    if (!page.ok()) return page.status();
    const query::Telemetry telemetry{page->model(), page->view()};
    const auto mask = ReadMask<pb::PortInventory>::Read(request->read_mask());
    if (!mask.ok()) return mask.status();
    const auto selector = PortSelector::Read(telemetry.model, request->names());
    if (!selector.ok()) return selector.status();
    ForEachPort(telemetry.model, *selector, [&](const fabric::Node&, PortRef port) {
      const telemetry::PortInventory* inventory = telemetry.FindInventory(port);
      if (inventory == nullptr || !page->Take()) return;
      pb::PortInventory* added = response->add_ports();
      ToProto(telemetry, port, *inventory, added);
      mask->Trim(added);
    });
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TelemetryService::PollCounters(Context*, const pb::PollCountersRequest*,
                                                         pb::PollCountersResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::PollCountersResponse>>(response);
  auto* reactor = call->Start(call);
  const int64_t begun = SteadyNowMs();
  backend_.PollCounters([call, begun](const absl::Status& status) {
    call->Answer([&](pb::PollCountersResponse* out) -> absl::Status {
      out->set_seconds(static_cast<double>(SteadyNowMs() - begun) / 1000);
      if (status.ok()) return status;
      return TryLater("NOT_POLLED", Message(status), std::chrono::seconds(1));
    });
  });
  return reactor;
}

grpc::ServerWriteReactor<pb::WatchRatesResponse>* TelemetryService::WatchRates(
    Context* context, const pb::WatchRatesRequest* request) {
  return RateStreamBase::Start(context, hub_, MakeRateStream(models_, backend_, *request));
}

}  // namespace fabricd::rpc
