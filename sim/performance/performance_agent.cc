// SPDX-License-Identifier: Apache-2.0
// What a device counts. perf_class.cc and vendor_class.cc answer GMPs about it.
#include "sim/performance/performance_agent.h"

#include "sim/device/link_rate.h"
#include "sim/performance/draws.h"

namespace fabricd::sim {
namespace {

using wire::PortState;

// Gb/s are bits per nanosecond.
uint64_t BitsIn(Duration time, const wire::PortInfo& info) {
  const double bits = static_cast<double>(time.count()) * ActiveGigabits(info);
  return bits > 0 ? static_cast<uint64_t>(bits) : 0;
}

}  // namespace

const PerformanceOptions& PerformanceAgent::options() const {
  static const PerformanceOptions kDefaults;
  return options_ == nullptr ? kDefaults : *options_;
}

PerformanceFamily PerformanceAgent::Family(const SimDevice& device) const {
  const PerformanceFamily family = options().family;
  if (family != PerformanceFamily::kByNodeType) return family;
  return device.IsSwitch() ? PerformanceFamily::kQuantum2 : PerformanceFamily::kConnectX7;
}

PerformanceAgent::Port& PerformanceAgent::Open(PortNum number) {
  if (ports_.size() <= number.value()) ports_.resize(number.value() + size_t{1});
  std::unique_ptr<Port>& port = ports_[number.value()];
  if (port == nullptr) {
    port = std::make_unique<Port>();
    port->up_since = port->cleared = since_;
  }
  return *port;
}

void PerformanceAgent::Restart(Instant now) {
  since_ = now;
  vs_key_violations_ = 0;
  for (std::unique_ptr<Port>& port : ports_) {
    if (port == nullptr) continue;
    std::unique_ptr<Port> before = std::move(port);
    if (before->errors == nullptr && !before->module_temperature) continue;
    port = std::make_unique<Port>();
    port->up_since = port->cleared = now;
    port->module_temperature = before->module_temperature;
    port->errors = std::move(before->errors);
    if (port->errors != nullptr) port->errors->drawn_bits = 0;
  }
}

uint64_t PerformanceAgent::Total(PortNum port, Counter counter) const {
  const Port* found = Find(port);
  return found == nullptr ? 0 : found->counts.Total(counter);
}

void PerformanceAgent::OnLinkUp(Instant now, PortNum port) {
  if (now == since_ && Find(port) == nullptr) return;
  Open(port).up_since = now;
}

void PerformanceAgent::OnLinkDown(Instant now, const SimDevice& device, PortNum number,
                                  const LinkDownCause& cause) {
  Port& port = Open(number);
  CountTraffic(now, port);
  port.traffic.reset();
  port.bits_before += BitsIn(now - port.up_since, device.port(number).info);
  port.last_down = cause;
  port.counts.Add(cause.intentional ? Counter::kIntentionalDowns : Counter::kUnintentionalDowns, 1);
}

uint64_t PerformanceAgent::ReceivedBits(Instant now, const SimDevice& device,
                                        PortNum number) const {
  const Port* port = Find(number);
  const wire::PortInfo& info = device.port(number).info;
  const bool up = number.value() != 0 && info.port_state >= PortState::kInit;
  const uint64_t running = up ? BitsIn(now - (port == nullptr ? since_ : port->up_since), info) : 0;
  return running + (port == nullptr ? 0 : port->bits_before);
}

void PerformanceAgent::ClearPort(Instant now, const SimDevice& device, PortNum number) {
  Port& port = Open(number);
  CountUpTo(now, device, number);
  port.counts = PortCounts();
  port.cleared = port.up_since = now;
  port.bits_before = 0;
  if (port.errors != nullptr) port.errors->drawn_bits = 0;
}

void PerformanceAgent::SetTraffic(Instant now, const SimDevice& device, PortNum number,
                                  const PortLoad& load) {
  Port& port = Open(number);
  CountTraffic(now, port);
  port.traffic.reset();
  if (load == PortLoad()) return;
  port.traffic = std::make_unique<Traffic>();
  port.traffic->load = load;
  port.traffic->link_gigabits = ActiveGigabits(device.port(number).info);
  port.traffic->since = now;
}

void PerformanceAgent::CountTraffic(Instant now, Port& port) {
  if (port.traffic == nullptr) return;
  Traffic& traffic = *port.traffic;
  // Gb/s are bits per nanosecond.
  const auto octets = static_cast<double>((now - traffic.since).count()) / 8;
  const auto pass = [&](double gigabits, double unit, uint64_t& counted) {
    const auto all = static_cast<uint64_t>(octets * gigabits / unit);
    const uint64_t more = all > counted ? all - counted : 0;
    counted += more;
    return more;
  };
  const auto count = [&](double gigabits, uint64_t& counted, Counter data, Counter packets,
                         Counter unicast) {
    constexpr double kDataUnit = 4;
    constexpr uint64_t kUnitsInPacket = kPacketBytes / 4;
    const uint64_t before = counted / kUnitsInPacket;
    port.counts.Add(data, pass(gigabits, kDataUnit, counted));
    port.counts.Add(packets, counted / kUnitsInPacket - before);
    port.counts.Add(unicast, counted / kUnitsInPacket - before);
  };
  count(traffic.load.xmit_gigabits, traffic.xmit, Counter::kXmitData, Counter::kXmitPackets,
        Counter::kUnicastXmitPackets);
  count(traffic.load.rcv_gigabits, traffic.rcv, Counter::kRcvData, Counter::kRcvPackets,
        Counter::kUnicastRcvPackets);
  port.counts.Add(Counter::kXmitWait,
                  pass(traffic.load.wait * traffic.link_gigabits, kTick + 1, traffic.wait));
  port.counts.Add(Counter::kXmitSwHoqLifetimeDiscards,
                  pass(traffic.load.discarded_gigabits, kPacketBytes, traffic.discards));
}

void PerformanceAgent::SetBitErrorRates(Instant now, const SimDevice& device, PortNum number,
                                        BitErrorRates rates, uint64_t seed) {
  Port& port = Open(number);
  CountUpTo(now, device, number);
  if (rates == BitErrorRates()) {
    port.errors.reset();
  } else if (port.errors != nullptr) {
    port.errors->rates = rates;
  } else {
    port.errors = std::make_unique<ErrorProcess>(
        ErrorProcess{rates, Rng(seed), ReceivedBits(now, device, number)});
  }
}

void PerformanceAgent::CountUpTo(Instant now, const SimDevice& device, PortNum number) {
  if (Find(number) == nullptr) return;
  Port& port = Open(number);
  CountTraffic(now, port);
  if (port.errors == nullptr) return;
  ErrorProcess& process = *port.errors;
  const uint64_t received = ReceivedBits(now, device, number);
  const double bits = static_cast<double>(received - process.drawn_bits);
  process.drawn_bits = received;
  const uint64_t raw = DrawPoisson(process.rng, bits * process.rates.raw);
  const uint64_t effective = DrawPoisson(process.rng, bits * process.rates.effective);
  const uint64_t symbol = DrawPoisson(process.rng, bits * process.rates.symbol);
  Add(number, Counter::kRawErrors, raw);
  Add(number, Counter::kCorrectedBits, raw);
  Add(number, Counter::kFecCorrectedBlocks, raw);
  Add(number, Counter::kFecCorrectedSymbols, raw);
  Add(number, Counter::kEffectiveErrors, effective);
  Add(number, Counter::kFecUncorrectableBlocks, effective);
  Add(number, Counter::kSymbolErrors, symbol);
}

bool PerformanceAgent::Answer(const Request& request, std::span<uint8_t, wire::kMadBytes> bytes) {
  if (Has(PerformanceQuirk::kUnresponsive)) return false;
  if (std::optional<wire::PerfMad> mad = wire::PerfMad::Decode(bytes)) {
    const std::optional<uint16_t> status = ServePerf(request, *mad);
    if (!status) return false;
    mad->method = wire::Method::kGetResp;
    mad->status = *status;
    mad->Encode(bytes);
    return true;
  }
  if (std::optional<wire::VendorMad> mad = wire::VendorMad::Decode(bytes)) {
    const std::optional<uint16_t> status = ServeVendor(request, *mad);
    if (!status) return false;
    mad->method = wire::Method::kGetResp;
    mad->status = *status;
    mad->Encode(bytes);
    return true;
  }
  return false;
}

}  // namespace fabricd::sim
