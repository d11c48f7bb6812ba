// SPDX-License-Identifier: Apache-2.0
// Class 0x0A of a simulated device, and its registers: Get only. Facts:
// reference/telemetry-and-adaptive.md §2.
#include <algorithm>
#include <cmath>
#include <span>

#include "sim/device/link_rate.h"
#include "sim/performance/cable_module.h"
#include "sim/performance/performance_agent.h"

namespace fabricd::sim {
namespace {

using wire::AccessRegister;
using wire::Method;
using wire::RegisterId;
using wire::VendorAttribute;

constexpr uint8_t kVendorRespTimeValue = 18;  // 1.07 s: registers are read by firmware.
constexpr uint16_t kPpcntBlocks = 2;          // 256 bytes.
constexpr uint64_t kFecBlockBits = 5440;      // RS(544,514), symbols of 10 bits.

// As devices show that there was no error.
constexpr wire::BerValue kNoErrors{15, 255};

wire::BerValue BerOf(uint64_t errors, uint64_t bits) {
  if (errors == 0 || bits == 0) return kNoErrors;
  const double ratio = static_cast<double>(errors) / static_cast<double>(bits);
  if (ratio >= 1) return {1, 0};
  const double magnitude = std::ceil(-std::log10(ratio));
  return {static_cast<uint8_t>(std::lround(ratio * std::pow(10.0, magnitude))),
          static_cast<uint8_t>(magnitude)};
}

// In equal parts, the first with what remains.
void SplitAmong(uint64_t count, std::span<uint64_t> parts) {
  if (parts.empty()) return;
  for (uint64_t& part : parts) part = count / parts.size();
  parts[0] += count % parts.size();
}

// The monitor's thresholds: those that the vendor documents for NDR. Bits received below
// 1 / `normal` count as so many, so that one early error raises nothing.
wire::Ppbmc::State StateOf(uint64_t errors, uint64_t bits, double normal) {
  const double ratio =
      static_cast<double>(errors) / std::max(static_cast<double>(bits), 1 / normal);
  if (ratio >= 10 * normal) return wire::Ppbmc::State::kAlarm;
  return ratio >= 5 * normal ? wire::Ppbmc::State::kWarning : wire::Ppbmc::State::kNormal;
}
constexpr double kNormalEffective = 1e-12, kNormalSymbol = 1e-15;

uint32_t Low32(uint64_t count) { return static_cast<uint32_t>(ClampedTo(32, count)); }

}  // namespace

wire::VsKey PerformanceAgent::VsKeyOf(const SimDevice& device) {
  return wire::VsKey(Rng(device.guid().value() ^ 0x0A).Next());
}

// nullopt: dropped.
std::optional<uint16_t> PerformanceAgent::ServeVendor(const Request& request,
                                                      wire::VendorMad& mad) {
  if (request.qpn != kQp) return std::nullopt;
  const bool exists =
      Family(request.device) != PerformanceFamily::kPlain && !Has(PerformanceQuirk::kNoVendor);
  if (!exists || mad.class_version != wire::kVendorClassVersion) return wire::kStatusBadVersion;
  const bool hidden = Has(PerformanceQuirk::kVsKeyHidden);
  const bool is_protected = hidden || Has(PerformanceQuirk::kVsKeySet);
  const bool knows_key = !is_protected || mad.vs_key == VsKeyOf(request.device);
  const bool asks_for_key =
      mad.attribute == VendorAttribute::kKeyInfo && mad.method == Method::kGet;
  if (!knows_key && (hidden || !asks_for_key)) {
    if (vs_key_violations_ != 0xFFFF) ++vs_key_violations_;
    return std::nullopt;
  }
  if (mad.method == Method::kSet) return wire::kStatusUnsupportedMethodAttribute;
  if (mad.method != Method::kGet) return wire::kStatusUnsupportedMethod;
  if (mad.attribute == VendorAttribute::kAccessRegister) return ServeRegister(request, mad);
  if (mad.modifier != 0) return wire::kStatusInvalidAttributeValue;
  switch (mad.attribute) {
    case VendorAttribute::kClassPortInfo: {
      wire::ClassPortInfo info;
      info.class_version = wire::kVendorClassVersion;
      info.capability_mask = wire::kVendorHasKey;
      info.response_time_value = kVendorRespTimeValue;
      info.Encode(mad.data);
      return wire::kStatusOk;
    }
    case VendorAttribute::kKeyInfo: {
      wire::KeyInfo info;
      if (is_protected && knows_key) info.key = VsKeyOf(request.device);
      info.protect = is_protected;
      info.violations = vs_key_violations_;
      info.Encode(mad.data);
      return wire::kStatusOk;
    }
    case VendorAttribute::kGeneralInfo: {
      using Capability = wire::GmpGeneralInfo::Capability;
      wire::GmpGeneralInfo info;
      info.capabilities = {Capability::kAccessRegister, Capability::kBerMonitoring};
      info.Encode(mad.data);
      return wire::kStatusOk;
    }
    default: return wire::kStatusUnsupportedMethodAttribute;
  }
}

uint16_t PerformanceAgent::ServeRegister(const Request& request, wire::VendorMad& mad) {
  if (mad.modifier > 0xFFFF) return wire::kStatusRegisterNotSupported;
  AccessRegister access = AccessRegister::Decode(mad.data);
  const bool first = access.block == 0;
  uint16_t status = wire::kStatusInvalidAttributeValue;
  switch (static_cast<RegisterId>(mad.modifier)) {
    case RegisterId::kPpcnt: status = ServePpcnt(request, access); break;
    case RegisterId::kPddr:
      if (first) status = ServePddr(request, access.bytes);
      break;
    case RegisterId::kPpbmc:
      if (first) status = ServePpbmc(request, access.bytes);
      break;
    default: status = wire::kStatusRegisterNotSupported;
  }
  access.Encode(mad.data);
  return status;
}

// The port of a register that has counters and a cable.
std::optional<PortNum> PerformanceAgent::RegisterPortOf(const SimDevice& device,
                                                        wire::RegisterPort port) {
  if (port == 0 || port > device.last_port().value()) return std::nullopt;
  return PortNum(static_cast<uint8_t>(port));
}

uint16_t PerformanceAgent::ServePpcnt(const Request& request, AccessRegister& access) {
  const wire::PpcntRequest asked = wire::PpcntRequest::Decode(access.bytes);
  const std::optional<PortNum> port = RegisterPortOf(request.device, asked.port);
  if (!port || asked.plane != 0 || access.block >= kPpcntBlocks) {
    return wire::kStatusInvalidAttributeValue;
  }
  if (wire::ClearsCounters(access.bytes)) ClearPort(request.now, request.device, *port);
  CountUpTo(request.now, request.device, *port);
  const auto total = [&](Counter counter) { return Total(*port, counter); };
  switch (asked.group) {
    case wire::PpcntGroup::kPhysical:
      if (access.block != 0) {
        wire::PpcntLinkDowns downs;
        downs.unintentional = Low32(total(Counter::kUnintentionalDowns));
        downs.intentional = Low32(total(Counter::kIntentionalDowns));
        downs.Encode(access.bytes);
        return wire::kStatusOk;
      }
      FillPhysical(request, *port, access.bytes);
      return wire::kStatusOk;
    case wire::PpcntGroup::kStatistical:
      if (access.block == 0) FillStatistical(request, *port, access.bytes);
      break;
    case wire::PpcntGroup::kRecovery:
      if (access.block == 0) {
        wire::PpcntRecovery recovery;
        recovery.successful_recoveries = Low32(total(Counter::kLinkErrorRecovery));
        recovery.unintentional_recoveries = recovery.successful_recoveries;
        recovery.Encode(access.bytes);
      }
      break;
    default: return wire::kStatusInvalidAttributeValue;
  }
  if (access.block != 0) access.bytes.fill(0);  // Nothing that is simulated lies there.
  return wire::kStatusOk;
}

uint64_t PerformanceAgent::MillisecondsSinceClear(Instant now, PortNum port) const {
  const Port* found = Find(port);
  const Duration time = now - (found == nullptr ? since_ : found->cleared);
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

void PerformanceAgent::FillPhysical(const Request& request, PortNum port,
                                    wire::RegisterBytes block) const {
  wire::PpcntPhysical group;
  group.milliseconds_since_clear = MillisecondsSinceClear(request.now, port);
  group.symbol_errors = Total(port, Counter::kSymbolErrors);
  group.rs_fec_corrected_blocks = Total(port, Counter::kFecCorrectedBlocks);
  group.rs_fec_uncorrectable_blocks = Total(port, Counter::kFecUncorrectableBlocks);
  const uint64_t blocks = ReceivedBits(request.now, request.device, port) / kFecBlockBits;
  const uint64_t faulty = group.rs_fec_corrected_blocks + group.rs_fec_uncorrectable_blocks;
  group.rs_fec_error_free_blocks = blocks - std::min(blocks, faulty);
  group.rs_fec_corrected_symbols = Total(port, Counter::kFecCorrectedSymbols);
  SplitAmong(group.rs_fec_corrected_symbols, group.rs_fec_corrected_symbols_of_physical_lane);
  group.link_down_events = Low32(Total(port, Counter::kUnintentionalDowns));
  group.successful_recoveries = Low32(Total(port, Counter::kLinkErrorRecovery));
  group.Encode(block);
}

void PerformanceAgent::FillStatistical(const Request& request, PortNum port,
                                       wire::RegisterBytes block) const {
  wire::PpcntStatistical group;
  const uint64_t bits = ReceivedBits(request.now, request.device, port);
  const uint64_t raw = Total(port, Counter::kRawErrors);
  group.milliseconds_since_clear = MillisecondsSinceClear(request.now, port);
  group.received_bits = bits;
  group.symbol_errors = Total(port, Counter::kSymbolErrors);
  group.corrected_bits = Total(port, Counter::kCorrectedBits);
  group.effective_errors = Total(port, Counter::kEffectiveErrors);
  const auto width =
      static_cast<size_t>(std::max(0, wire::ActiveWidth(request.device.port(port).info)));
  SplitAmong(raw, std::span(group.raw_errors_of_physical_lane)
                      .first(std::clamp(width, size_t{1}, wire::PpcntStatistical::kPhysicalLanes)));
  group.raw_ber = BerOf(raw, bits);
  group.effective_ber = BerOf(group.effective_errors, bits);
  group.symbol_ber = BerOf(group.symbol_errors, bits);
  group.Encode(block);
}

wire::PddrModule PerformanceAgent::ModuleAt(const Request& request, PortNum number) const {
  const SimDevice& device = request.device;
  const SimPort& port = device.port(number);
  if (port.cable.IsNone() || !port.plugged) {
    wire::PddrModule none;
    none.cable_type = wire::PddrModule::CableType::kUnplugged;
    return none;
  }
  const SimDevice& peer = request.device_of(port.cable.node);
  const wire::LinkSpeed speed = std::min(port.rated_speed, peer.port(port.cable.port).rated_speed);
  wire::PddrModule module = ModuleOf({device.guid(), number, device.IsSwitch()},
                                     {peer.guid(), port.cable.port, peer.IsSwitch()}, speed);
  const Port* own = Find(number);
  if (own != nullptr && own->module_temperature) {
    module.temperature = ModuleDegrees(*own->module_temperature);
  }
  if (own != nullptr && own->modules_before > 0) {
    module.serial_number.replace(0, 2, fmt::format("R{}-", own->modules_before));
  }
  return module;
}

uint16_t PerformanceAgent::ServePddr(const Request& request, wire::RegisterBytes block) const {
  const wire::PddrRequest asked = wire::PddrRequest::Decode(block);
  const std::optional<PortNum> port = RegisterPortOf(request.device, asked.port);
  if (!port || asked.plane != 0) return wire::kStatusInvalidAttributeValue;
  const wire::PortInfo& info = request.device.port(*port).info;
  const bool up = info.port_physical_state == wire::PortPhysicalState::kLinkUp;
  switch (asked.page) {
    case wire::PddrPage::kOperational: {
      wire::PddrOperational page;
      if (up) {
        page.fec_mode_active = FecOf(ModuleAt(request, *port), wire::ActiveSpeed(info));
        page.fec_mode_request = page.fec_mode_active;
      }
      page.Encode(block);
      return wire::kStatusOk;
    }
    case wire::PddrPage::kModule: {
      wire::PddrModule module = ModuleAt(request, *port);
      if (asked.powers_in_microwatts && module.voltage != 0) {
        constexpr uint16_t kMicrowatts = 900;
        const auto width = static_cast<size_t>(std::max(0, wire::ActiveWidth(info)));
        for (size_t i = 0; i < std::min(width, wire::PddrModule::kPhysicalLanes); ++i) {
          module.tx_power[i] = kMicrowatts;
          module.rx_power[i] = up ? kMicrowatts : 0;
        }
      }
      module.Encode(block);
      return wire::kStatusOk;
    }
    case wire::PddrPage::kLinkDown: {
      wire::PddrLinkDown page;
      const Port* found = Find(*port);
      if (found != nullptr && found->last_down) {
        using Intent = wire::PddrLinkDown::Intent;
        const LinkDownCause& cause = *found->last_down;
        page.blame = static_cast<wire::PddrLinkDown::Blame>(cause.blame);
        page.intent = cause.intentional ? Intent::kIntentional : Intent::kUnintentional;
        page.local_reason = static_cast<wire::LinkDownReason>(cause.local_reason);
        page.remote_reason = static_cast<wire::LinkDownReason>(cause.remote_reason);
      }
      page.Encode(block);
      return wire::kStatusOk;
    }
  }
  return wire::kStatusInvalidAttributeValue;
}

uint16_t PerformanceAgent::ServePpbmc(const Request& request, wire::RegisterBytes block) {
  const std::optional<PortNum> port =
      RegisterPortOf(request.device, wire::PpbmcRequest::Decode(block).port);
  if (!port) return wire::kStatusInvalidAttributeValue;
  CountUpTo(request.now, request.device, *port);
  wire::Ppbmc monitor;
  const SimPort& registers = request.device.port(*port);
  if (registers.info.port_physical_state == wire::PortPhysicalState::kLinkUp) {
    const uint64_t bits = ReceivedBits(request.now, request.device, *port);
    monitor.monitored = wire::Ppbmc::kEffectiveBer | wire::Ppbmc::kSymbolBer;
    monitor.state =
        std::max(StateOf(Total(*port, Counter::kEffectiveErrors), bits, kNormalEffective),
                 StateOf(Total(*port, Counter::kSymbolErrors), bits, kNormalSymbol));
  }
  monitor.Encode(block);
  return wire::kStatusOk;
}

}  // namespace fabricd::sim
