// SPDX-License-Identifier: Apache-2.0
#include "query/measures.h"

#include <algorithm>

namespace fabricd::query {
namespace {

using telemetry::Counter;
using telemetry::Freshness;
using telemetry::PortRecord;
using telemetry::TelemetryView;

Millis MillisOf(Duration duration) {
  return static_cast<Millis>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// A measure whose last reading was `at`, one of which is due each `interval`.
Measure MeasureAt(const TelemetryView& view, Millis at, Millis interval, double value) {
  Measure measure;
  measure.freshness = telemetry::FreshnessOf(at, view.at, interval);
  if (at != 0) measure.age = AgeOf(view, at);
  if (measure.freshness == Freshness::kFresh) measure.value = value;
  return measure;
}

Measure RateOf(const TelemetryView& view, const PortRecord& record, Counter counter, double value) {
  const telemetry::Rates& rates = record.rates;
  Measure measure = MeasureAt(view, rates.window == 0 ? 0 : rates.at, view.interval, value);
  measure.window = rates.window;
  if (rates.window != 0) measure.source = SourceName(record.SourceOf(counter));
  return measure;
}

Measure UtilisationOf(const TelemetryView& view, const PortRecord& record) {
  const telemetry::Rates& rates = record.rates;
  const bool xmit = rates.xmit_bytes >= rates.rcv_bytes;
  Measure measure =
      RateOf(view, record, xmit ? Counter::kXmitData : Counter::kRcvData,
             static_cast<double>(std::max(rates.xmit_bytes, rates.rcv_bytes)) /
                 static_cast<double>(std::max<uint64_t>(record.facts.bytes_per_second, 1)));
  if (record.facts.bytes_per_second == 0) measure.value.reset();
  return measure;
}

Measure WaitOf(const TelemetryView& view, const PortRecord& record) {
  const telemetry::WaitShare& wait = record.wait;
  const telemetry::Source source = record.SourceOf(Counter::kXmitWait);
  const Millis interval = source == telemetry::Source::kPortCounters
                              ? std::max(view.interval, MillisOf(view.options.classic_interval))
                              : view.interval;
  Measure measure =
      MeasureAt(view, wait.window == 0 ? 0 : wait.at, interval, static_cast<double>(wait.share));
  measure.window = wait.window;
  if (wait.window != 0) measure.source = SourceName(source);
  return measure;
}

Measure RatioOf(const TelemetryView& view, const PortRecord& record,
                const telemetry::ErrorRatio& ratio, Counter counter) {
  if (!ratio.known) return {};
  const auto registers = telemetry::Source::kPpcntStatistical;
  const telemetry::Source source = ratio.by_registers ? registers : record.SourceOf(counter);
  Measure measure =
      ratio.by_registers
          ? MeasureAt(view, record.read_at[static_cast<size_t>(registers)],
                      std::max(view.interval, MillisOf(view.options.ber_interval)), ratio.value)
          : MeasureAt(view, record.window.at, view.interval, ratio.value);
  measure.window = ratio.window;
  measure.source = SourceName(source);
  measure.bound = ratio.bound;
  return measure;
}

Measure TemperatureOf(const TelemetryView& view, const PortRecord& record) {
  if (record.module.temperature == 0) return {};  // Not known.
  Measure measure = MeasureAt(view, record.module.at, MillisOf(view.options.module_interval),
                              static_cast<double>(record.module.temperature) / 256);
  measure.source = "PDDR module page";
  return measure;
}

}  // namespace

bool Telemetry::IsSameNode(NodeIndex node) const {
  if (view.snapshot == nullptr) return false;
  if (view.snapshot == model.view->snapshot) return true;
  const fabric::Node* ours = model.snapshot().node(node);
  const fabric::Node* theirs = view.snapshot->node(node);
  return ours != nullptr && theirs != nullptr && ours->guid() == theirs->guid();
}

const PortRecord* Telemetry::Find(PortRef port) const {
  return IsSameNode(port.node) ? view.Find(port) : nullptr;
}

const telemetry::PortInventory* Telemetry::FindInventory(PortRef port) const {
  return IsSameNode(port.node) ? view.FindInventory(port) : nullptr;
}

const telemetry::DeviceRecord* Telemetry::FindDevice(NodeIndex node) const {
  return IsSameNode(node) ? view.FindDevice(node) : nullptr;
}

Freshness Telemetry::FreshnessOf(PortRef port) const {
  const PortRecord* record = Find(port);
  return record == nullptr ? Freshness::kNever : view.FreshnessOf(*record);
}

bool Telemetry::IsRead(PortRef ref) const {
  const fabric::Port* port = model.snapshot().port(ref);
  return port != nullptr && ref.port.value() != 0 && port->known &&
         port->info.port_state == wire::PortState::kActive;
}

Millis Telemetry::SinceOf(Duration span) const {
  const Duration kept = std::clamp<Duration>(span, Duration::zero(), kLongestErrors);
  const Millis length = MillisOf(kept);
  return view.at > length ? view.at - length : 1;
}

Millis AgeOf(const TelemetryView& view, Millis at) { return view.at > at ? view.at - at : 0; }

PortMeasures MeasuresOf(const TelemetryView& view, const PortRecord& record) {
  const telemetry::Rates& rates = record.rates;
  const auto rate = [&](Counter counter, float value) {
    return RateOf(view, record, counter, static_cast<double>(value));
  };
  PortMeasures measures;
  measures.xmit_bytes = rate(Counter::kXmitData, rates.xmit_bytes);
  measures.rcv_bytes = rate(Counter::kRcvData, rates.rcv_bytes);
  measures.xmit_packets = rate(Counter::kXmitPkts, rates.xmit_pkts);
  measures.rcv_packets = rate(Counter::kRcvPkts, rates.rcv_pkts);
  measures.utilisation = UtilisationOf(view, record);
  measures.wait = WaitOf(view, record);
  const auto ratio = [&](const telemetry::ErrorRatio& of, Counter counter) {
    return RatioOf(view, record, of, counter);
  };
  measures.symbol_ber = ratio(SymbolErrorRatio(record), Counter::kSymbolErrors);
  measures.effective_ber = ratio(EffectiveErrorRatio(record), Counter::kEffectiveErrors);
  measures.raw_ber = ratio(RawErrorRatio(record), Counter::kRawErrors);
  measures.drop_ratio = ratio(DropRatio(record), Counter::kRcvErrors);
  measures.temperature = TemperatureOf(view, record);
  return measures;
}

telemetry::CounterSet AllErrors() {
  telemetry::CounterSet all;
  telemetry::ForEachCounter([&](Counter counter) {
    if (InfoOf(counter).is_error) all.Add(counter);
  });
  return all;
}

telemetry::CounterSet ErrorsThatAddUp() {
  telemetry::CounterSet some;
  telemetry::ForEachCounter([&](Counter counter) {
    if (InfoOf(counter).is_error && Index(counter) < telemetry::kExtendedCounters) {
      some.Add(counter);
    }
  });
  some.Remove(Counter::kRcvSwitchRelayErrors);
  return some;
}

uint64_t SumOf(const PortErrorSums& errors) {
  uint64_t sum = 0;
  for (const ErrorSum& error : errors.errors) sum += error.count;
  return sum;
}

std::vector<PortErrorSums> ErrorsOf(const Telemetry& telemetry, NodeIndex node, Millis since,
                                    telemetry::CounterSet wanted) {
  const telemetry::DeviceRecord* device = telemetry.FindDevice(node);
  const fabric::Node* of = telemetry.model.snapshot().node(node);
  if (device == nullptr || of == nullptr) return {};
  std::vector<PortErrorSums> sums(of->ports.size());
  std::vector<const PortRecord*> records(sums.size());
  for (size_t i = 1; i < sums.size(); ++i) {
    const PortRecord* record = telemetry.Find({node, PortNum(static_cast<uint8_t>(i))});
    if (record == nullptr || record->epoch == 0) continue;
    records[i] = record;
    sums[i].covered_since = std::max({since, record->epoch_since, device->errors.covered_since()});
  }
  for (const telemetry::ErrorEntry& entry : device->errors.entries()) {
    const size_t i = entry.port.value();
    if (entry.at <= since || i >= sums.size() || records[i] == nullptr ||
        !entry.IsOfEpoch(records[i]->epoch) || !wanted.Has(entry.counter)) {
      continue;
    }
    auto& errors = sums[i].errors;
    auto at = std::ranges::lower_bound(errors, entry.counter, {}, &ErrorSum::counter);
    if (at == errors.end() || at->counter != entry.counter) {
      at = errors.insert(at, {entry.counter, 0, entry.at, entry.at});
    }
    at->count += entry.count;
    at->last = entry.at;
  }
  return sums;
}

}  // namespace fabricd::query
