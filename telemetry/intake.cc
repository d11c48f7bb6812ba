// SPDX-License-Identifier: Apache-2.0
#include "telemetry/intake.h"

#include <algorithm>
#include <utility>

#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/smp.h"
#include "mad/wire/vendor_mad.h"
#include "mad/wire/vendor_smp.h"

namespace fabricd::telemetry {
namespace {

using wire::PerfAttribute;
using Verdict = FollowUp::Verdict;

std::optional<PerfAttribute> PerfAttributeOf(Ask ask) {
  switch (ask) {
    case Ask::kClassPortInfo: return PerfAttribute::kClassPortInfo;
    case Ask::kTick: return PerfAttribute::kPortSamplesControl;
    case Ask::kExtended: return PerfAttribute::kPortCountersExtended;
    case Ask::kClassic: return PerfAttribute::kPortCounters;
    case Ask::kRcvErrorDetails: return PerfAttribute::kPortRcvErrorDetails;
    case Ask::kXmitDiscardDetails: return PerfAttribute::kPortXmitDiscardDetails;
    default: return std::nullopt;
  }
}

Verdict VerdictOf(uint16_t status) {
  if (status == wire::kStatusOk) return Verdict::kEntered;
  if (status == wire::kStatusBusy) return Verdict::kRepeat;
  if (status == wire::kStatusRedirect) return Verdict::kRedirected;
  return Verdict::kRefused;
}

// The device's reason for a link that was down, of both its ends.
void FollowLinkDown(FollowUp& follow) {
  for (Ask ask : {Ask::kLinkDown, Ask::kPhysical, Ask::kLinkDowns}) {
    follow.of_port.Add(ask);
    follow.of_far_end.Add(ask);
  }
}

// More errors of the link than a healthy one has in one reading of 5 min: at 400 Gb/s the limit of
// 1e-14 allows 1.2.
bool IsWorthWatching(const Increase& increase) {
  constexpr uint64_t kMany = 3;
  switch (increase.counter) {
    case Counter::kSymbolErrors:
    case Counter::kPhySymbolErrors:
    case Counter::kRcvLocalPhysicalErrors: return increase.count >= kMany;
    case Counter::kLocalLinkIntegrityErrors: return true;
    default: return false;
  }
}

// What the increases of a reading make worth reading.
void FollowErrors(Ask just_read, const Outcome& outcome, FollowUp& follow) {
  follow.epoch = outcome.epoch;
  follow.is_bad_sample = outcome.thrown_away;
  if (outcome.epoch) {
    // Their baselines, without which the next increase could not be seen.
    for (Ask ask :
         {Ask::kRcvErrorDetails, Ask::kXmitDiscardDetails, Ask::kPhysical, Ask::kLinkDowns}) {
      follow.of_port.Add(ask);
    }
    if (*outcome.epoch != EpochCause::kFirstSeen) {
      follow.of_port.Add(Ask::kExtended);
      follow.of_port.Add(Ask::kClassic);
      follow.of_port.Remove(just_read);
    }
  }
  for (const Increase& increase : outcome.errors) {
    follow.is_worth_watching |= IsWorthWatching(increase);
    switch (increase.counter) {
      case Counter::kRcvErrors:
      case Counter::kRcvSwitchRelayErrors: follow.of_port.Add(Ask::kRcvErrorDetails); break;
      case Counter::kXmitDiscards: follow.of_port.Add(Ask::kXmitDiscardDetails); break;
      case Counter::kLinkDowned:
      case Counter::kLinkErrorRecovery: FollowLinkDown(follow); break;
      // What FEC could not correct is counted by PPCNT 0x12.
      case Counter::kEffectiveErrors: follow.of_port.Add(Ask::kPhysical); break;
      default: break;
    }
  }
}

void TakeCapabilities(const wire::ClassPortInfo& info, Millis now, Device& device) {
  device.knows_capabilities = true;
  device.capability_mask = info.capability_mask;
  device.capability_mask2 = info.capability_mask2;
  device.response_time_value = info.response_time_value;
  device.identified_at = now;
  if (!HasExtended(device, now)) {
    device.SetAbsent(Ask::kExtended, Absence::kUnsupported, now);
  }
  // One to a GID needs a path record first, which is not asked for. Where requests were sent to
  // does not tell of it again.
  if (info.redirect.lid) device.redirect = info.redirect;
}

void EnterText(const std::string& text, std::array<char, PortInventory::kTextBytes + 1>& to) {
  to = {};
  std::copy_n(text.begin(), std::min(text.size(), PortInventory::kTextBytes), to.begin());
}

void TakeModule(const wire::PddrModule& module, Millis at, PortRef port, Records& records,
                FollowUp& follow) {
  records.Port(port).module = {at, module.temperature, module.rx_power[0], module.tx_power[0]};
  PortInventory& inventory = records.Inventory(port);
  const auto serial_before = inventory.serial;
  const bool was_known = inventory.module_at != 0;
  EnterText(module.vendor_name, inventory.vendor);
  EnterText(module.part_number, inventory.part);
  EnterText(module.serial_number, inventory.serial);
  inventory.cable_type = module.cable_type;
  inventory.identifier = module.identifier;
  inventory.length_metres = static_cast<float>(module.length_metres().value_or(0));
  inventory.max_power_watts = static_cast<float>(module.max_power_watts().value_or(0));
  inventory.alarm_high = module.temperature_alarm_high;
  inventory.alarm_low = module.temperature_alarm_low;
  if (was_known && inventory.serial != serial_before) {
    records.ReplaceLink(port, at);
    follow.epoch = EpochCause::kLinkReplaced;
    inventory.temperatures = {};
  }
  std::optional<double> celsius;
  if (module.temperature != 0) celsius = module.temperature / 256.0;
  inventory.temperatures.Add(at, std::exchange(inventory.module_at, at), celsius);
}

// The response carries the request in place: another port or page is another request's.
template <typename RegisterRequest>
bool IsOf(PortNum port, wire::ConstRegisterBytes block) {
  return RegisterRequest::Decode(block).port == port.value();
}

void TakeRegister(Ask ask, PortRef port, wire::ConstRegisterBytes block, const Reading& reading,
                  Records& records, FollowUp& follow) {
  const bool ppcnt = ask == Ask::kBer || ask == Ask::kPhysical;
  const bool pddr = ask == Ask::kLinkDown || ask == Ask::kModule || ask == Ask::kOperational;
  if ((ppcnt && !IsOf<wire::PpcntRequest>(port.port, block)) ||
      (pddr && !IsOf<wire::PddrRequest>(port.port, block)) ||
      (ask == Ask::kMonitor && !IsOf<wire::PpbmcRequest>(port.port, block))) {
    follow.verdict = Verdict::kForeign;
    return;
  }
  const auto enter = [&](const Outcome& outcome) {
    records.Enter(port, outcome, false, reading.at);
    FollowErrors(ask, outcome, follow);
  };
  switch (ask) {
    case Ask::kBer:
      enter(EnterStatistical(records.Port(port), wire::PpcntStatistical::Decode(block), reading));
      break;
    case Ask::kPhysical:
      enter(EnterPhysical(records.Port(port), wire::PpcntPhysical::Decode(block), reading));
      break;
    case Ask::kLinkDowns:
      enter(EnterLinkDowns(records.Port(port), wire::PpcntLinkDowns::Decode(block), reading));
      break;
    case Ask::kLinkDown: {
      PortInventory& inventory = records.Inventory(port);
      inventory.link_down = wire::PddrLinkDown::Decode(block);
      inventory.link_down_at = reading.at;
      break;
    }
    case Ask::kModule:
      TakeModule(wire::PddrModule::Decode(block), reading.at, port, records, follow);
      break;
    case Ask::kOperational: {
      PortInventory& inventory = records.Inventory(port);
      inventory.fec = wire::PddrOperational::Decode(block).fec_mode_active;
      inventory.operational_at = reading.at;
      break;
    }
    case Ask::kMonitor: {
      PortInventory& inventory = records.Inventory(port);
      inventory.monitor = wire::Ppbmc::Decode(block).state;
      inventory.monitor_at = reading.at;
      break;
    }
    default: break;
  }
}

FollowUp TakePerf(Ask ask, PortRef port, const wire::PerfMad& mad, const Reading& reading,
                  Device& device, Records& records) {
  FollowUp follow;
  follow.verdict = VerdictOf(mad.status);
  if (PerfAttributeOf(ask) != mad.attribute) follow.verdict = Verdict::kForeign;
  if (follow.verdict == Verdict::kRedirected) {
    // Such a response carries ClassPortInfo, whatever was asked for (IBA vol 1 §13.5.2).
    const wire::ClassPortInfo info = wire::ClassPortInfo::Decode(mad.data);
    if (!info.redirect.lid || device.redirect == info.redirect) {
      follow.verdict = Verdict::kRefused;
    } else {
      device.redirect = info.redirect;
    }
  }
  if (follow.verdict != Verdict::kEntered) return follow;
  if (ask == Ask::kClassPortInfo) {
    TakeCapabilities(wire::ClassPortInfo::Decode(mad.data), reading.at, device);
    return follow;
  }
  if (ask == Ask::kTick) {
    device.tick = wire::PortSamplesControl::Decode(mad.data).tick;
    device.knows_tick = true;
    return follow;
  }
  if (mad.data[1] != port.port.value()) {
    follow.verdict = Verdict::kForeign;
    return follow;
  }
  PortRecord& record = records.Port(port);
  record.facts.tick = device.tick;
  record.facts.knows_tick = device.knows_tick;
  Outcome outcome;
  switch (ask) {
    case Ask::kExtended:
      outcome = EnterExtended(
          record, wire::PortCountersExtended::Decode(mad.data),
          {.errors = (device.capability_mask2 & wire::kPerf2ExtendedErrors) != 0,
           .unicast_multicast = (device.capability_mask & wire::kPerfExtendedWidth) != 0},
          reading);
      break;
    case Ask::kClassic:
      outcome = EnterClassic(record, wire::PortCounters::Decode(mad.data),
                             ClassicSupportOf(device, reading.at), reading);
      break;
    case Ask::kRcvErrorDetails:
      outcome = EnterDetails(record, wire::PortRcvErrorDetails::Decode(mad.data), reading);
      break;
    case Ask::kXmitDiscardDetails:
      outcome = EnterDetails(record, wire::PortXmitDiscardDetails::Decode(mad.data), reading);
      break;
    default: break;
  }
  records.Enter(port, outcome, record.rates.window != 0 && record.rates.at == reading.at,
                reading.at);
  FollowErrors(ask, outcome, follow);
  return follow;
}

FollowUp TakeVendor(Ask ask, PortRef port, const wire::VendorMad& mad, const Reading& reading,
                    Device& device, Records& records) {
  FollowUp follow;
  follow.verdict = VerdictOf(mad.status);
  if (follow.verdict != Verdict::kEntered) return follow;
  switch (mad.attribute) {
    case wire::VendorAttribute::kGeneralInfo:
      if (ask != Ask::kVendorInfo) break;
      device.knows_registers = true;
      device.has_registers = wire::GmpGeneralInfo::Decode(mad.data).capabilities.Has(
          wire::GmpGeneralInfo::Capability::kAccessRegister);
      return follow;
    case wire::VendorAttribute::kKeyInfo:
      // It was asked because other requests of the class had no response: they lack the key.
      if (ask != Ask::kVendorKey) break;
      return follow;
    case wire::VendorAttribute::kAccessRegister:
      if (!IsRegister(ask)) break;
      TakeRegister(ask, port, wire::AccessRegister::Decode(mad.data).bytes, reading, records,
                   follow);
      return follow;
    default: break;
  }
  follow.verdict = Verdict::kForeign;
  return follow;
}

FollowUp TakeSmp(Ask ask, PortRef port, const wire::Smp& smp, const Reading& reading,
                 Device& device, Records& records) {
  FollowUp follow;
  follow.verdict = VerdictOf(smp.status);
  if (follow.verdict != Verdict::kEntered) return follow;
  if (ask == Ask::kSmpInfo && smp.attribute == wire::GeneralInfo::kAttribute) {
    const wire::GeneralInfo info = wire::GeneralInfo::Decode(smp.data);
    device.has_ext_port_info =
        info.capabilities.Has(wire::GeneralInfo::Capability::kUnhealthyReason);
  } else if (ask == Ask::kExtPortInfo && smp.attribute == wire::ExtPortInfo::kAttribute) {
    using Reason = wire::ExtPortInfo::UnhealthyReason;
    PortInventory& inventory = records.Inventory(port);
    const Reason before =
        std::exchange(inventory.unhealthy, wire::ExtPortInfo::Decode(smp.data).unhealthy_reason);
    inventory.ext_at = reading.at;
    const bool is_new = inventory.unhealthy != before && inventory.unhealthy > Reason::kNone;
    if (is_new) FollowLinkDown(follow);
  } else {
    follow.verdict = Verdict::kForeign;
  }
  return follow;
}

}  // namespace

bool HasExtended(const Device& device, Millis now) {
  constexpr uint16_t kEither = wire::kPerfExtendedWidth | wire::kPerfExtendedWidthNoIetf;
  return (device.capability_mask & kEither) != 0 &&
         device.absence(Ask::kExtended, now) == Absence::kNone;
}

ClassicSupport ClassicSupportOf(const Device& device, Millis now) {
  const bool extended = HasExtended(device, now);
  const bool extended_errors =
      extended && (device.capability_mask2 & wire::kPerf2ExtendedErrors) != 0;
  return {.xmit_wait = !extended_errors && (device.capability_mask & wire::kPerfXmitWait) != 0,
          .qp1_dropped = (device.capability_mask & wire::kPerfQp1Dropped) != 0,
          .traffic = !extended};
}

FollowUp TakeResponse(Ask ask, PortRef port, std::span<const uint8_t, wire::kMadBytes> bytes,
                      const Reading& reading, Device& device, Records& records) {
  if (IsSmp(ask)) {
    if (const std::optional<wire::Smp> smp = wire::Smp::Decode(bytes)) {
      return TakeSmp(ask, port, *smp, reading, device, records);
    }
  } else if (IsVendorGmp(ask)) {
    if (const std::optional<wire::VendorMad> mad = wire::VendorMad::Decode(bytes)) {
      return TakeVendor(ask, port, *mad, reading, device, records);
    }
  } else if (const std::optional<wire::PerfMad> mad = wire::PerfMad::Decode(bytes)) {
    return TakePerf(ask, port, *mad, reading, device, records);
  }
  FollowUp follow;
  follow.verdict = Verdict::kForeign;
  return follow;
}

}  // namespace fabricd::telemetry
