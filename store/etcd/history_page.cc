// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/history_page.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fabric/history/v1/history.pb.h"

namespace fabricd::store::etcd {
namespace {

namespace pb = ::fabric::history::v1;

void Fill(const EventRecord& record, pb::Reroute* out) {
  const fabric::Reroute& cost = *record.event.reroute;
  out->set_cause(cost.cause);
  out->set_engine(cost.engine);
  out->set_begun_ms(record.begun_ms);
  out->set_surveyed_ns(cost.surveyed.count());
  out->set_planned_ns(cost.planned.count());
  out->set_applied_ns(cost.applied.count());
  out->set_smps_sent(cost.smps_sent);
  out->set_blocks_written(cost.blocks_written);
  out->set_switches_written(cost.switches_written);
  out->set_destinations_changed(cost.destinations_changed);
  out->set_writes_failed(cost.writes_failed);
  out->set_waves(cost.waves);
  out->set_superseded(cost.superseded);
}

void Fill(const EventRecord& record, pb::Event* out) {
  const fabric::FabricEvent& event = record.event;
  out->set_number(record.number);
  out->set_time_ms(record.time_ms);
  out->set_type(event.type);
  out->set_severity(static_cast<uint32_t>(event.severity));
  out->set_subject(event.subject);
  out->set_node_guid(event.node.value());
  out->set_port(event.port.value());
  out->set_peer_guid(event.peer.value());
  out->set_peer_port(event.peer_port.value());
  out->set_message(event.message);
  for (const auto& [key, value] : event.facts) {
    pb::Fact* fact = out->add_facts();
    fact->set_key(key);
    fact->set_value(value);
  }
  if (event.reroute) Fill(record, out->mutable_reroute());
}

void Fill(const AuditRecord& record, pb::AuditRecord* out) {
  out->set_number(record.number);
  out->set_time_ms(record.time_ms);
  out->set_node(record.node);
  out->set_caller(record.caller);
  out->set_role(record.role);
  out->set_method(record.method);
  out->set_request(record.request);
  out->set_reason(record.reason);
  out->set_code(record.code);
  out->set_message(record.message);
}

fabric::Reroute RerouteOf(const pb::Reroute& in) {
  fabric::Reroute cost;
  cost.cause = in.cause();
  cost.engine = in.engine();
  cost.surveyed = Duration(in.surveyed_ns());
  cost.planned = Duration(in.planned_ns());
  cost.applied = Duration(in.applied_ns());
  cost.smps_sent = in.smps_sent();
  cost.blocks_written = in.blocks_written();
  cost.switches_written = in.switches_written();
  cost.destinations_changed = in.destinations_changed();
  cost.writes_failed = in.writes_failed();
  cost.waves = in.waves();
  cost.superseded = in.superseded();
  return cost;
}

EventRecord EventOf(const pb::Event& in) {
  EventRecord record;
  record.number = in.number();
  record.time_ms = in.time_ms();
  fabric::FabricEvent& event = record.event;
  event.type = in.type();
  event.severity = static_cast<fabric::Severity>(
      std::min(in.severity(), static_cast<uint32_t>(fabric::Severity::kError)));
  event.subject = in.subject();
  event.node = Guid(in.node_guid());
  event.port = PortNum(static_cast<uint8_t>(in.port()));
  event.peer = Guid(in.peer_guid());
  event.peer_port = PortNum(static_cast<uint8_t>(in.peer_port()));
  event.message = in.message();
  for (const pb::Fact& fact : in.facts()) event.facts.emplace_back(fact.key(), fact.value());
  if (!in.has_reroute()) return record;
  event.reroute = RerouteOf(in.reroute());
  record.begun_ms = in.reroute().begun_ms();
  return record;
}

AuditRecord AuditOf(const pb::AuditRecord& in) {
  AuditRecord record;
  record.time_ms = in.time_ms();
  record.caller = in.caller();
  record.role = in.role();
  record.method = in.method();
  record.request = in.request();
  record.reason = in.reason();
  record.code = in.code();
  record.message = in.message();
  record.node = in.node();
  record.origin = in.number();
  return record;
}

// Puts one record after the other into pages.
class PageWriter {
 public:
  PageWriter(const std::string& instance, size_t most) : instance_(instance), most_(most) {}

  template <typename Record, typename Field>
  void Add(const Record& record, google::protobuf::RepeatedPtrField<Field>* (pb::Page::*field)()) {
    Field encoded;
    Fill(record, &encoded);
    const size_t bytes = encoded.ByteSizeLong();
    if (bytes_ > 0 && bytes_ + bytes > most_) Close();
    *(page_.*field)()->Add() = std::move(encoded);
    bytes_ += bytes;
  }
  std::vector<std::string> Take() {
    if (bytes_ > 0) Close();
    return std::move(pages_);
  }

 private:
  void Close() {
    page_.set_instance(instance_);
    pages_.push_back(page_.SerializeAsString());
    page_.Clear();
    bytes_ = 0;
  }

  const std::string& instance_;
  const size_t most_;
  pb::Page page_;
  size_t bytes_ = 0;  // Of its records.
  std::vector<std::string> pages_;
};

bool IsNumber(uint64_t number) {
  return number > 0 && number <= std::numeric_limits<int64_t>::max();
}

}  // namespace

std::vector<std::string> EncodeHistory(const HistoryPage& page, size_t most) {
  PageWriter writer(page.instance, most);
  for (const EventRecord& record : page.events) writer.Add(record, &pb::Page::mutable_events);
  for (const AuditRecord& record : page.audit) writer.Add(record, &pb::Page::mutable_audit);
  return writer.Take();
}

std::optional<HistoryPage> DecodeHistory(const std::string& bytes) {
  pb::Page in;
  if (!in.ParseFromString(bytes) || in.instance().empty()) return std::nullopt;
  HistoryPage page;
  page.instance = in.instance();
  for (const pb::Event& event : in.events()) {
    if (!IsNumber(event.number())) return std::nullopt;
    page.events.push_back(EventOf(event));
    page.events.back().instance = page.instance;
  }
  for (const pb::AuditRecord& record : in.audit()) {
    if (!IsNumber(record.number())) return std::nullopt;
    page.audit.push_back(AuditOf(record));
    page.audit.back().instance = page.instance;
  }
  return page;
}

}  // namespace fabricd::store::etcd
