// SPDX-License-Identifier: Apache-2.0
#include "sim/device/sim_device.h"

#include <algorithm>
#include <chrono>

#include "sim/device/link_rate.h"
#include "sim/device/port_info_set.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::LinkSpeed;
using wire::Method;
using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

constexpr uint8_t kVlArbitrationEntries = 8;
constexpr uint8_t kPowerUpHoqLife = 20;
constexpr uint8_t kPowerUpVlStall = 7;
constexpr uint8_t kPowerUpErrorThreshold = 15;
constexpr uint8_t kRespTimeValue = 16;
constexpr uint32_t kCapIsSlMapping = 1u << 6;
constexpr uint32_t kCapIsSystemImageGuid = 1u << 11;
constexpr uint32_t kCapIsCapabilityMaskNotice = 1u << 22;
constexpr uint16_t kNoMulticast = 0xBFFF;
constexpr uint8_t kLinearForwardingNoPath = wire::LinearForwardingTable::kNoPath;

// The whole attribute is one block: any other modifier names nothing (§14.2.5).
bool TakesNoModifier(AttributeId attribute) {
  return attribute == AttributeId::kNodeInfo || attribute == AttributeId::kNodeDescription ||
         attribute == AttributeId::kSwitchInfo;
}

// What a port can do is not in a topology text; what its link runs at is.
LinkSpeed RatedSpeed(const fabric::Port& port) {
  const LinkSpeed active = wire::ActiveSpeed(port.info);
  return active != LinkSpeed::kUnknown ? active : wire::BestSupportedSpeed(port.info);
}

int RatedWidth(const fabric::Port& port) {
  const int active = wire::ActiveWidth(port.info);
  return active != 0 ? active : wire::BestSupportedWidth(port.info);
}

uint32_t CapabilityMask(bool is_switch, LinkSpeed fastest) {
  uint32_t mask =
      wire::kCapIsTrap | kCapIsSlMapping | kCapIsSystemImageGuid | wire::kCapIsCapabilityMask2;
  if (fastest >= LinkSpeed::kFdr) mask |= wire::kCapIsExtendedSpeeds;
  if (is_switch) return mask | wire::kCapIsMulticastFdbTop;
  return mask | kCapIsCapabilityMaskNotice | wire::kCapIsClientReregister;
}

uint16_t CapabilityMask2(bool is_switch, LinkSpeed fastest) {
  uint16_t mask = 0;
  if (is_switch) mask |= wire::kCap2IsSwitchPortStateTable;
  if (fastest >= LinkSpeed::kEdr) mask |= wire::kCap2IsPortInfoExtended;
  if (fastest >= LinkSpeed::kHdr) mask |= wire::kCap2IsLinkSpeedHdr | wire::kCap2IsLinkWidth2x;
  if (fastest >= LinkSpeed::kNdr) mask |= wire::kCap2IsLinkSpeedNdr;
  if (fastest >= LinkSpeed::kXdr) mask |= wire::kCap2IsLinkSpeedXdr | wire::kCap2IsExtendedSpeeds2;
  return mask;
}

}  // namespace

SimDevice::SimDevice(const fabric::Node& node, const DeviceOptions& options)
    : options_(options), info_(node.info), description_(node.description) {
  info_.base_version = info_.class_version = 1;
  info_.port_guid = Guid();
  info_.local_port = PortNum();
  info_.partition_cap = IsSwitch() ? options.switch_partition_cap : options.ca_partition_cap;
  enhanced_port0_ = node.switch_info && node.switch_info->enhanced_port0;
  ports_.resize(node.ports.size());
  LinkSpeed fastest = LinkSpeed::kUnknown;
  int widest = 4;
  for (const fabric::Port& port : node.ports) {
    if (!port.known) continue;
    fastest = std::max(fastest, RatedSpeed(port));
    widest = std::max(widest, RatedWidth(port));
  }
  if (fastest == LinkSpeed::kUnknown) fastest = LinkSpeed::kSdr;
  for (size_t number = 0; number < ports_.size(); ++number) {
    const fabric::Port& from = node.ports[number];
    SimPort& port = ports_[number];
    const LinkSpeed speed = from.known ? RatedSpeed(from) : LinkSpeed::kUnknown;
    const int width = from.known ? RatedWidth(from) : 0;
    port.guid = from.guid;
    port.cable = from.peer;
    port.plugged = !from.peer.IsNone();
    port.rated_speed = speed == LinkSpeed::kUnknown ? fastest : speed;
    port.rated_width = static_cast<uint8_t>(width == 0 ? widest : width);
  }
  if (IsSwitch()) ports_[0].rated_speed = fastest;
  Reset();
  if (!options.keep_lids) return;
  for (size_t number = 0; number < ports_.size(); ++number) {
    if (IsSwitch() != (number == 0) || !node.ports[number].known) continue;
    ports_[number].info.lid = node.ports[number].info.lid;
    ports_[number].info.lmc = node.ports[number].info.lmc;
  }
}

void SimDevice::Reset() {
  lft_.clear();
  mft_.clear();
  sl_to_vl_.clear();
  if (odd_) {
    odd_->stale.clear();
    odd_->old_states.clear();
  }
  if (IsSwitch()) PowerUpSwitch();
  for (const PortNum number : AllPorts()) PowerUpPort(number);
}

void SimDevice::SetAdaptiveRouting(ShadowLft mode) {
  shadow_mode_ = mode;
  shadow_.clear();
  if (mode == ShadowLft::kNone) return;
  for (uint16_t block = 0; block < lft_blocks_stored(); ++block)
    shadow_.emplace_back(LftBlock(block));
}

void SimDevice::PowerUpSwitch() {
  SetAdaptiveRouting(ShadowLft::kNone);
  switch_info_ = wire::SwitchInfo();
  switch_info_.linear_fdb_cap = options_.linear_fdb_cap;
  switch_info_.multicast_fdb_cap = options_.multicast_fdb_cap;
  switch_info_.partition_enforcement_cap = options_.partition_enforcement_cap;
  switch_info_.inbound_enforcement_cap = options_.partition_enforcement_cap != 0;
  switch_info_.outbound_enforcement_cap = options_.partition_enforcement_cap != 0;
  switch_info_.enhanced_port0 = enhanced_port0_;
  switch_info_.optimized_sl_to_vl = options_.optimized_sl_to_vl ? 1 : 0;
  switch_info_.default_port = kLinearForwardingNoPath;
  switch_info_.default_multicast_primary_port = kLinearForwardingNoPath;
  switch_info_.default_multicast_not_primary_port = kLinearForwardingNoPath;
}

void SimDevice::PowerUpPort(PortNum number) {
  SimPort& port = ports_[number.value()];
  const bool end_port = !IsSwitch() || number.value() == 0;
  const bool port0 = IsSwitch() && number.value() == 0;
  LinkSpeed fastest = port.rated_speed;
  for (const SimPort& other : ports_) fastest = std::max(fastest, other.rated_speed);
  PortInfo info;
  SetSupportedRate(info, port.rated_speed, port.rated_width);
  info.port_state = port0 ? PortState::kActive : PortState::kDown;
  info.port_physical_state = port0 ? PortPhysicalState::kLinkUp : PortPhysicalState::kPolling;
  info.link_down_default_state = wire::LinkDownDefaultState::kPolling;
  SetActiveRate(info, port0 ? port.rated_speed : LinkSpeed::kSdr, port0 ? port.rated_width : 1);
  info.mtu_cap = info.neighbor_mtu = options_.mtu_cap;
  info.vl_cap = info.operational_vls = options_.vl_cap;
  info.vl_arb_high_cap = info.vl_arb_low_cap = kVlArbitrationEntries;
  info.vl_stall_count = kPowerUpVlStall;
  info.hoq_life = kPowerUpHoqLife;
  info.local_phy_errors = info.overrun_errors = kPowerUpErrorThreshold;
  if (end_port) {
    info.capability_mask = CapabilityMask(IsSwitch(), fastest);
    info.capability_mask2 = CapabilityMask2(IsSwitch(), fastest);
    info.gid_prefix = 0xFE80000000000000u;
    info.resp_time_value = kRespTimeValue;
    info.guid_cap = port0 ? 1 : options_.guid_cap;
  }
  port.info = info;
  port.m_key_lease_end = kNever;
  port.extended.reset();
  port.pkeys.clear();
  port.guids.clear();
  port.vl_arbitration.clear();
}

bool SimDevice::OwnsLid(PortNum port, Lid lid) const {
  const PortInfo& info = ports_[port.value()].info;
  return info.lid && lid.value() >> info.lmc == info.lid.value() >> info.lmc;
}

uint8_t SimDevice::LftPort(Lid lid) const {
  if (lid.value() > switch_info_.linear_fdb_top || lid.value() >= lft_.size()) {
    return kLinearForwardingNoPath;
  }
  constexpr size_t kBlock = wire::LinearForwardingTable::kEntries;
  const size_t block = lid.value() / kBlock;
  if (block < shadow_.size() && shadow_[block]) return shadow_[block]->port[lid.value() % kBlock];
  return lft_[lid.value()];
}

wire::PortInfoExtended SimDevice::Fec(PortNum number) const {
  const SimPort& port = ports_[number.value()];
  if (port.extended) return *port.extended;
  // No FEC, and each mode that the encoding of the speed allows.
  constexpr uint16_t kNone = 1, kFireCode = 2, kRs = 4;
  wire::PortInfoExtended info;
  info.cap_mask = wire::kExtCapIsFecModeSupported;
  info.edr_fec_mode_supported = info.edr_fec_mode_enabled = kNone | kFireCode | kRs;
  if (port.rated_speed >= LinkSpeed::kHdr) {
    info.hdr_fec_mode_supported = info.hdr_fec_mode_enabled = kRs;
  }
  if (port.rated_speed >= LinkSpeed::kNdr) {
    info.ndr_fec_mode_supported = info.ndr_fec_mode_enabled = kRs;
  }
  const bool up = port.info.port_physical_state == PortPhysicalState::kLinkUp;
  if (up && wire::ActiveSpeed(port.info) >= LinkSpeed::kEdr) {
    info.fec_mode_active = wire::FecMode::kRs;
  }
  return info;
}

std::optional<PortNum> SimDevice::PortOfModifier(PortNum ingress, uint32_t modifier) const {
  if (modifier > 0xFF) return std::nullopt;
  const PortNum port(static_cast<uint8_t>(modifier));
  // A CA takes 0 as the port that the SMP came in by.
  if (!IsSwitch() && port.value() == 0) return ingress;
  if (!HasPort(port)) return std::nullopt;
  return port;
}

// IBA vol 1 §14.2.4: Sets and TrapRepress need the port's M_Key; Gets by the protect bits.
bool SimDevice::PassesMKey(Instant now, PortNum ingress, const wire::Smp& smp) {
  SimPort& port = ports_[ManagementPort(ingress).value()];
  if (!port.info.m_key || smp.attribute == AttributeId::kSmInfo) return true;
  if (port.m_key_lease_end <= now) {
    port.info.m_key_protect_bits = 0;
    port.m_key_lease_end = kNever;
  }
  if (smp.m_key == port.info.m_key) {
    port.m_key_lease_end = kNever;
    return true;
  }
  if (smp.method == Method::kGet && port.info.m_key_protect_bits < 2) return true;
  if (port.info.m_key_violations != 0xFFFF) ++port.info.m_key_violations;
  if (port.info.m_key_lease_period != 0 && port.m_key_lease_end == kNever) {
    port.m_key_lease_end = now + std::chrono::seconds(port.info.m_key_lease_period);
  }
  return false;
}

bool SimDevice::Supports(AttributeId attribute, Method method) const {
  switch (attribute) {
    case AttributeId::kNodeDescription:
    case AttributeId::kNodeInfo: return method == Method::kGet;
    case AttributeId::kPortInfo:
    case AttributeId::kPKeyTable:
    case AttributeId::kGuidInfo:
    case AttributeId::kSlToVlMappingTable:
    case AttributeId::kVlArbitrationTable: return true;
    case AttributeId::kSwitchInfo:
    case AttributeId::kLinearForwardingTable:
    case AttributeId::kMulticastForwardingTable: return IsSwitch();
    case AttributeId::kSwitchPortStateTable: return IsSwitch() && method == Method::kGet;
    case AttributeId::kPortInfoExtended:
      return (ports_[IsSwitch() ? 0 : 1].info.capability_mask2 & wire::kCap2IsPortInfoExtended) !=
             0;
    default: return false;
  }
}

void SimDevice::Answer(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  effects.Clear();
  effects.m_key_violation = !PassesMKey(now, ingress, smp);
  if (effects.m_key_violation) return;
  if (smp.method == Method::kTrapRepress) {
    if (smp.attribute != AttributeId::kNotice) return;
    effects.repressed = smp.transaction_id();
    return;
  }
  effects.reply = true;
  if (smp.method != Method::kGet && smp.method != Method::kSet) {
    smp.status = wire::kStatusUnsupportedMethod;
  } else if (const auto odd = odd_ ? QuirkStatus(smp) : std::nullopt) {
    smp.status = *odd;
  } else if (!Supports(smp.attribute, smp.method)) {
    smp.status = wire::kStatusUnsupportedMethodAttribute;
    effects.unknown_attribute = true;
  } else {
    smp.status = Serve(now, ingress, smp, effects);
    if (odd_ && smp.status == wire::kStatusOk) Disguise(now, smp);
  }
  smp.method = Method::kGetResp;
}

uint16_t SimDevice::Serve(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  if (odd_ && odd_->how.stale_reads > Duration::zero()) {
    return ServeStale(now, ingress, smp, effects);
  }
  return smp.method == Method::kGet ? Get(ingress, smp) : Set(ingress, smp, effects);
}

uint16_t SimDevice::Get(PortNum ingress, wire::Smp& smp) const {
  if (smp.modifier != 0 && TakesNoModifier(smp.attribute)) {
    return wire::kStatusInvalidAttributeValue;
  }
  const PortNum management = ManagementPort(ingress);
  switch (smp.attribute) {
    case AttributeId::kNodeInfo: {
      wire::NodeInfo info = info_;
      info.port_guid = ports_[management.value()].guid;
      info.local_port = ingress;
      info.Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kNodeDescription:
      wire::NodeDescription{description_}.Encode(smp.data);
      return wire::kStatusOk;
    case AttributeId::kPortInfo: {
      const auto port = PortOfModifier(ingress, smp.modifier & ~wire::kSmSupportsExtendedSpeeds);
      if (!port) return wire::kStatusInvalidAttributeValue;
      PortInfo info = ports_[port->value()].info;
      info.local_port = ingress;
      if (info.m_key_protect_bits != 0 && smp.m_key != info.m_key) info.m_key = MKey();
      info.Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kPortInfoExtended: {
      const auto port = PortOfModifier(ingress, smp.modifier);
      if (!port) return wire::kStatusInvalidAttributeValue;
      Fec(*port).Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kSwitchInfo: switch_info_.Encode(smp.data); return wire::kStatusOk;
    default: return GetBlock(ingress, smp);
  }
}

uint16_t SimDevice::Set(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  if (odd_ && odd_->how.ignored_sets.contains(smp.attribute)) return Get(ingress, smp);
  switch (smp.attribute) {
    case AttributeId::kPortInfo: return SetPortInfo(ingress, smp, effects);
    case AttributeId::kPortInfoExtended: return SetPortInfoExtended(ingress, smp, effects);
    case AttributeId::kSwitchInfo: return SetSwitchInfo(smp, effects);
    case AttributeId::kPKeyTable: return SetPKeyTable(ingress, smp, effects);
    case AttributeId::kGuidInfo: return SetGuidInfo(ingress, smp, effects);
    case AttributeId::kVlArbitrationTable: return SetVlArbitration(ingress, smp, effects);
    case AttributeId::kSlToVlMappingTable: return SetSlToVl(ingress, smp, effects);
    case AttributeId::kLinearForwardingTable: return SetLft(smp, effects);
    case AttributeId::kMulticastForwardingTable: return SetMft(smp, effects);
    default: return wire::kStatusUnsupportedMethodAttribute;
  }
}

uint16_t SimDevice::SetPortInfo(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  const auto number = PortOfModifier(ingress, smp.modifier & ~wire::kSmSupportsExtendedSpeeds);
  if (!number) return wire::kStatusInvalidAttributeValue;
  PortInfo& registers = ports_[number->value()].info;
  const bool port0 = IsSwitch() && number->value() == 0;
  PortInfoSet set;
  set.kind = !IsSwitch()       ? PortKind::kCa
             : !port0          ? PortKind::kSwitchExternal
             : enhanced_port0_ ? PortKind::kEnhancedPort0
                               : PortKind::kBasePort0;
  set.extended_speeds = (smp.modifier & wire::kSmSupportsExtendedSpeeds) != 0;
  set.inbound_enforcement = switch_info_.inbound_enforcement_cap;
  set.outbound_enforcement = switch_info_.outbound_enforcement_cap;
  set.wanted = PortInfo::Decode(smp.data);
  if (odd_) {
    RestoreIgnored(registers, set.wanted);
    set.takes_parts = odd_->how.takes_parts;
  }

  const PortInfo before = registers;
  const PortInfoOutcome outcome = ApplyPortInfoSet(set, registers);
  if (outcome.status != wire::kStatusOk && !set.takes_parts) return outcome.status;
  const bool reregister = set.wanted.client_reregister && set.kind != PortKind::kSwitchExternal &&
                          (registers.capability_mask & wire::kCapIsClientReregister) != 0;
  effects.changed = registers != before || outcome.link.has_value() || reregister;
  if (outcome.link) effects.links.push_back({*number, *outcome.link});

  using Kind = mad::LocalPortEvent::Kind;
  effects.events_port = *number;
  if (registers.lid != before.lid || registers.lmc != before.lmc) {
    effects.events.push_back(Kind::kLidChange);
  }
  if (registers.master_sm_lid != before.master_sm_lid) effects.events.push_back(Kind::kSmChange);
  if (reregister) effects.events.push_back(Kind::kClientReregister);
  if (registers.port_state == PortState::kActive && before.port_state != PortState::kActive) {
    effects.events.push_back(Kind::kPortActive);
  }

  PortInfo answer = registers;
  answer.local_port = ingress;
  answer.client_reregister = reregister;  // o14-12.2.1: the response repeats the bit.
  if (outcome.link) {
    answer.port_state = PortState::kDown;
    answer.port_physical_state = *outcome.link;
  } else if (odd_ && odd_->how.answers_with_old_state) {
    answer.port_state = before.port_state;
  }
  answer.Encode(smp.data);
  return outcome.status;
}

uint16_t SimDevice::SetPortInfoExtended(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  const auto number = PortOfModifier(ingress, smp.modifier);
  if (!number) return wire::kStatusInvalidAttributeValue;
  const wire::PortInfoExtended wanted = wire::PortInfoExtended::Decode(smp.data);
  const wire::PortInfoExtended before = Fec(*number);
  if ((wanted.fdr_fec_mode_enabled & ~before.fdr_fec_mode_supported) != 0 ||
      (wanted.edr_fec_mode_enabled & ~before.edr_fec_mode_supported) != 0 ||
      (wanted.hdr_fec_mode_enabled & ~before.hdr_fec_mode_supported) != 0 ||
      (wanted.ndr_fec_mode_enabled & ~before.ndr_fec_mode_supported) != 0) {
    return wire::kStatusInvalidAttributeValue;
  }
  wire::PortInfoExtended after = before;
  after.fdr_fec_mode_enabled = wanted.fdr_fec_mode_enabled;
  after.edr_fec_mode_enabled = wanted.edr_fec_mode_enabled;
  after.hdr_fec_mode_enabled = wanted.hdr_fec_mode_enabled;
  after.ndr_fec_mode_enabled = wanted.ndr_fec_mode_enabled;
  if (after != before) {
    effects.changed = true;
    ports_[number->value()].extended = std::make_unique<wire::PortInfoExtended>(after);
  }
  after.Encode(smp.data);
  return wire::kStatusOk;
}

uint16_t SimDevice::SetSwitchInfo(wire::Smp& smp, SmaEffects& effects) {
  if (smp.modifier != 0) return wire::kStatusInvalidAttributeValue;
  const wire::SwitchInfo wanted = wire::SwitchInfo::Decode(smp.data);
  wire::SwitchInfo next = switch_info_;
  const auto is_port = [this](uint8_t port) {
    return port <= info_.num_ports || port == kLinearForwardingNoPath;
  };
  const bool multicast_top_fits =
      wanted.multicast_fdb_top == next.multicast_fdb_top ||
      wanted.multicast_fdb_top == kNoMulticast ||
      (wanted.multicast_fdb_top >= kFirstMulticastLid &&
       wanted.multicast_fdb_top - kFirstMulticastLid < next.multicast_fdb_cap);
  if (wanted.linear_fdb_top >= next.linear_fdb_cap || !multicast_top_fits ||
      !is_port(wanted.default_port) || !is_port(wanted.default_multicast_primary_port) ||
      !is_port(wanted.default_multicast_not_primary_port)) {
    return wire::kStatusInvalidAttributeValue;
  }
  if (!odd_ || !odd_->how.ignores_linear_fdb_top) next.linear_fdb_top = wanted.linear_fdb_top;
  next.multicast_fdb_top = wanted.multicast_fdb_top;
  next.life_time_value = wanted.life_time_value;
  next.default_port = wanted.default_port;
  next.default_multicast_primary_port = wanted.default_multicast_primary_port;
  next.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
  if (wanted.port_state_change) next.port_state_change = false;
  effects.changed = switch_info_ != next;
  switch_info_ = next;
  next.Encode(smp.data);
  return wire::kStatusOk;
}

}  // namespace fabricd::sim
