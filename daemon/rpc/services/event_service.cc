// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/event_service.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/status.h"
#include "common/utf8.h"
#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/pages.h"
#include "daemon/rpc/streams/log_stream.h"
#include "daemon/rpc/streams/reactors.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;

using daemon::EventLog;

double Ms(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

fabric::Severity SeverityOf(pb::Severity severity) {
  switch (severity) {
    case pb::SEVERITY_ERROR: return fabric::Severity::kError;
    case pb::SEVERITY_WARNING: return fabric::Severity::kWarning;
    default: return fabric::Severity::kInfo;
  }
}

pb::Severity SeverityOf(fabric::Severity severity) {
  switch (severity) {
    case fabric::Severity::kError: return pb::SEVERITY_ERROR;
    case fabric::Severity::kWarning: return pb::SEVERITY_WARNING;
    case fabric::Severity::kInfo: break;
  }
  return pb::SEVERITY_INFO;
}

void Fill(const store::EventRecord& record, pb::RerouteCompleted* out) {
  const fabric::Reroute& cost = *record.event.reroute;
  out->set_cause(Utf8(cost.cause));
  out->set_subject(Utf8(record.event.subject));
  out->set_engine(cost.engine);
  *out->mutable_begun() = query::ToTimestamp(record.begun_ms);
  out->set_surveyed_ms(Ms(cost.surveyed));
  out->set_planned_ms(Ms(cost.planned));
  out->set_applied_ms(Ms(cost.applied));
  out->set_smps_sent(static_cast<uint32_t>(cost.smps_sent));
  out->set_blocks_written(cost.blocks_written);
  out->set_switches(cost.switches_written);
  out->set_destinations_changed(cost.destinations_changed);
  out->set_writes_failed(cost.writes_failed);
  out->set_waves(cost.waves);
  out->set_superseded(cost.superseded);
}

void Fill(const EventLog& log, const store::EventRecord& record, pb::Event* out) {
  const fabric::FabricEvent& event = record.event;
  out->set_resource_version(log.VersionOf(record.number));
  *out->mutable_time() = query::ToTimestamp(record.time_ms);
  out->set_type(event.type);
  out->set_severity(SeverityOf(event.severity));
  out->set_subject(Utf8(event.subject));
  if (event.node) out->set_node_guid(fmt::format("{}", event.node));
  out->set_port(event.port.value());
  if (event.peer) out->set_peer_guid(fmt::format("{}", event.peer));
  out->set_peer_port(event.peer_port.value());
  out->set_message(Utf8(event.message));
  for (const auto& [key, value] : event.facts) (*out->mutable_facts())[Utf8(key)] = Utf8(value);
  if (event.reroute) Fill(record, out->mutable_reroute());
}

absl::Status CheckTypes(const google::protobuf::RepeatedPtrField<std::string>& types) {
  const auto& known = fabric::kEventTypes;
  for (const std::string& type : types)
    if (std::find(known.begin(), known.end(), type) == known.end())
      return BadField("types", fmt::format("\"{}\" is no type of event; there are {}", type,
                                           fmt::join(known, ", ")));
  return absl::OkStatus();
}

// ---- ListEvents

// `absent`: why there may be nothing to list.
absl::StatusOr<store::EventQuery> ReadQuery(daemon::Models& models, const EventLog& log,
                                            const pb::ListEventsRequest& request,
                                            absl::Status* absent) {
  store::EventQuery query;
  if (request.page_size() < 0) return BadField("page_size", "is negative");
  query.limit = request.page_size() == 0
                    ? kDefaultPageSize
                    : std::min<size_t>(request.page_size(), size_t{kMaxPageSize});
  if (request.last() > 0) {
    if (!request.page_token().empty()) return BadField("last", "goes with no page_token");
    query.limit = std::min(request.last(), kMaxPageSize);
    query.latest = true;
  }
  if (!request.page_token().empty()) {
    const auto number = log.NumberOf(request.page_token());
    if (!number.ok()) {
      return MakeError(absl::StatusCode::kOutOfRange, "PAGE_TOKEN_EXPIRED",
                       "the history that this listing began with is gone; list again");
    }
    query.after = *number;
  }
  auto subjects = SubjectsNamed(models, request.nodes());
  if (!subjects.ok()) return subjects.status();
  query.about = std::move(subjects->about);
  if (request.page_token().empty()) *absent = subjects->absent;
  FABRICD_RETURN_IF_ERROR(CheckTypes(request.types()));
  query.types.assign(request.types().begin(), request.types().end());
  query.min_severity = SeverityOf(request.min_severity());
  if (request.has_within()) {
    const auto within = query::ToMilliseconds("within", request.within());
    if (!within.ok()) return within.status();
    query.since_ms = WallNowMs() - *within;
  }
  return query;
}

// ---- WatchEvents

struct EventFilter {
  std::vector<std::string> types;
  fabric::EventSubjects about;
  fabric::Severity min_severity = fabric::Severity::kInfo;

  bool Passes(const fabric::FabricEvent& event) const {
    const auto among = [](const auto& wanted, const auto& value) {
      return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    };
    return event.severity >= min_severity && among(types, event.type) && about.Has(event);
  }
};

class EventStream final : public LogStream<pb::WatchEventsResponse> {
 public:
  EventStream(const EventLog& log, EventFilter filter, uint64_t after)
      : LogStream(log, after), filter_(std::move(filter)) {}

 private:
  absl::StatusOr<bool> Fill(const store::EventRecord& record,
                            pb::WatchEventsResponse* out) override {
    if (!filter_.Passes(record.event)) return false;
    rpc::Fill(log(), record, out->mutable_event());
    return true;
  }

  const EventFilter filter_;
};

}  // namespace

grpc::ServerUnaryReactor* EventService::ListEvents(grpc::CallbackServerContext*,
                                                   const pb::ListEventsRequest* request,
                                                   pb::ListEventsResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ListEventsResponse>>(response);
  auto* reactor = call->Start(call);
  absl::Status absent = absl::OkStatus();
  auto query = ReadQuery(models_, log_, *request, &absent);
  if (!query.ok()) {
    call->Fail(query.status());
    return reactor;
  }
  const size_t limit = query->limit;
  const bool latest = query->latest;
  log_.List(
      *std::move(query), [this, call, limit, latest, absent](absl::StatusOr<EventLog::Page> page) {
        call->Answer([&](pb::ListEventsResponse* out) -> absl::Status {
          if (!page.ok()) {
            return TryLater("HISTORY_UNAVAILABLE", Message(page.status()), std::chrono::seconds(1));
          }
          const auto& records = page->records;
          if (records.empty() && !absent.ok()) return absent;
          for (const store::EventRecord& record : records) Fill(log_, record, out->add_events());
          if (!latest && records.size() == limit)
            out->set_next_page_token(log_.VersionOf(records.back().number));
          out->set_resource_version(page->version);
          return absl::OkStatus();
        });
      });
  return reactor;
}

grpc::ServerWriteReactor<pb::WatchEventsResponse>* EventService::WatchEvents(
    grpc::CallbackServerContext* context, const pb::WatchEventsRequest* request) {
  return EventStream::Start(context, hub_, MakeStream(*request));
}

absl::StatusOr<std::shared_ptr<WatchStream<pb::WatchEventsResponse>>> EventService::MakeStream(
    const pb::WatchEventsRequest& request) {
  auto subjects = SubjectsNamed(models_, request.nodes());
  if (!subjects.ok()) return subjects.status();
  FABRICD_RETURN_IF_ERROR(CheckTypes(request.types()));
  const auto after = BeginAt(log_, *subjects, request.resource_version());
  if (!after.ok()) return after.status();
  EventFilter filter{{request.types().begin(), request.types().end()},
                     std::move(subjects->about),
                     SeverityOf(request.min_severity())};
  return std::make_shared<EventStream>(log_, std::move(filter), *after);
}

}  // namespace fabricd::rpc
