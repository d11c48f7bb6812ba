// SPDX-License-Identifier: Apache-2.0
// What a device does with SubnSet(PortInfo) (IBA vol 1 §14.2.5.6): which fields it takes, ignores
// or refuses. All or nothing: a refused Set changes no register, unless the device is odd. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "mad/wire/port_info.h"

namespace fabricd::sim {

enum class PortKind : uint8_t { kCa, kBasePort0, kEnhancedPort0, kSwitchExternal };

struct PortInfoSet {
  PortKind kind = PortKind::kCa;
  bool extended_speeds = false;      // AttributeModifier bit 31.
  bool inbound_enforcement = false;  // The switch can filter by P_Key.
  bool outbound_enforcement = false;
  bool takes_parts = false;  // Quirks::takes_parts
  wire::PortInfo wanted;
};

struct PortInfoOutcome {
  uint16_t status = wire::kStatusOk;
  // The link is to go down and then to this state; the registers do not show it yet.
  std::optional<wire::PortPhysicalState> link;
};

PortInfoOutcome ApplyPortInfoSet(const PortInfoSet& set, wire::PortInfo& registers);

}  // namespace fabricd::sim
