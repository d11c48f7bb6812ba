// SPDX-License-Identifier: Apache-2.0
// Class 0x04 of a simulated device (IBA vol 1 §16.1).
#include <span>

#include "sim/performance/performance_agent.h"

namespace fabricd::sim {
namespace {

using wire::Method;
using wire::PerfAttribute;

constexpr uint8_t kRespTimeValue = 14;                       // 67 ms
constexpr uint64_t kUnderflowBy = 40;                        // PerformanceQuirk::kUnderflow
constexpr uint8_t kCounterWidth32 = 4;                       // Of samples.
constexpr uint64_t kOptionalCounters = 0x01800000008CF7FCu;  // As Quantum-2 reports them.

// The counters of PortCounters.CounterSelect, by bit.
constexpr Counter kClassicSelects[16] = {
    Counter::kSymbolErrors,
    Counter::kLinkErrorRecovery,
    Counter::kLinkDowned,
    Counter::kRcvErrors,
    Counter::kRcvRemotePhysicalErrors,
    Counter::kRcvSwitchRelayErrors,
    Counter::kXmitDiscards,
    Counter::kXmitConstraintErrors,
    Counter::kRcvConstraintErrors,
    Counter::kLocalLinkIntegrityErrors,
    Counter::kExcessiveBufferOverrunErrors,
    Counter::kVl15Dropped,
    Counter::kXmitData,
    Counter::kRcvData,
    Counter::kXmitPackets,
    Counter::kRcvPackets,
};

uint64_t AllOnes(int bits) { return ClampedTo(bits, ~uint64_t{0}); }

}  // namespace

wire::ClassPortInfo PerformanceAgent::PerfClassPortInfo(const Request& request) const {
  wire::ClassPortInfo info;
  info.class_version = wire::kPerfClassVersion;
  info.response_time_value = kRespTimeValue;
  const PerformanceFamily family = Family(request.device);
  info.capability_mask = wire::kPerfXmitWait;
  if (request.device.IsSwitch()) info.capability_mask |= wire::kPerfAllPortSelect;
  if (!Has(PerformanceQuirk::kNoExtended) && !Has(PerformanceQuirk::kClassicOnly)) {
    info.capability_mask |= wire::kPerfExtendedWidth;
    if (family != PerformanceFamily::kPlain) info.capability_mask2 |= wire::kPerf2ExtendedErrors;
  }
  if (family != PerformanceFamily::kPlain) {
    info.capability_mask |= wire::kPerfRsFec | wire::kPerfQp1Dropped;
  }
  if (Has(PerformanceQuirk::kRedirect)) {
    const wire::PortInfo& port = request.device.port(request.end_port).info;
    info.redirect.lid = port.lid;
    info.redirect.p_key = request.device.PKeyAt(request.end_port, 0);
    info.redirect.qpn = kRedirectQp;
    info.redirect.q_key = kQKey;
  }
  return info;
}

std::optional<uint16_t> PerformanceAgent::ServePerf(const Request& request, wire::PerfMad& mad) {
  const bool redirects = Has(PerformanceQuirk::kRedirect);
  if (request.qpn != kQp && (!redirects || request.qpn != kRedirectQp)) return std::nullopt;
  if (mad.class_version != wire::kPerfClassVersion) return wire::kStatusBadVersion;
  if (redirects && request.qpn == kQp) {  // §13.5.2: whatever the request was.
    mad.attribute = PerfAttribute::kClassPortInfo;
    PerfClassPortInfo(request).Encode(mad.data);
    return wire::kStatusRedirect;
  }
  if (Has(PerformanceQuirk::kRefusingPma)) return wire::kStatusUnsupportedMethodAttribute;
  if (mad.method != Method::kGet && mad.method != Method::kSet) {
    return wire::kStatusUnsupportedMethod;
  }
  if (mad.modifier != 0) return wire::kStatusInvalidAttributeValue;
  if (mad.attribute == PerfAttribute::kClassPortInfo) {
    if (mad.method == Method::kSet) return wire::kStatusUnsupportedMethodAttribute;
    PerfClassPortInfo(request).Encode(mad.data);
    return wire::kStatusOk;
  }
  if (Has(PerformanceQuirk::kNoTick) && mad.attribute == PerfAttribute::kPortSamplesControl) {
    return std::nullopt;
  }
  return ServeCounters(request, mad);
}

// PortSelect is at the same place in all attributes of a port.
uint16_t PerformanceAgent::ServeCounters(const Request& request, wire::PerfMad& mad) {
  const SimDevice& device = request.device;
  const PerfAttribute attribute = mad.attribute;
  const PerformanceFamily family = Family(device);
  const bool classic = attribute == PerfAttribute::kPortCounters;
  const bool extended = attribute == PerfAttribute::kPortCountersExtended;
  if ((Has(PerformanceQuirk::kClassicOnly) && !classic) ||
      (Has(PerformanceQuirk::kNoExtended) && extended)) {
    return wire::kStatusUnsupportedMethodAttribute;
  }
  const PortNum select(mad.data[1]);
  const bool all = select.value() == wire::kAllPortSelect;
  // Port 0 is a port of a switch only.
  const bool exists = device.HasPort(select) && (device.IsSwitch() || select.value() != 0);
  if (all ? !device.IsSwitch() : !exists) return wire::kStatusInvalidAttributeValue;
  for (const PortNum port : device.AllPorts())
    if (all || port == select) CountUpTo(request.now, device, port);
  const bool set = mad.method == Method::kSet;
  switch (attribute) {
    case PerfAttribute::kPortCounters: return ServeClassic(device, mad);
    case PerfAttribute::kPortCountersExtended: return ServeExtended(device, mad);
    case PerfAttribute::kPortRcvErrorDetails: return ServeRcvErrorDetails(device, mad);
    case PerfAttribute::kPortXmitDiscardDetails: return ServeXmitDiscardDetails(device, mad);
    case PerfAttribute::kPortSamplesControl: {
      if (set || all) return wire::kStatusUnsupportedMethodAttribute;
      wire::PortSamplesControl control;
      control.port_select = select.value();
      control.tick = kTick;
      control.counter_width = kCounterWidth32;
      control.option_mask = kOptionalCounters;
      control.Encode(mad.data);
      return wire::kStatusOk;
    }
    case PerfAttribute::kPortExtendedSpeedsCounters:
      if (set || all || family == PerformanceFamily::kPlain) {
        return wire::kStatusUnsupportedMethodAttribute;
      }
      FillExtendedSpeeds(device, mad);
      return wire::kStatusOk;
    default: return wire::kStatusUnsupportedMethodAttribute;
  }
}

// Of one port, or the sum of all.
uint64_t PerformanceAgent::Shown(const SimDevice& device, PortNum select, Registers registers,
                                 Counter counter) const {
  if (select.value() != wire::kAllPortSelect) {
    const Port* port = Find(select);
    return port == nullptr ? 0 : port->counts.Shown(registers, counter);
  }
  uint64_t sum = 0;
  for (const PortNum port : device.LinkPorts()) {
    const uint64_t more = Shown(device, port, registers, counter);
    sum = more > ~uint64_t{0} - sum ? ~uint64_t{0} : sum + more;
  }
  return sum;
}

void PerformanceAgent::Clear(PortNum select, Registers registers, Counter counter) {
  for (size_t number = 0; number < ports_.size(); ++number) {
    if (select.value() != wire::kAllPortSelect && select.value() != number) continue;
    if (ports_[number] == nullptr) continue;  // All 0.
    PortCounts& counts = ports_[number]->counts;
    counts.Clear(registers, counter);
    if (Has(PerformanceQuirk::kSharedClear)) {
      counts.Clear(Registers::kClassic, counter);
      counts.Clear(Registers::kExtended, counter);
    }
  }
}

uint16_t PerformanceAgent::ServeClassic(const SimDevice& device, wire::PerfMad& mad) {
  wire::PortCounters counters = wire::PortCounters::Decode(mad.data);
  const PortNum select(counters.port_select);
  if (mad.method == Method::kSet) {
    for (size_t bit = 0; bit < std::size(kClassicSelects); ++bit) {
      if ((counters.counter_select >> bit & 1) == 0) continue;
      Clear(select, Registers::kClassic, kClassicSelects[bit]);
    }
    if ((counters.counter_select2 & wire::PortCounters::kSelect2XmitWait) != 0) {
      Clear(select, Registers::kClassic, Counter::kXmitWait);
    }
  }
  const auto show = [&](auto& field, Counter counter, int bits = 0) {
    using Field = std::remove_reference_t<decltype(field)>;
    const int width = bits != 0 ? bits : static_cast<int>(8 * sizeof(Field));
    field =
        static_cast<Field>(ClampedTo(width, Shown(device, select, Registers::kClassic, counter)));
  };
  show(counters.symbol_error, Counter::kSymbolErrors);
  show(counters.link_error_recovery, Counter::kLinkErrorRecovery);
  show(counters.link_downed, Counter::kLinkDowned);
  show(counters.rcv_errors, Counter::kRcvErrors);
  show(counters.rcv_remote_physical_errors, Counter::kRcvRemotePhysicalErrors);
  show(counters.rcv_switch_relay_errors, Counter::kRcvSwitchRelayErrors);
  show(counters.xmit_discards, Counter::kXmitDiscards);
  show(counters.xmit_constraint_errors, Counter::kXmitConstraintErrors);
  show(counters.rcv_constraint_errors, Counter::kRcvConstraintErrors);
  show(counters.local_link_integrity_errors, Counter::kLocalLinkIntegrityErrors, 4);
  show(counters.excessive_buffer_overrun_errors, Counter::kExcessiveBufferOverrunErrors, 4);
  if (Family(device) != PerformanceFamily::kPlain) {
    show(counters.qp1_dropped, Counter::kQp1Dropped);
  }
  show(counters.vl15_dropped, Counter::kVl15Dropped);
  show(counters.xmit_data, Counter::kXmitData);
  show(counters.rcv_data, Counter::kRcvData);
  show(counters.xmit_pkts, Counter::kXmitPackets);
  show(counters.rcv_pkts, Counter::kRcvPackets);
  show(counters.xmit_wait, Counter::kXmitWait);
  counters.Encode(mad.data);
  return wire::kStatusOk;
}

// CounterSelect2 selects the error counters in the order of the attribute.
uint16_t PerformanceAgent::ServeExtended(const SimDevice& device, wire::PerfMad& mad) {
  wire::PortCountersExtended counters = wire::PortCountersExtended::Decode(mad.data);
  const PortNum select(counters.port_select);
  constexpr size_t kFirstError = static_cast<size_t>(Counter::kSymbolErrors);
  if (mad.method == Method::kSet) {
    for (size_t i = 0; i < kExtendedCounters; ++i) {
      const bool selected = i < kFirstError
                                ? (counters.counter_select >> i & 1) != 0
                                : (counters.counter_select2 >> (i - kFirstError) & 1) != 0;
      if (selected) Clear(select, Registers::kExtended, static_cast<Counter>(i));
    }
  }
  const auto shown = [&](Counter counter) {
    return Shown(device, select, Registers::kExtended, counter);
  };
  counters.xmit_data = shown(Counter::kXmitData);
  counters.rcv_data = shown(Counter::kRcvData);
  counters.xmit_pkts = shown(Counter::kXmitPackets);
  counters.rcv_pkts = shown(Counter::kRcvPackets);
  counters.unicast_xmit_pkts = shown(Counter::kUnicastXmitPackets);
  counters.unicast_rcv_pkts = shown(Counter::kUnicastRcvPackets);
  counters.multicast_xmit_pkts = shown(Counter::kMulticastXmitPackets);
  counters.multicast_rcv_pkts = shown(Counter::kMulticastRcvPackets);
  const PerformanceFamily family = Family(device);
  if (family != PerformanceFamily::kPlain) {
    const bool zero =
        family == PerformanceFamily::kConnectX7 || Has(PerformanceQuirk::kZeroExtendedErrors);
    counters.symbol_error = zero ? 0 : shown(Counter::kSymbolErrors);
    counters.link_error_recovery = shown(Counter::kLinkErrorRecovery);
    counters.link_downed = zero ? 0 : shown(Counter::kLinkDowned);
    counters.rcv_errors = shown(Counter::kRcvErrors);
    if (Has(PerformanceQuirk::kUnderflow)) counters.rcv_errors -= kUnderflowBy;
    counters.rcv_remote_physical_errors = shown(Counter::kRcvRemotePhysicalErrors);
    counters.rcv_switch_relay_errors = shown(Counter::kRcvSwitchRelayErrors);
    counters.xmit_discards = shown(Counter::kXmitDiscards);
    counters.xmit_constraint_errors = shown(Counter::kXmitConstraintErrors);
    counters.rcv_constraint_errors = shown(Counter::kRcvConstraintErrors);
    counters.local_link_integrity_errors = shown(Counter::kLocalLinkIntegrityErrors);
    counters.excessive_buffer_overrun_errors = shown(Counter::kExcessiveBufferOverrunErrors);
    counters.vl15_dropped = shown(Counter::kVl15Dropped);
    counters.xmit_wait = shown(Counter::kXmitWait);
    counters.qp1_dropped = shown(Counter::kQp1Dropped);
  }
  counters.Encode(mad.data);
  return wire::kStatusOk;
}

uint16_t PerformanceAgent::DetailShown(const SimDevice& device, PortNum select,
                                       Counter counter) const {
  if (Has(PerformanceQuirk::kSentinels)) return static_cast<uint16_t>(AllOnes(16));
  return static_cast<uint16_t>(ClampedTo(16, Shown(device, select, Registers::kClassic, counter)));
}

uint16_t PerformanceAgent::ServeRcvErrorDetails(const SimDevice& device, wire::PerfMad& mad) {
  wire::PortRcvErrorDetails details = wire::PortRcvErrorDetails::Decode(mad.data);
  const PortNum select(details.port_select);
  const auto serve = [&](int bit, uint16_t& field, Counter counter) {
    if (mad.method == Method::kSet && (details.counter_select >> bit & 1) != 0) {
      Clear(select, Registers::kClassic, counter);
    }
    field = DetailShown(device, select, counter);
  };
  serve(0, details.local_physical_errors, Counter::kRcvLocalPhysicalErrors);
  serve(1, details.malformed_packet_errors, Counter::kRcvMalformedPacketErrors);
  serve(2, details.buffer_overrun_errors, Counter::kRcvBufferOverrunErrors);
  serve(3, details.dlid_mapping_errors, Counter::kRcvDlidMappingErrors);
  serve(4, details.vl_mapping_errors, Counter::kRcvVlMappingErrors);
  serve(5, details.looping_errors, Counter::kRcvLoopingErrors);
  details.Encode(mad.data);
  return wire::kStatusOk;
}

uint16_t PerformanceAgent::ServeXmitDiscardDetails(const SimDevice& device, wire::PerfMad& mad) {
  wire::PortXmitDiscardDetails details = wire::PortXmitDiscardDetails::Decode(mad.data);
  const PortNum select(details.port_select);
  const auto serve = [&](int bit, uint16_t& field, Counter counter) {
    if (mad.method == Method::kSet && (details.counter_select >> bit & 1) != 0) {
      Clear(select, Registers::kClassic, counter);
    }
    field = DetailShown(device, select, counter);
  };
  serve(0, details.inactive_discards, Counter::kXmitInactiveDiscards);
  serve(1, details.neighbor_mtu_discards, Counter::kXmitNeighborMtuDiscards);
  serve(2, details.sw_lifetime_limit_discards, Counter::kXmitSwLifetimeDiscards);
  serve(3, details.sw_hoq_lifetime_limit_discards, Counter::kXmitSwHoqLifetimeDiscards);
  details.Encode(mad.data);
  return wire::kStatusOk;
}

// In the form that the port's FEC asks for (reference §1.2).
void PerformanceAgent::FillExtendedSpeeds(const SimDevice& device, wire::PerfMad& mad) const {
  const PortNum select(mad.data[1]);
  const auto shown = [&](Counter counter) {
    return static_cast<uint32_t>(ClampedTo(32, Total(select, counter)));
  };
  const wire::FecMode fec = device.Fec(select).fec_mode_active;
  if (fec == wire::FecMode::kRs || fec == wire::FecMode::kRs2) {
    wire::PortExtendedSpeedsCountersRsFec counters;
    counters.port_select = select.value();
    counters.fec_correctable_blocks = shown(Counter::kFecCorrectedBlocks);
    counters.fec_uncorrectable_blocks = shown(Counter::kFecUncorrectableBlocks);
    counters.fec_corrected_symbols = shown(Counter::kFecCorrectedSymbols);
    counters.Encode(mad.data);
    return;
  }
  wire::PortExtendedSpeedsCounters counters;
  counters.port_select = select.value();
  counters.fec_correctable_blocks[0] = shown(Counter::kFecCorrectedBlocks);
  counters.fec_uncorrectable_blocks[0] = shown(Counter::kFecUncorrectableBlocks);
  counters.Encode(mad.data);
}

}  // namespace fabricd::sim
