// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/cable_module.h"

#include <utility>

#include <fmt/format.h>

#include "common/rng.h"

namespace fabricd::sim {
namespace {

using wire::LinkSpeed;
using wire::PddrFecMode;
using wire::PddrModule;

constexpr int kLongestCopper = 3, kLongestActive = 30;  // Metres.
// From here on a link needs the stronger FEC (reference/telemetry-and-adaptive.md §2.6).
constexpr int kLongReach = 100;

// Of a cable to a host, and of one between switches.
constexpr int kHostMetres[] = {1, 2, 3, 5, 10, 15};
constexpr int kSwitchMetres[] = {5, 10, 20, 30, 50, 100, 150};

uint64_t Mixed(const CableEnd& end) {
  return Rng(end.node.value() ^ uint64_t{end.port.value()} << 56).Next();
}

PddrModule::Identifier IdentifierOf(LinkSpeed speed) {
  if (speed >= LinkSpeed::kNdr) return PddrModule::Identifier::kOsfp;
  if (speed >= LinkSpeed::kEdr) return PddrModule::Identifier::kQsfp28;
  return PddrModule::Identifier::kQsfpPlus;
}

// CMIS: a unit in the upper two bits and a count of them; else metres.
uint8_t EncodedLength(bool cmis, int metres) {
  constexpr int kMostOfUnit = 0x3F;
  if (!cmis) return static_cast<uint8_t>(metres);
  return metres <= kMostOfUnit ? static_cast<uint8_t>(1 << 6 | metres)
                               : static_cast<uint8_t>(2 << 6 | metres / 10);
}

// Those of 1.5 and 12 W, of 1 and 3.5 W.
uint8_t PowerClass(bool cmis, bool copper) {
  if (cmis) return copper ? 1 : 6;
  return copper ? 0 : 4;
}

}  // namespace

PddrModule ModuleOf(const CableEnd& own, const CableEnd& peer, LinkSpeed speed) {
  // The same from both ends.
  Rng of_cable(Mixed(own) + Mixed(peer));
  Rng of_end(Mixed(own) ^ of_cable.Next());
  const std::span<const int> lengths = own.is_switch && peer.is_switch
                                           ? std::span<const int>(kSwitchMetres)
                                           : std::span<const int>(kHostMetres);
  const int metres = lengths[of_cable.Below(lengths.size())];
  const bool copper = metres <= kLongestCopper;
  const bool one_piece = metres <= kLongestActive;

  PddrModule module;
  module.cable_type = copper      ? PddrModule::CableType::kPassiveCopper
                      : one_piece ? PddrModule::CableType::kActive
                                  : PddrModule::CableType::kOpticalModule;
  module.identifier = IdentifierOf(speed);
  module.length = EncodedLength(module.IsCmis(), metres);
  module.power_class = PowerClass(module.IsCmis(), copper);
  module.vendor_name = "fabricsim";
  module.part_number = fmt::format("SIM-{}-{}{:03}", wire::SpeedName(speed),
                                   copper      ? 'C'
                                   : one_piece ? 'A'
                                               : 'O',
                                   metres);
  module.serial_number =
      fmt::format("SN{:012X}", (one_piece ? of_cable.Next() : of_end.Next()) & 0xFFFF'FFFF'FFFF);
  if (copper) return module;
  constexpr int kCoolest = 38, kSpread = 20, kAlarmHigh = 80, kAlarmLow = -10;
  constexpr uint16_t kVoltage = 33'000;
  module.temperature = ModuleDegrees(kCoolest + static_cast<int>(of_end.Below(kSpread)));
  module.voltage = kVoltage;
  module.temperature_alarm_high = ModuleDegrees(kAlarmHigh);
  module.temperature_alarm_low = ModuleDegrees(kAlarmLow);
  return module;
}

PddrFecMode FecOf(const PddrModule& module, LinkSpeed speed) {
  const bool long_reach = module.length_metres().value_or(0) > kLongReach;
  switch (speed) {
    case LinkSpeed::kEdr: return PddrFecMode::kRs528;
    case LinkSpeed::kHdr: return long_reach ? PddrFecMode::kRs544 : PddrFecMode::kLowLatencyRs271;
    case LinkSpeed::kNdr:
      return long_reach ? PddrFecMode::kInterleavedRs544Plr : PddrFecMode::kLowLatencyRs271Plr;
    case LinkSpeed::kXdr: return PddrFecMode::kInterleavedRs544Plr;
    default: return PddrFecMode::kNone;
  }
}

}  // namespace fabricd::sim
