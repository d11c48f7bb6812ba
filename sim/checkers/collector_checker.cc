// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/collector_checker.h"

#include <utility>

#include <fmt/format.h>

#include "mad/transactions.h"
#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/vendor_mad.h"

namespace fabricd::sim {
namespace {

constexpr size_t kMostFaults = 100;
constexpr int kMostToDevice = 2;
constexpr int kFreshIntervals = 3;
// A reading is taken to be of the midpoint of request and response, which may be late.
constexpr Duration kHalfRoundTrip = std::chrono::seconds(2);

using Bytes = std::span<const uint8_t, wire::kMadBytes>;

Bytes BytesOf(const std::vector<uint8_t>& payload) {
  return Bytes(payload.data(), wire::kMadBytes);
}

bool Clears(Bytes bytes) {
  const wire::MadHeader header = wire::MadHeader::Decode(bytes);
  if (header.method != wire::Method::kGet) return true;
  const auto vendor = wire::VendorMad::Decode(bytes);
  return vendor && vendor->attribute == wire::VendorAttribute::kAccessRegister &&
         vendor->modifier == static_cast<uint32_t>(wire::RegisterId::kPpcnt) &&
         wire::ClearsCounters(wire::AccessRegister::Decode(vendor->data).bytes);
}

// Those that both have, of one name each.
constexpr std::pair<telemetry::Counter, Counter> kCompared[] = {
    {telemetry::Counter::kXmitData, Counter::kXmitData},
    {telemetry::Counter::kRcvPkts, Counter::kRcvPackets},
    {telemetry::Counter::kSymbolErrors, Counter::kSymbolErrors},
    {telemetry::Counter::kRcvErrors, Counter::kRcvErrors},
    {telemetry::Counter::kLinkDowned, Counter::kLinkDowned},
    {telemetry::Counter::kXmitDiscards, Counter::kXmitDiscards},
};

}  // namespace

void CollectorChecker::Fault(std::string text) {
  if (faults_.size() < kMostFaults) faults_.push_back(std::move(text));
}

void CollectorChecker::OnSend(Instant /*now*/, PortRef host, const mad::OutgoingMad& mad) {
  const Bytes bytes = BytesOf(mad.payload);
  const wire::MadHeader header = wire::MadHeader::Decode(bytes);
  if (host != host_ || !mad::IsTelemetryTransaction(header.tid())) return;
  if (Clears(bytes)) Fault(fmt::format("clear: to LID {}", mad.to.lid));
  const bool is_smp = mad.agent == mad::Agent::kSmpLid;
  in_flight_[header.tid()] = {mad.to.lid.value(), is_smp};
  if (++to_device_[mad.to.lid.value()] > kMostToDevice) {
    Fault(fmt::format("device: {} requests to LID {}", to_device_[mad.to.lid.value()], mad.to.lid));
  }
  if (!is_smp) return;
  if (++smps_ > 1) Fault("smp: two vendor SMPs in flight");
  if (core_has_smps_) Fault("smp: sent while the core has SMPs in flight");
}

void CollectorChecker::OnDelivery(const Delivery& delivery) {
  const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
  if (mad == nullptr || delivery.host != host_) return;
  const auto found = in_flight_.find(wire::MadHeader::Decode(BytesOf(mad->payload)).tid());
  if (found == in_flight_.end()) return;
  --to_device_[found->second.destination];
  if (found->second.is_smp) --smps_;
  in_flight_.erase(found);
}

void CollectorChecker::OnGmpServed(const GmpServed& served) {
  const auto answer = wire::PerfMad::Decode(served.answer);
  if (!answer || answer->status != wire::kStatusOk) return;
  if (answer->attribute != wire::PerfAttribute::kPortCountersExtended &&
      answer->attribute != wire::PerfAttribute::kPortCounters) {
    return;
  }
  read_at_[{served.end_port.node, PortNum(answer->data[1])}] = served.at;
}

void CollectorChecker::BeforeLoss(Instant now, PortRef port) {
  for (const auto& [seen, counted] : kCompared) {
    before_loss_[port][counted] += fabric_.CounterTotal(now, port, counted);
  }
}

void CollectorChecker::CheckView(Instant now, const telemetry::TelemetryView& view) {
  for (const auto& record : view.ports) {
    if (record == nullptr) continue;
    const PortRef port = record->port;
    const std::string name = fmt::format("node {} port {}", port.node.value(), port.port);
    if (view.FreshnessOf(*record) == telemetry::Freshness::kFresh) {
      const auto read = read_at_.find(port);
      const Duration limit = std::chrono::milliseconds(view.interval) * kFreshIntervals;
      if (read == read_at_.end() || now - read->second > limit + kHalfRoundTrip) {
        Fault(fmt::format("stale: {} is shown as fresh", name));
      }
    }
    for (const auto& [seen, counted] : kCompared) {
      const uint64_t most = fabric_.CounterTotal(now, port, counted) + before_loss_[port][counted];
      if (record->Total(seen) > most) {
        Fault(fmt::format("count: {} of {} is {}, and the device has counted {}",
                          telemetry::InfoOf(seen).key, name, record->Total(seen), most));
      }
    }
  }
}

}  // namespace fabricd::sim
