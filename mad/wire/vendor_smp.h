// SPDX-License-Identifier: Apache-2.0
// NVIDIA's attributes of the subnet management class, as far as they are public: GeneralInfo (what
// the device can do), ExtPortInfo, ARInfo. Layouts: reference/telemetry-and-adaptive.md §2.4, §3.1
// and reference/peers.md §2.2. Only Gets are sent: the encoders are for simulated devices.
//
// GeneralInfo comes first: no device is sent a request for an attribute that it has no capability
// of.
#pragma once

#include "mad/wire/mad_header.h"
#include "mad/wire/vendor_mad.h"

namespace fabricd::wire {

// The number of these attributes; they are no AttributeId of the IBA.
constexpr AttributeId VendorAttributeId(uint16_t number) {
  return static_cast<AttributeId>(number);
}

// Whether nodes of this vendor have these attributes: numbers from 0xFF00 on and class 0x0A mean
// other things to other vendors. Voltaire's switches have the same silicon.
constexpr bool HasNvidiaSmps(uint32_t vendor_id) {
  return vendor_id == 0x0002C9 || vendor_id == 0x0008F1;
}

// Switches whose public documents describe adaptive routing, by the device ids of SwitchX,
// Switch-IB, Switch-IB 2 and Quantum to Quantum-3. Others may drop an SMP that they do not know,
// which costs timeouts.
constexpr bool IsAdaptiveSwitch(uint32_t vendor_id, uint16_t device_id) {
  switch (device_id) {
    case 0xC738:
    case 0xCB20:
    case 0xCF08:
    case 0xD2F0:
    case 0xD2F2:
    case 0xD2F4: return HasNvidiaSmps(vendor_id);
    default: return false;
  }
}

// Capability bits of a node. What adaptive routing needs is another bit on a switch (below) than on
// an HCA (out-of-order delivery).
struct GeneralInfo {
  static constexpr AttributeId kAttribute = VendorAttributeId(0xFF17);
  static constexpr uint32_t kModifier = 4;  // Selects the capability bits.
  enum class Capability : uint8_t {
    kPrivateLft = 0,
    kAdaptiveRouting = 1,
    kAdaptiveRoutingRev1 = 2,
    kTemperature = 4,
    kCableInfo = 6,
    kExtPortInfo = 9,
    kAccessRegister = 10,
    kPortSlToPrivateLft = 12,
    kExtendedNodeInfo = 13,
    kVirtualization = 15,
    kSharp = 18,
    kSpecialPortMarking = 21,
    kVPortGuidInfo = 22,
    kForcePrivateLftSubGroup0 = 23,
    kSlRateLimit = 24,
    kGlobalOutOfOrder30 = 30,  // Two bits of one name: how they differ is not public.
    kAdditionalMadStatus = 31,
    kCongestionControl = 44,
    kAdaptiveTimeout = 45,
    kClassEnable = 46,
    kRouterLid = 48,
    kFastRecovery = 52,
    kCreditWatchdog = 53,
    kContainAndDrain = 59,
    kBerConfig = 61,
    kGlobalOutOfOrder62 = 62,
    kBandwidthUtilisation = 66,
    kExtendedSwitchInfo = 67,
    kUnhealthyReason = 69,
    kPortRecoveryPolicy = 76,
    kMultiPlaneAsymmetry = 78,
    kLinkAutoRetrain = 81,
  };
  CapabilityBits<Capability> capabilities;

  // Firmware of Quantum-2 sets the second bit only.
  bool HasAdaptiveRouting() const {
    return capabilities.Has(Capability::kAdaptiveRouting) ||
           capabilities.Has(Capability::kAdaptiveRoutingRev1);
  }

  static GeneralInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const GeneralInfo&, const GeneralInfo&) = default;
};

// What PortInfo does not have. AttributeModifier: the port. Only fields whose place and meaning are
// public; the special port's type and the SL masks are not among them.
struct ExtPortInfo {
  static constexpr AttributeId kAttribute = VendorAttributeId(0xFF90);
  // Bit of the link speeds. PortInfo shows such a link as QDR.
  static constexpr uint8_t kSpeedFdr10 = 1u << 0;
  // Bits of capability_mask.
  static constexpr uint16_t kDualMKey = 1u << 9;
  // What the device itself holds against its port; where Capability::kUnhealthyReason is set.
  enum class UnhealthyReason : uint8_t {
    kUnknown = 0,
    kNone = 1,
    kCreditWatchdog = 2,
    kSymmetry = 3,
    kRawBer = 4,
    kEffectiveBer = 5,
    kSymbolBer = 6,
    kContainAndDrain = 8,
  };
  bool sharp_enable = false;
  bool router_lid_enable = false;
  bool port_recovered = false;
  uint8_t state_change_enable = 0;
  uint16_t bandwidth_utilisation = 0;
  UnhealthyReason unhealthy_reason = UnhealthyReason::kUnknown;
  uint8_t link_speed_supported = 0;
  uint8_t link_speed_enabled = 0;
  uint8_t link_speed_active = 0;
  uint16_t capability_mask = 0;

  static ExtPortInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const ExtPortInfo&, const ExtPortInfo&) = default;
};
std::string_view UnhealthyReasonName(ExtPortInfo::UnhealthyReason reason);  // "raw BER"

// Adaptive routing of a switch, as it is set up now. AttributeModifier 0; the flag that asks for
// the capabilities instead is not public.
struct ArInfo {
  static constexpr AttributeId kAttribute = VendorAttributeId(0xFF20);
  // Bits of features_supported, then of features_enabled.
  static constexpr uint8_t kPfrnSupported = 1u << 1;
  static constexpr uint8_t kByVlSupported = 1u << 2;
  static constexpr uint8_t kBthDqpHashSupported = 1u << 3;
  static constexpr uint8_t kDcethHashSupported = 1u << 4;
  static constexpr uint8_t kSymmetricHashSupported = 1u << 5;
  static constexpr uint8_t kWeightedHbfSupported = 1u << 6;
  static constexpr uint8_t kHbfSupported = 1u << 7;
  static constexpr uint8_t kPfrnEnabled = 1u << 4;
  static constexpr uint8_t kByVlEnabled = 1u << 5;
  static constexpr uint8_t kWeightedHbfEnabled = 1u << 6;
  static constexpr uint8_t kHbfEnabled = 1u << 7;
  // Bits of by_transport_disable.
  static constexpr uint8_t kDisableUd = 1u << 0;
  static constexpr uint8_t kDisableRc = 1u << 1;
  static constexpr uint8_t kDisableUc = 1u << 2;
  static constexpr uint8_t kDisableDc = 1u << 3;

  bool no_fallback = false;
  bool is4_mode = false;
  bool global_groups = false;
  bool by_sl_supported = false;
  bool by_sl_enabled = false;
  bool by_transport_supported = false;
  bool dynamic_capability = false;
  uint8_t directions_supported = 0;
  uint8_t group_table_copy_supported = 0;  // 4 bits
  uint8_t sub_groups_active = 0;           // 4 bits
  bool enabled = false;
  bool arn_supported = false;  // Notices of congestion.
  bool frn_supported = false;  // Notices of faults.
  bool fast_recovery_supported = false;
  bool fast_recovery_enabled = false;
  bool notices_enabled = false;
  uint8_t string_width_cap = 0;  // 4 bits
  uint8_t group_table_cap = 0;   // 4 bits
  uint16_t group_top = 0;        // 12 bits: the highest group in use.
  uint16_t group_cap = 0;        // 12 bits
  uint16_t enabled_sl_mask = 0;
  uint8_t sub_groups_supported = 0;
  uint8_t notice_version = 0;  // 4 bits
  uint8_t version = 0;         // 4 bits
  uint8_t by_transport_disable = 0;
  uint32_t ageing_time = 0;  // Microseconds.
  uint8_t features_supported = 0;
  uint8_t features_enabled = 0;
  uint8_t weighted_hbf_granularity = 0;
  uint16_t hbf_sl_mask = 0;

  static ArInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const ArInfo&, const ArInfo&) = default;
};

}  // namespace fabricd::wire
