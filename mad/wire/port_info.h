// SPDX-License-Identifier: Apache-2.0
// PortInfo (IBA vol 1 §14.2.5.6), with extended speeds and CapabilityMask2. A Set repeats what was
// last read with only the wanted fields changed, so every field is kept, read-only ones too.
#pragma once

#include <optional>
#include <string>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

enum class PortState : uint8_t { kNoChange = 0, kDown = 1, kInit = 2, kArmed = 3, kActive = 4 };
enum class PortPhysicalState : uint8_t {
  kNoChange = 0,
  kSleep = 1,
  kPolling = 2,
  kDisabled = 3,
  kTraining = 4,
  kLinkUp = 5,
  kErrorRecovery = 6,
  kPhyTest = 7,
};
enum class LinkDownDefaultState : uint8_t { kNoChange = 0, kSleep = 1, kPolling = 2 };

// Bits of CapabilityMask that we use (host order, bit 0 = lowest).
inline constexpr uint32_t kCapIsSm = 1u << 1;
inline constexpr uint32_t kCapIsNotice = 1u << 2;
inline constexpr uint32_t kCapIsTrap = 1u << 3;
inline constexpr uint32_t kCapIsExtendedSpeeds = 1u << 14;
inline constexpr uint32_t kCapIsCapabilityMask2 = 1u << 15;
inline constexpr uint32_t kCapIsClientReregister = 1u << 25;
inline constexpr uint32_t kCapIsMulticastFdbTop = 1u << 30;
// Bits of CapabilityMask2.
inline constexpr uint16_t kCap2IsPortInfoExtended = 1u << 1;
inline constexpr uint16_t kCap2IsSwitchPortStateTable = 1u << 3;
inline constexpr uint16_t kCap2IsLinkWidth2x = 1u << 4;
inline constexpr uint16_t kCap2IsLinkSpeedHdr = 1u << 5;
inline constexpr uint16_t kCap2IsLinkSpeedNdr = 1u << 10;
inline constexpr uint16_t kCap2IsExtendedSpeeds2 = 1u << 11;
inline constexpr uint16_t kCap2IsLinkSpeedXdr = 1u << 12;

// AttributeModifier of PortInfo: the port, bit 31 = SMSupportExtendedSpeeds.
inline constexpr uint32_t kSmSupportsExtendedSpeeds = 1u << 31;

// MTU codes of the specification: 1 = 256 … 5 = 4096 bytes. 0 for an unknown code.
int MtuBytes(uint8_t code);
// VLCap / OperationalVLs codes: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14, as a count of data VLs.
// 0 for an unknown code.
int DataVls(uint8_t code);

struct PortInfo {
  static constexpr AttributeId kAttribute = AttributeId::kPortInfo;
  MKey m_key;
  uint64_t gid_prefix = 0;
  Lid lid;
  Lid master_sm_lid;
  uint32_t capability_mask = 0;
  uint16_t diag_code = 0;
  uint16_t m_key_lease_period = 0;  // seconds
  PortNum local_port;
  uint8_t link_width_enabled = 0;
  uint8_t link_width_supported = 0;
  uint8_t link_width_active = 0;
  uint8_t link_speed_supported = 0;
  PortState port_state = PortState::kNoChange;
  PortPhysicalState port_physical_state = PortPhysicalState::kNoChange;
  LinkDownDefaultState link_down_default_state = LinkDownDefaultState::kNoChange;
  uint8_t m_key_protect_bits = 0;
  uint8_t lmc = 0;
  uint8_t link_speed_active = 0;
  uint8_t link_speed_enabled = 0;
  uint8_t neighbor_mtu = 0;
  uint8_t master_sm_sl = 0;
  uint8_t vl_cap = 0;
  uint8_t init_type = 0;
  uint8_t vl_high_limit = 0;
  uint8_t vl_arb_high_cap = 0;
  uint8_t vl_arb_low_cap = 0;
  uint8_t init_type_reply = 0;
  uint8_t mtu_cap = 0;
  uint8_t vl_stall_count = 0;
  uint8_t hoq_life = 0;
  uint8_t operational_vls = 0;
  bool partition_enforcement_inbound = false;
  bool partition_enforcement_outbound = false;
  bool filter_raw_inbound = false;
  bool filter_raw_outbound = false;
  uint16_t m_key_violations = 0;
  uint16_t p_key_violations = 0;
  uint16_t q_key_violations = 0;
  uint8_t guid_cap = 0;
  bool client_reregister = false;
  uint8_t multicast_pkey_trap_suppression = 0;  // 2 bits
  uint8_t subnet_timeout = 0;                   // 4.096 us * 2^n
  uint8_t resp_time_value = 0;
  uint8_t local_phy_errors = 0;
  uint8_t overrun_errors = 0;
  uint16_t max_credit_hint = 0;
  // XDR and faster; valid with CapabilityMask2.IsExtendedSpeeds2. 1 = XDR.
  uint8_t link_speed_ext_active2 = 0;     // 2 bits
  uint8_t link_speed_ext_supported2 = 0;  // 2 bits
  uint8_t link_speed_ext_enabled2 = 0;    // 3 bits
  uint32_t link_round_trip_latency = 0;   // 24 bits
  uint16_t capability_mask2 = 0;
  uint8_t link_speed_ext_active = 0;
  uint8_t link_speed_ext_supported = 0;
  uint8_t link_speed_ext_enabled = 0;
  // Bits of the 64 bytes that no field above names, in place, so that a Set returns them as read.
  SmpData reserved{};

  static PortInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const PortInfo&, const PortInfo&) = default;
};

// What a link runs at, from the fields of one end. The fastest field that is set decides: an
// extended speed wins over LinkSpeedActive, which devices leave at QDR or 0. No capability mask is
// consulted: a switch's external ports have none of their own. FDR10 is a vendor's
// (ExtendedPortInfo, 0xFF90) and shows as QDR here; kFdr10 is for those who read that attribute.
// Codes without a name give kUnknown.
enum class LinkSpeed : uint8_t { kUnknown, kSdr, kDdr, kQdr, kFdr10, kFdr, kEdr, kHdr, kNdr, kXdr };
LinkSpeed ActiveSpeed(const PortInfo& info);
LinkSpeed BestSupportedSpeed(const PortInfo& info);
int ActiveWidth(const PortInfo& info);         // lanes: 1, 2, 4, 8, 12; 0 unknown
int BestSupportedWidth(const PortInfo& info);  // lanes
std::string_view SpeedName(LinkSpeed speed);   // "SDR" … "XDR", "unknown"
// Of a link, one direction, in Gb/s; zeros where speed or width is unknown.
struct BitRate {
  double nominal = 0;  // As PathRecord.Rate counts it: 4x EDR is 100.
  double data = 0;     // Without the encoding: 4x QDR carries 32 of its 40.
  double signal = 0;   // With it.
};
BitRate RateOf(LinkSpeed speed, int physical_lanes);
std::string_view PortStateName(PortState state);                  // "INIT", or "unknown"
std::string_view PortPhysicalStateName(PortPhysicalState state);  // "LinkUp"

}  // namespace fabricd::wire
