// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/port_info.h"

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

// The bits of PortInfo that no field names: below M_KeyProtectBits, above RespTimeValue, above
// LinkSpeedExtActive2 and above LinkSpeedExtEnabled.
struct ReservedBits {
  size_t at;
  uint8_t mask;
};
constexpr ReservedBits kReserved[] = {{34, 0x38}, {52, 0xE0}, {56, 0x80}, {63, 0xE0}};

void DecodeIdentity(const uint8_t* at, PortInfo& info) {
  info.m_key = MKey(Load64(at));
  info.gid_prefix = Load64(at + 8);
  info.lid = Lid(Load16(at + 16));
  info.master_sm_lid = Lid(Load16(at + 18));
  info.capability_mask = Load32(at + 20);
  info.diag_code = Load16(at + 24);
  info.m_key_lease_period = Load16(at + 26);
  info.local_port = PortNum(at[28]);
}

void DecodeLink(const uint8_t* at, PortInfo& info) {
  info.link_width_enabled = at[29];
  info.link_width_supported = at[30];
  info.link_width_active = at[31];
  info.link_speed_supported = Bits(at[32], 4, 4);
  info.port_state = static_cast<PortState>(Bits(at[32], 0, 4));
  info.port_physical_state = static_cast<PortPhysicalState>(Bits(at[33], 4, 4));
  info.link_down_default_state = static_cast<LinkDownDefaultState>(Bits(at[33], 0, 4));
  info.m_key_protect_bits = Bits(at[34], 6, 2);
  info.lmc = Bits(at[34], 0, 3);
  info.link_speed_active = Bits(at[35], 4, 4);
  info.link_speed_enabled = Bits(at[35], 0, 4);
  info.neighbor_mtu = Bits(at[36], 4, 4);
  info.master_sm_sl = Bits(at[36], 0, 4);
}

void DecodeLanes(const uint8_t* at, PortInfo& info) {
  info.vl_cap = Bits(at[37], 4, 4);
  info.init_type = Bits(at[37], 0, 4);
  info.vl_high_limit = at[38];
  info.vl_arb_high_cap = at[39];
  info.vl_arb_low_cap = at[40];
  info.init_type_reply = Bits(at[41], 4, 4);
  info.mtu_cap = Bits(at[41], 0, 4);
  info.vl_stall_count = Bits(at[42], 5, 3);
  info.hoq_life = Bits(at[42], 0, 5);
  info.operational_vls = Bits(at[43], 4, 4);
  info.partition_enforcement_inbound = Bits(at[43], 3, 1) != 0;
  info.partition_enforcement_outbound = Bits(at[43], 2, 1) != 0;
  info.filter_raw_inbound = Bits(at[43], 1, 1) != 0;
  info.filter_raw_outbound = Bits(at[43], 0, 1) != 0;
}

void DecodeRest(const uint8_t* at, PortInfo& info) {
  info.m_key_violations = Load16(at + 44);
  info.p_key_violations = Load16(at + 46);
  info.q_key_violations = Load16(at + 48);
  info.guid_cap = at[50];
  info.client_reregister = Bits(at[51], 7, 1) != 0;
  info.multicast_pkey_trap_suppression = Bits(at[51], 5, 2);
  info.subnet_timeout = Bits(at[51], 0, 5);
  info.resp_time_value = Bits(at[52], 0, 5);
  info.local_phy_errors = Bits(at[53], 4, 4);
  info.overrun_errors = Bits(at[53], 0, 4);
  info.max_credit_hint = Load16(at + 54);
  info.link_speed_ext_active2 = Bits(at[56], 5, 2);
  info.link_speed_ext_supported2 = Bits(at[56], 3, 2);
  info.link_speed_ext_enabled2 = Bits(at[56], 0, 3);
  info.link_round_trip_latency = Load24(at + 57);
  info.capability_mask2 = Load16(at + 60);
  info.link_speed_ext_active = Bits(at[62], 4, 4);
  info.link_speed_ext_supported = Bits(at[62], 0, 4);
  info.link_speed_ext_enabled = Bits(at[63], 0, 5);
}

void EncodeLink(const PortInfo& info, uint8_t* at) {
  at[29] = info.link_width_enabled;
  at[30] = info.link_width_supported;
  at[31] = info.link_width_active;
  at[32] = PlaceBits(info.link_speed_supported, 4, 4) |
           PlaceBits(static_cast<uint8_t>(info.port_state), 0, 4);
  at[33] = PlaceBits(static_cast<uint8_t>(info.port_physical_state), 4, 4) |
           PlaceBits(static_cast<uint8_t>(info.link_down_default_state), 0, 4);
  at[34] = PlaceBits(info.m_key_protect_bits, 6, 2) | PlaceBits(info.lmc, 0, 3);
  at[35] = PlaceBits(info.link_speed_active, 4, 4) | PlaceBits(info.link_speed_enabled, 0, 4);
  at[36] = PlaceBits(info.neighbor_mtu, 4, 4) | PlaceBits(info.master_sm_sl, 0, 4);
}

void EncodeLanes(const PortInfo& info, uint8_t* at) {
  at[37] = PlaceBits(info.vl_cap, 4, 4) | PlaceBits(info.init_type, 0, 4);
  at[38] = info.vl_high_limit;
  at[39] = info.vl_arb_high_cap;
  at[40] = info.vl_arb_low_cap;
  at[41] = PlaceBits(info.init_type_reply, 4, 4) | PlaceBits(info.mtu_cap, 0, 4);
  at[42] = PlaceBits(info.vl_stall_count, 5, 3) | PlaceBits(info.hoq_life, 0, 5);
  at[43] = PlaceBits(info.operational_vls, 4, 4) |
           PlaceBits(info.partition_enforcement_inbound, 3, 1) |
           PlaceBits(info.partition_enforcement_outbound, 2, 1) |
           PlaceBits(info.filter_raw_inbound, 1, 1) | PlaceBits(info.filter_raw_outbound, 0, 1);
}

void EncodeRest(const PortInfo& info, uint8_t* at) {
  Store16(at + 44, info.m_key_violations);
  Store16(at + 46, info.p_key_violations);
  Store16(at + 48, info.q_key_violations);
  at[50] = info.guid_cap;
  at[51] = PlaceBits(info.client_reregister, 7, 1) |
           PlaceBits(info.multicast_pkey_trap_suppression, 5, 2) |
           PlaceBits(info.subnet_timeout, 0, 5);
  at[52] = PlaceBits(info.resp_time_value, 0, 5);
  at[53] = PlaceBits(info.local_phy_errors, 4, 4) | PlaceBits(info.overrun_errors, 0, 4);
  Store16(at + 54, info.max_credit_hint);
  at[56] = PlaceBits(info.link_speed_ext_active2, 5, 2) |
           PlaceBits(info.link_speed_ext_supported2, 3, 2) |
           PlaceBits(info.link_speed_ext_enabled2, 0, 3);
  Store24(at + 57, info.link_round_trip_latency);
  Store16(at + 60, info.capability_mask2);
  at[62] =
      PlaceBits(info.link_speed_ext_active, 4, 4) | PlaceBits(info.link_speed_ext_supported, 0, 4);
  at[63] = PlaceBits(info.link_speed_ext_enabled, 0, 5);
}

// The fastest speed of a set of LinkSpeed*, LinkSpeedExt* and LinkSpeedExt*2 bits (IBA vol 1
// §14.2.5.6). A single active code is such a set too. An unknown bit above a known one wins: the
// link is then faster than anything that has a name here.
LinkSpeed Fastest(uint8_t speed, uint8_t ext, uint8_t ext2) {
  if (ext2 != 0) return ext2 == 1 ? LinkSpeed::kXdr : LinkSpeed::kUnknown;
  if (ext & 8) return LinkSpeed::kNdr;
  if (ext & 4) return LinkSpeed::kHdr;
  if (ext & 2) return LinkSpeed::kEdr;
  if (ext & 1) return LinkSpeed::kFdr;
  if (speed & 8) return LinkSpeed::kUnknown;
  if (speed & 4) return LinkSpeed::kQdr;
  if (speed & 2) return LinkSpeed::kDdr;
  if (speed & 1) return LinkSpeed::kSdr;
  return LinkSpeed::kUnknown;
}

// Lanes of one LinkWidth bit; the bits are not in order of width.
struct WidthBit {
  uint8_t bit;
  int lanes;
};
constexpr WidthBit kWidthsFastestFirst[] = {{8, 12}, {4, 8}, {2, 4}, {16, 2}, {1, 1}};

BitRate RateOfLane(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::kUnknown: break;
    case LinkSpeed::kSdr: return {2.5, 2, 2.5};
    case LinkSpeed::kDdr: return {5, 4, 5};
    case LinkSpeed::kQdr: return {10, 8, 10};
    case LinkSpeed::kFdr10: return {10, 10, 10.3125};
    case LinkSpeed::kFdr: return {14, 13.63636, 14.0625};
    case LinkSpeed::kEdr: return {25, 25, 25.78125};
    case LinkSpeed::kHdr: return {50, 50, 53.125};
    case LinkSpeed::kNdr: return {100, 100, 106.25};
    case LinkSpeed::kXdr: return {200, 200, 212.5};
  }
  return {};
}

}  // namespace

int MtuBytes(uint8_t code) { return code >= 1 && code <= 5 ? 128 << code : 0; }

int DataVls(uint8_t code) {
  switch (code) {
    case 1: return 1;
    case 2: return 2;
    case 3: return 4;
    case 4: return 8;
    case 5: return 15;
    default: return 0;
  }
}

PortInfo PortInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  PortInfo info;
  DecodeIdentity(data.data(), info);
  DecodeLink(data.data(), info);
  DecodeLanes(data.data(), info);
  DecodeRest(data.data(), info);
  for (const ReservedBits& bits : kReserved) info.reserved[bits.at] = data[bits.at] & bits.mask;
  return info;
}

void PortInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  uint8_t* at = data.data();
  Store64(at, m_key.value());
  Store64(at + 8, gid_prefix);
  Store16(at + 16, lid.value());
  Store16(at + 18, master_sm_lid.value());
  Store32(at + 20, capability_mask);
  Store16(at + 24, diag_code);
  Store16(at + 26, m_key_lease_period);
  at[28] = local_port.value();
  EncodeLink(*this, at);
  EncodeLanes(*this, at);
  EncodeRest(*this, at);
  for (const ReservedBits& bits : kReserved) at[bits.at] |= reserved[bits.at] & bits.mask;
}

LinkSpeed ActiveSpeed(const PortInfo& info) {
  return Fastest(info.link_speed_active, info.link_speed_ext_active, info.link_speed_ext_active2);
}

LinkSpeed BestSupportedSpeed(const PortInfo& info) {
  return Fastest(info.link_speed_supported, info.link_speed_ext_supported,
                 info.link_speed_ext_supported2);
}

int ActiveWidth(const PortInfo& info) {
  for (const WidthBit& width : kWidthsFastestFirst) {
    if (info.link_width_active == width.bit) return width.lanes;
  }
  return 0;
}

int BestSupportedWidth(const PortInfo& info) {
  for (const WidthBit& width : kWidthsFastestFirst) {
    if (info.link_width_supported & width.bit) return width.lanes;
  }
  return 0;
}

std::string_view SpeedName(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::kUnknown: break;
    case LinkSpeed::kSdr: return "SDR";
    case LinkSpeed::kDdr: return "DDR";
    case LinkSpeed::kQdr: return "QDR";
    case LinkSpeed::kFdr10: return "FDR10";
    case LinkSpeed::kFdr: return "FDR";
    case LinkSpeed::kEdr: return "EDR";
    case LinkSpeed::kHdr: return "HDR";
    case LinkSpeed::kNdr: return "NDR";
    case LinkSpeed::kXdr: return "XDR";
  }
  return "unknown";
}

BitRate RateOf(LinkSpeed speed, int physical_lanes) {
  BitRate rate = RateOfLane(speed);
  for (double* gigabits : {&rate.nominal, &rate.data, &rate.signal}) *gigabits *= physical_lanes;
  return rate;
}

std::string_view PortStateName(PortState state) {
  switch (state) {
    case PortState::kNoChange: break;
    case PortState::kDown: return "DOWN";
    case PortState::kInit: return "INIT";
    case PortState::kArmed: return "ARMED";
    case PortState::kActive: return "ACTIVE";
  }
  return "unknown";
}

std::string_view PortPhysicalStateName(PortPhysicalState state) {
  switch (state) {
    case PortPhysicalState::kNoChange: break;
    case PortPhysicalState::kSleep: return "Sleep";
    case PortPhysicalState::kPolling: return "Polling";
    case PortPhysicalState::kDisabled: return "Disabled";
    case PortPhysicalState::kTraining: return "PortConfigurationTraining";
    case PortPhysicalState::kLinkUp: return "LinkUp";
    case PortPhysicalState::kErrorRecovery: return "LinkErrorRecovery";
    case PortPhysicalState::kPhyTest: return "PhyTest";
  }
  return "unknown";
}

}  // namespace fabricd::wire
