// SPDX-License-Identifier: Apache-2.0
#include "sim/device/port_info_set.h"

namespace fabricd::sim {
namespace {

using wire::LinkDownDefaultState;
using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

constexpr uint8_t kWidthAllSupported = 255;
constexpr uint8_t kSpeedAllSupported = 15;
constexpr uint8_t kExtSpeedAllSupported = 31;
constexpr uint8_t kExtSpeedOff = 30;
constexpr uint8_t kExtSpeed2AllSupported = 7;

bool IsPort0(PortKind kind) {
  return kind == PortKind::kBasePort0 || kind == PortKind::kEnhancedPort0;
}

// An "enabled" mask: 0 leaves it, `all` means everything supported, else a part of what is
// supported.
bool TakeMask(uint8_t wanted, uint8_t all, uint8_t supported, uint8_t& enabled) {
  if (wanted == 0) return true;
  if (wanted == all) {
    enabled = supported;
    return true;
  }
  if ((wanted & ~supported) != 0) return false;
  enabled = wanted;
  return true;
}

bool IsUnicast(Lid lid) { return lid.value() != 0 && lid <= kMaxUnicastLid; }

bool TakeIdentity(const PortInfoSet& set, PortInfo& next) {
  const PortInfo& wanted = set.wanted;
  const uint32_t lids = 1u << wanted.lmc;
  if (!IsUnicast(wanted.lid) || !IsUnicast(wanted.master_sm_lid)) return false;
  if (wanted.lid.value() % lids != 0) return false;
  if (wanted.lid.value() + lids - 1 > kMaxUnicastLid.value()) return false;
  if (set.kind == PortKind::kBasePort0 && wanted.lmc != 0) return false;
  next.lid = wanted.lid;
  next.lmc = wanted.lmc;
  next.master_sm_lid = wanted.master_sm_lid;
  next.master_sm_sl = wanted.master_sm_sl;
  next.gid_prefix = wanted.gid_prefix;
  next.m_key = wanted.m_key;
  next.m_key_lease_period = wanted.m_key_lease_period;
  next.m_key_protect_bits = wanted.m_key_protect_bits;
  next.subnet_timeout = wanted.subnet_timeout;
  // Violation counters can be cleared, not set.
  if (wanted.m_key_violations == 0) next.m_key_violations = 0;
  if (wanted.p_key_violations == 0) next.p_key_violations = 0;
  if (wanted.q_key_violations == 0) next.q_key_violations = 0;
  return true;
}

bool TakeRates(const PortInfoSet& set, PortInfo& next) {
  const PortInfo& wanted = set.wanted;
  if (!TakeMask(wanted.link_width_enabled, kWidthAllSupported, next.link_width_supported,
                next.link_width_enabled) ||
      !TakeMask(wanted.link_speed_enabled, kSpeedAllSupported, next.link_speed_supported,
                next.link_speed_enabled)) {
    return false;
  }
  if (!set.extended_speeds) return true;
  if (wanted.link_speed_ext_enabled == kExtSpeedOff) {
    next.link_speed_ext_enabled = kExtSpeedOff;
  } else if (!TakeMask(wanted.link_speed_ext_enabled, kExtSpeedAllSupported,
                       next.link_speed_ext_supported, next.link_speed_ext_enabled)) {
    return false;
  }
  return TakeMask(wanted.link_speed_ext_enabled2, kExtSpeed2AllSupported,
                  next.link_speed_ext_supported2, next.link_speed_ext_enabled2);
}

bool TakeLinkParameters(const PortInfoSet& set, PortInfo& next) {
  const PortInfo& wanted = set.wanted;
  if (wanted.neighbor_mtu == 0 || wanted.neighbor_mtu > next.mtu_cap) return false;
  if (wanted.operational_vls > next.vl_cap) return false;
  if (wanted.link_down_default_state > LinkDownDefaultState::kPolling) return false;
  if (!TakeRates(set, next)) return false;
  next.neighbor_mtu = wanted.neighbor_mtu;
  if (wanted.operational_vls != 0) next.operational_vls = wanted.operational_vls;
  if (wanted.link_down_default_state != LinkDownDefaultState::kNoChange) {
    next.link_down_default_state = wanted.link_down_default_state;
  }
  next.vl_high_limit = wanted.vl_high_limit;
  next.vl_stall_count = wanted.vl_stall_count;
  next.hoq_life = wanted.hoq_life;
  next.local_phy_errors = wanted.local_phy_errors;
  next.overrun_errors = wanted.overrun_errors;
  next.init_type = wanted.init_type;
  if (set.kind == PortKind::kSwitchExternal) {
    if (wanted.p_key_violations == 0) next.p_key_violations = 0;
    next.partition_enforcement_inbound =
        wanted.partition_enforcement_inbound && set.inbound_enforcement;
    next.partition_enforcement_outbound =
        wanted.partition_enforcement_outbound && set.outbound_enforcement;
    next.filter_raw_inbound = wanted.filter_raw_inbound;
    next.filter_raw_outbound = wanted.filter_raw_outbound;
  }
  return true;
}

bool IsSettablePhysicalState(PortPhysicalState state) {
  return state == PortPhysicalState::kSleep || state == PortPhysicalState::kPolling ||
         state == PortPhysicalState::kDisabled;
}

// The state machine as far as a Set may drive it (§7.2.7): INIT → ARMED → ACTIVE, and DOWN from
// all. Repeating the present state is allowed: a repeated Set whose first answer was lost is no
// error.
bool TakeState(const PortInfoSet& set, PortInfo& next, PortInfoOutcome& outcome) {
  const PortState state = set.wanted.port_state;
  const PortPhysicalState physical = set.wanted.port_physical_state;
  if (IsPort0(set.kind)) {
    return (state == PortState::kNoChange || state == next.port_state) &&
           (physical == PortPhysicalState::kNoChange || physical == next.port_physical_state);
  }
  const PortState present = next.port_state;
  const bool down = present == PortState::kDown;
  switch (state) {
    case PortState::kNoChange:
    case PortState::kDown: break;
    case PortState::kArmed:
      if (present != PortState::kInit && present != PortState::kArmed) return false;
      break;
    case PortState::kActive:
      if (present != PortState::kArmed && present != PortState::kActive) return false;
      break;
    default: return false;
  }
  if (physical != PortPhysicalState::kNoChange) {
    if (!IsSettablePhysicalState(physical)) return false;
    if (!down && state != PortState::kDown) return false;
    outcome.link = physical;
  } else if (state == PortState::kDown && !down) {
    outcome.link = next.link_down_default_state == LinkDownDefaultState::kSleep
                       ? PortPhysicalState::kSleep
                       : PortPhysicalState::kPolling;
  }
  if (state == PortState::kArmed || state == PortState::kActive) next.port_state = state;
  return true;
}

}  // namespace

PortInfoOutcome ApplyPortInfoSet(const PortInfoSet& set, PortInfo& registers) {
  PortInfoOutcome outcome;
  PortInfo next = registers;
  const bool identity = set.kind == PortKind::kSwitchExternal || TakeIdentity(set, next);
  const bool parameters = set.kind == PortKind::kBasePort0 || TakeLinkParameters(set, next);
  const bool state = TakeState(set, next, outcome);
  if (!identity || !parameters || !state) outcome.status = wire::kStatusInvalidAttributeValue;
  if (outcome.status != wire::kStatusOk && !set.takes_parts) {
    return {outcome.status, std::nullopt};
  }
  registers = next;
  return outcome;
}

}  // namespace fabricd::sim
