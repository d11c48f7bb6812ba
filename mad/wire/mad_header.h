// SPDX-License-Identifier: Apache-2.0
// The common MAD header and its constants (IBA vol 1 §13.4.2-13.4.7). Host-order values here,
// network bytes only inside the .cc files of mad/wire.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/ids.h"

namespace fabricd::wire {

inline constexpr size_t kMadBytes = 256;
inline constexpr size_t kSmpDataBytes = 64;
using MadBytes = std::array<uint8_t, kMadBytes>;
using SmpData = std::array<uint8_t, kSmpDataBytes>;

// IBA vol 1 §13.4.4, table 103.
enum class ManagementClass : uint8_t {
  kSubnLidRouted = 0x01,
  kSubnDirectedRoute = 0x81,
  kSubnAdm = 0x03,
  kPerf = 0x04,
  kVendor = 0x0A,  // NVIDIA's, of the range for vendors: vendor_mad.h.
};

// IBA vol 1 §13.4.5, table 104. Responses carry bit 7.
enum class Method : uint8_t {
  kGet = 0x01,
  kSet = 0x02,
  kSend = 0x03,
  kTrap = 0x05,
  kReport = 0x06,
  kTrapRepress = 0x07,
  kGetTable = 0x12,
  kGetTraceTable = 0x13,
  kGetMulti = 0x14,
  kDelete = 0x15,
  kGetResp = 0x81,
  kReportResp = 0x86,
  kGetTableResp = 0x92,
  kGetMultiResp = 0x94,
  kDeleteResp = 0x95,
};
inline constexpr uint8_t kResponseBit = 0x80;

// Attributes of the subnet management class (IBA vol 1 §14.2.5).
enum class AttributeId : uint16_t {
  kNone = 0x0000,
  kClassPortInfo = 0x0001,
  kNotice = 0x0002,
  kInformInfo = 0x0003,
  kNodeDescription = 0x0010,
  kNodeInfo = 0x0011,
  kSwitchInfo = 0x0012,
  kGuidInfo = 0x0014,
  kPortInfo = 0x0015,
  kPKeyTable = 0x0016,
  kSlToVlMappingTable = 0x0017,
  kVlArbitrationTable = 0x0018,
  kLinearForwardingTable = 0x0019,
  kRandomForwardingTable = 0x001A,
  kMulticastForwardingTable = 0x001B,
  kSmInfo = 0x0020,
  kPortInfoExtended = 0x0033,
  kSwitchPortStateTable = 0x0034,
};
// "PortInfo". Empty: it has none.
constexpr std::string_view SpecificationName(AttributeId attribute) {
  switch (attribute) {
    case AttributeId::kNone: break;
    case AttributeId::kClassPortInfo: return "ClassPortInfo";
    case AttributeId::kNotice: return "Notice";
    case AttributeId::kInformInfo: return "InformInfo";
    case AttributeId::kNodeDescription: return "NodeDescription";
    case AttributeId::kNodeInfo: return "NodeInfo";
    case AttributeId::kSwitchInfo: return "SwitchInfo";
    case AttributeId::kGuidInfo: return "GUIDInfo";
    case AttributeId::kPortInfo: return "PortInfo";
    case AttributeId::kPKeyTable: return "P_KeyTable";
    case AttributeId::kSlToVlMappingTable: return "SLtoVLMappingTable";
    case AttributeId::kVlArbitrationTable: return "VLArbitrationTable";
    case AttributeId::kLinearForwardingTable: return "LinearForwardingTable";
    case AttributeId::kRandomForwardingTable: return "RandomForwardingTable";
    case AttributeId::kMulticastForwardingTable: return "MulticastForwardingTable";
    case AttributeId::kSmInfo: return "SMInfo";
    case AttributeId::kPortInfoExtended: return "PortInfoExtended";
    case AttributeId::kSwitchPortStateTable: return "SwitchPortStateTable";
  }
  return {};
}

// Low byte of MADHeader.Status (IBA vol 1 §13.4.7, table 105): bit 0 busy, bit 1 redirect, bits 2-4
// a code.
inline constexpr uint16_t kStatusOk = 0x0000;
inline constexpr uint16_t kStatusBusy = 0x0001;
inline constexpr uint16_t kStatusRedirect = 0x0002;
inline constexpr uint16_t kStatusBadVersion = 0x0004;
inline constexpr uint16_t kStatusUnsupportedMethod = 0x0008;
inline constexpr uint16_t kStatusUnsupportedMethodAttribute = 0x000C;
inline constexpr uint16_t kStatusInvalidAttributeValue = 0x001C;

struct MadHeader {
  uint8_t base_version = 1;
  ManagementClass management_class{};
  uint8_t class_version = 1;
  Method method{};
  uint16_t status = 0;          // Bit 15 is the D bit of a directed-route SMP; see smp.h.
  uint16_t class_specific = 0;  // Hop pointer and hop count of a directed-route SMP.
  uint64_t transaction_id = 0;
  AttributeId attribute{};
  uint32_t modifier = 0;

  bool IsResponse() const {
    return (static_cast<uint8_t>(method) & kResponseBit) != 0 || method == Method::kTrapRepress;
  }
  TransactionId tid() const { return TransactionId(static_cast<uint32_t>(transaction_id)); }

  static MadHeader Decode(std::span<const uint8_t, kMadBytes> bytes);
  void Encode(std::span<uint8_t, kMadBytes> bytes) const;  // Writes the first 24 bytes.
  friend bool operator==(const MadHeader&, const MadHeader&) = default;
};

// Specification names, for logs and statistics, of attributes of the subnet management class and of
// methods: "PortInfo", "GetResp". Vendors' attributes by number ("0xFF90"), all others "unknown".
std::string_view AttributeName(AttributeId attribute);
std::string_view MethodName(Method method);

}  // namespace fabricd::wire
