// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_telemetry.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/process_clock.h"
#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/convert/count.h"
#include "query/port_text.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

using telemetry::Absence;
using telemetry::Ask;
using telemetry::Counter;
using telemetry::Millis;
using telemetry::PortRecord;

double SecondsOf(Millis millis) { return static_cast<double>(millis) / 1000; }

// id, name and peer, as all messages of a port have them.
template <typename Message>
void FillPort(const query::ReadModel& model, PortRef ref, Message* out) {
  ToProto(model, ref, out->mutable_id());
  out->set_name(model.port_name(ref));
  const PortRef peer = model.snapshot().port(ref)->peer;
  if (!peer.IsNone()) ToProto(model, peer, out->mutable_peer());
}

void FillEpoch(const PortRecord& record, const TelemetryTimes& times, pb::CounterEpoch* out) {
  out->set_number(record.epoch);
  *out->mutable_since() = times.At(record.epoch_since);
  out->set_cause(std::string(EpochCauseName(record.epoch_cause)));
  out->set_resets(record.resets);
}

void FillCounter(const query::Telemetry& telemetry, const PortRecord& record, Counter counter,
                 pb::Counter* out) {
  const telemetry::CounterInfo& info = InfoOf(counter);
  out->set_key(std::string(info.key));
  out->set_name(std::string(info.name));
  out->set_total(static_cast<double>(record.Total(counter)));
  out->set_raw(record.Raw(counter));
  out->set_source(std::string(SourceName(record.SourceOf(counter))));
  out->set_age_seconds(SecondsOf(query::AgeOf(telemetry.view, record.ReadAt(counter))));
  out->set_saturated(record.saturated.Has(counter));
  out->set_invalid(record.invalid.Has(counter));
}

// When the traffic counters were read.
double TrafficAge(const query::Telemetry& telemetry, const PortRecord& record) {
  const Millis at = TrafficReadAt(record);
  return at == 0 ? 0 : SecondsOf(query::AgeOf(telemetry.view, at));
}

// Port 0 of a switch, else the port itself.
PortRef EndThatAnswers(const query::ReadModel& model, PortRef port) {
  const bool is_switch = model.snapshot().node(port.node)->IsSwitch();
  return is_switch ? PortRef{port.node, PortNum(0)} : port;
}

uint32_t LidThatAnswers(const query::ReadModel& model, PortRef port) {
  return model.LidsOf(EndThatAnswers(model, port)).base.value();
}

void FillGaps(const telemetry::DeviceRecord& device,
              google::protobuf::RepeatedPtrField<pb::MeasurementGap>* out) {
  for (size_t i = 0; i < telemetry::kAsks; ++i) {
    if (device.absences[i] == Absence::kNone) continue;
    pb::MeasurementGap* gap = out->Add();
    gap->set_what(std::string(AskName(static_cast<Ask>(i))));
    gap->set_reason(std::string(AbsenceName(device.absences[i])));
  }
}

const char* MonitorWord(wire::Ppbmc::State state) {
  switch (state) {
    case wire::Ppbmc::State::kNotMonitored: return "";
    case wire::Ppbmc::State::kNormal: return "NORMAL";
    case wire::Ppbmc::State::kWarning: return "WARNING";
    case wire::Ppbmc::State::kAlarm: return "ALARM";
  }
  return "";
}

double Celsius(int16_t value) { return static_cast<double>(value) / 256; }

void CountPorts(const query::Telemetry& telemetry, pb::GetTelemetryStatusResponse* out) {
  uint32_t ports = 0, saturated = 0;
  std::map<telemetry::Freshness, uint32_t> by_freshness;
  telemetry.model.snapshot().ForEachNode([&](const fabric::Node& node) {
    for (const auto& [port, state] : node.LinkPorts()) {
      if (!telemetry.IsRead(port)) continue;
      ++ports;
      ++by_freshness[telemetry.FreshnessOf(port)];
      const PortRecord* record = telemetry.Find(port);
      if (record != nullptr && !record->saturated.IsEmpty()) ++saturated;
    }
  });
  out->set_ports(ports);
  out->set_ports_fresh(by_freshness[telemetry::Freshness::kFresh]);
  out->set_ports_stale(by_freshness[telemetry::Freshness::kStale]);
  out->set_ports_unknown(by_freshness[telemetry::Freshness::kUnknown]);
  out->set_ports_never(by_freshness[telemetry::Freshness::kNever]);
  out->set_ports_saturated(saturated);
}

void CountDevices(const query::Telemetry& telemetry, pb::GetTelemetryStatusResponse* out) {
  std::map<std::pair<size_t, Absence>, uint32_t> gaps;
  telemetry.model.snapshot().ForEachNode([&](const fabric::Node& node) {
    out->set_devices(out->devices() + 1);
    const telemetry::DeviceRecord* device = telemetry.FindDevice(node.index);
    if (device == nullptr) return;
    if (device->responds) out->set_devices_responding(out->devices_responding() + 1);
    for (size_t i = 0; i < telemetry::kAsks; ++i) {
      if (device->absences[i] != Absence::kNone) ++gaps[{i, device->absences[i]}];
    }
  });
  std::vector<std::pair<std::pair<size_t, Absence>, uint32_t>> sorted(gaps.begin(), gaps.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [what, devices] : sorted) {
    pb::GapCount* count = out->add_gaps();
    count->mutable_gap()->set_what(std::string(AskName(static_cast<Ask>(what.first))));
    count->mutable_gap()->set_reason(std::string(AbsenceName(what.second)));
    count->set_devices(devices);
  }
}

void FillStats(const telemetry::Stats& stats, pb::GetTelemetryStatusResponse* out) {
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  out->set_passes(number(stats.passes));
  out->set_last_pass_seconds(std::chrono::duration<double>(stats.last_pass).count());
  out->set_requests(number(stats.requests));
  out->set_responses(number(stats.responses));
  out->set_refused(number(stats.refused));
  out->set_timeouts(number(stats.timeouts));
  out->set_timeouts_voided(number(stats.voided));
  out->set_unexpected(number(stats.unexpected));
  out->set_bad_samples(number(stats.bad_samples));
  out->set_resets(number(stats.resets));
  out->set_window(stats.window);
  out->set_in_flight(stats.in_flight);
  for (size_t i = 0; i < telemetry::kAsks; ++i) {
    if (stats.requests_by_ask[i] == 0) continue;
    (*out->mutable_requests_by_attribute())[std::string(AskName(static_cast<Ask>(i)))] =
        number(stats.requests_by_ask[i]);
  }
}

}  // namespace

// The collector's clock is the process's, which a simulated fabric may have run faster.
TelemetryTimes::TelemetryTimes(const telemetry::TelemetryView& view)
    : zero_ms_(WallNowMs() - std::chrono::duration_cast<std::chrono::milliseconds>(
                                 ProcessClock::Now() - view.started)
                                 .count()) {}

google::protobuf::Timestamp TelemetryTimes::At(Millis at) const {
  return query::ToTimestamp(zero_ms_ + at);
}

telemetry::CounterSet AllCounters() {
  telemetry::CounterSet all;
  telemetry::ForEachCounter([&](Counter counter) { all.Add(counter); });
  return all;
}

bool HasGaps(const telemetry::DeviceRecord& device) {
  return std::ranges::any_of(device.absences, [](Absence each) { return each != Absence::kNone; });
}

void ToProto(const query::Measure& measure, pb::Measurement* out) {
  if (measure.value) out->set_value(*measure.value);
  out->set_freshness(std::string(FreshnessName(measure.freshness)));
  out->set_window_seconds(SecondsOf(measure.window));
  out->set_age_seconds(SecondsOf(measure.age));
  out->set_source(std::string(measure.source));
  out->set_upper_bound(measure.bound);
}

void ToProto(const query::PortMeasures& measures, pb::Rates* out) {
  ToProto(measures.xmit_bytes, out->mutable_xmit_bytes());
  ToProto(measures.rcv_bytes, out->mutable_rcv_bytes());
  ToProto(measures.xmit_packets, out->mutable_xmit_packets());
  ToProto(measures.rcv_packets, out->mutable_rcv_packets());
  ToProto(measures.utilisation, out->mutable_utilisation());
  ToProto(measures.wait, out->mutable_wait());
  ToProto(measures.symbol_ber, out->mutable_symbol_ber());
  ToProto(measures.effective_ber, out->mutable_effective_ber());
  ToProto(measures.raw_ber, out->mutable_raw_ber());
  ToProto(measures.drop_ratio, out->mutable_drop_ratio());
  ToProto(measures.temperature, out->mutable_temperature());
}

void ToProto(const query::Telemetry& telemetry, const TelemetryTimes& times, PortRef port,
             telemetry::CounterSet wanted, pb::PortCounters* out) {
  FillPort(telemetry.model, port, out);
  out->set_freshness(std::string(FreshnessName(telemetry.FreshnessOf(port))));
  out->set_lid(LidThatAnswers(telemetry.model, port));
  if (const telemetry::DeviceRecord* device = telemetry.FindDevice(port.node))
    out->set_capability_mask(device->capability_mask);
  const PortRecord* record = telemetry.Find(port);
  if (record == nullptr) {
    ToProto(query::PortMeasures(), out->mutable_rates());
    return;
  }
  out->set_age_seconds(TrafficAge(telemetry, *record));
  if (record->epoch != 0) FillEpoch(*record, times, out->mutable_epoch());
  telemetry::ForEachCounter([&](Counter counter) {
    if (!wanted.Has(counter) || !record->measured.Has(counter)) return;
    FillCounter(telemetry, *record, counter, out->add_counters());
  });
  ToProto(query::MeasuresOf(telemetry.view, *record), out->mutable_rates());
  out->set_link_bytes_per_second(static_cast<double>(record->facts.bytes_per_second));
  out->set_bad_samples(record->bad_samples);
}

void ToProto(const query::Telemetry& telemetry, const TelemetryTimes& times, PortRef port,
             const query::PortErrorSums& sums, pb::PortErrors* out) {
  FillPort(telemetry.model, port, out);
  out->set_lid(LidThatAnswers(telemetry.model, port));
  const PortRef end = EndThatAnswers(telemetry.model, port);
  out->set_guid(fmt::format("{}", telemetry.model.snapshot().port(end)->guid));
  out->set_freshness(std::string(FreshnessName(telemetry.FreshnessOf(port))));
  if (sums.covered_since != 0) *out->mutable_covered_since() = times.At(sums.covered_since);
  const PortRecord* record = telemetry.Find(port);
  if (record == nullptr) return;
  out->set_age_seconds(TrafficAge(telemetry, *record));
  if (record->epoch != 0) FillEpoch(*record, times, out->mutable_epoch());
  for (const query::ErrorSum& sum : sums.errors) {
    pb::ErrorCount* error = out->add_errors();
    error->set_key(std::string(InfoOf(sum.counter).key));
    error->set_name(std::string(InfoOf(sum.counter).name));
    error->set_count(static_cast<double>(sum.count));
    *error->mutable_first_time() = times.At(sum.first);
    *error->mutable_last_time() = times.At(sum.last);
    error->set_source(std::string(SourceName(record->SourceOf(sum.counter))));
    error->set_saturated(record->saturated.Has(sum.counter));
  }
}

void ToProto(const query::Telemetry& telemetry, const query::RankedEntry& entry,
             pb::TopEntry* out) {
  out->set_name(entry.name);
  if (!entry.port.IsNone()) {
    ToProto(telemetry.model, entry.port, out->mutable_port());
    const PortRef peer = telemetry.model.snapshot().port(entry.port)->peer;
    if (!peer.IsNone()) ToProto(telemetry.model, peer, out->mutable_peer());
  }
  out->set_freshness(std::string(FreshnessName(entry.freshness)));
  ToProto(entry.measures, out->mutable_rates());
  out->set_errors(static_cast<double>(entry.errors));
  out->set_ports(entry.ports);
  out->set_ports_fresh(entry.ports_fresh);
}

void ToProto(const query::Telemetry& telemetry, PortRef port,
             const telemetry::PortInventory& inventory, pb::PortInventory* out) {
  FillPort(telemetry.model, port, out);
  const auto text = [](const auto& bytes) { return query::Utf8(std::string(bytes.data())); };
  if (const PortRecord* record = telemetry.Find(port)) {
    ToProto(query::MeasuresOf(telemetry.view, *record).temperature, out->mutable_temperature());
  }
  if (inventory.module_at != 0) {
    out->set_cable_type(std::string(CableTypeName(inventory.cable_type)));
    out->set_identifier(std::string(CableIdentifierName(inventory.identifier)));
    out->set_vendor(text(inventory.vendor));
    out->set_part(text(inventory.part));
    out->set_serial(text(inventory.serial));
    if (inventory.length_metres > 0)
      out->set_length_metres(static_cast<double>(inventory.length_metres));
    if (inventory.max_power_watts > 0)
      out->set_max_power_watts(static_cast<double>(inventory.max_power_watts));
    if (inventory.alarm_high != 0 || inventory.alarm_low != 0) {
      out->set_temperature_alarm_high(Celsius(inventory.alarm_high));
      out->set_temperature_alarm_low(Celsius(inventory.alarm_low));
    }
    out->set_age_seconds(SecondsOf(query::AgeOf(telemetry.view, inventory.module_at)));
  }
  if (inventory.operational_at != 0) out->set_fec(std::string(PddrFecModeName(inventory.fec)));
  if (inventory.monitor_at != 0) out->set_monitor(MonitorWord(inventory.monitor));
  if (inventory.link_down_at != 0 &&
      inventory.link_down.local_reason != wire::LinkDownReason::kNone) {
    out->set_link_down_reason(std::string(LinkDownReasonName(inventory.link_down.local_reason)));
  }
}

void ToProto(const query::Telemetry& telemetry, const query::JobView& job,
             pb::GetJobViewResponse* out) {
  const query::ReadModel& model = telemetry.model;
  out->set_ports(job.ports);
  out->set_ports_not_fresh(job.ports_not_fresh);
  for (const PortRef port : job.ports_down) ToProto(model, port, out->add_ports_down());
  for (const query::WorstOfJob& worst : job.worst) {
    pb::WorstPort* added = out->add_worst();
    added->set_measure(std::string(worst.measure));
    added->set_text(worst.text);
    added->set_ports_measured(worst.ports_measured);
    ToProto(worst.value, added->mutable_value());
    if (worst.port.IsNone()) continue;
    ToProto(model, worst.port, added->mutable_port());
    added->set_name(model.port_name(worst.port));
    added->set_place(std::string(JobPlaceName(worst.place)));
    const PortRef peer = model.snapshot().port(worst.port)->peer;
    if (!peer.IsNone()) ToProto(model, peer, added->mutable_peer());
  }
}

void ToProto(const query::Telemetry& telemetry, const telemetry::DeviceRecord& device,
             pb::DeviceGaps* out) {
  const fabric::Node& node = *telemetry.model.snapshot().node(device.node);
  out->set_node_guid(fmt::format("{}", node.guid()));
  out->set_node_name(telemetry.model.name(device.node));
  out->set_node_type(NodeTypeWord(node.info.node_type));
  out->set_responds(device.responds);
  if (device.answered_at != 0)
    out->set_answered_seconds_ago(SecondsOf(query::AgeOf(telemetry.view, device.answered_at)));
  out->set_redirected(device.redirected);
  FillGaps(device, out->mutable_gaps());
}

void ToProto(const query::Telemetry& telemetry, pb::GetTelemetryStatusResponse* out) {
  const telemetry::TelemetryView& view = telemetry.view;
  out->set_state(std::string(StateName(view.state)));
  out->set_interval_seconds(SecondsOf(view.interval));
  out->set_uptime_seconds(SecondsOf(view.at));
  out->set_record_bytes(static_cast<double>(view.record_bytes));
  out->set_log_bytes(static_cast<double>(view.log_bytes));
  out->set_history_bytes(static_cast<double>(view.history_bytes));
  CountPorts(telemetry, out);
  CountDevices(telemetry, out);
  FillStats(view.stats, out);
}

}  // namespace fabricd::rpc
