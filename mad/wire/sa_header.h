// SPDX-License-Identifier: Apache-2.0
// The headers in front of an SA attribute: the RMPP header (IBA vol 1 §13.6.2.1) and the SA's own
// (§15.2.1.1). Host-order values; the records are in sa_records.h and
// sa_path_records.h.
#pragma once

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

inline constexpr size_t kSaDataAt = 56;
inline constexpr size_t kSaDataBytes = kMadBytes - kSaDataAt;

// Attributes of the subnet administration class (IBA vol 1 §15.2.5, table 188). They share numbers
// with AttributeId but not meanings.
enum class SaAttribute : uint16_t {
  kClassPortInfo = 0x0001,
  kNotice = 0x0002,
  kInformInfo = 0x0003,
  kNodeRecord = 0x0011,
  kPortInfoRecord = 0x0012,
  kSlToVlMappingTableRecord = 0x0013,
  kSwitchInfoRecord = 0x0014,
  kLinearForwardingTableRecord = 0x0015,
  kMulticastForwardingTableRecord = 0x0017,
  kSmInfoRecord = 0x0018,
  kLinkRecord = 0x0020,
  kGuidInfoRecord = 0x0030,
  kServiceRecord = 0x0031,
  kPKeyTableRecord = 0x0033,
  kPathRecord = 0x0035,
  kVlArbitrationTableRecord = 0x0036,
  kMcMemberRecord = 0x0038,
  kTraceRecord = 0x0039,
  kMultiPathRecord = 0x003A,
  kInformInfoRecord = 0x00F3,
};

inline constexpr uint8_t kSaClassVersion = 2;

// The class-specific byte of MADHeader.Status (§15.2.3, table 187).
inline constexpr uint16_t kSaStatusNoResources = 0x0100;
inline constexpr uint16_t kSaStatusRequestInvalid = 0x0200;
inline constexpr uint16_t kSaStatusNoRecords = 0x0300;
inline constexpr uint16_t kSaStatusTooManyRecords = 0x0400;
inline constexpr uint16_t kSaStatusRequestInvalidGid = 0x0500;
inline constexpr uint16_t kSaStatusInsufficientComponents = 0x0600;
inline constexpr uint16_t kSaStatusRequestDenied = 0x0700;

// RMPPType.
enum class RmppType : uint8_t { kNone = 0, kData = 1, kAck = 2, kStop = 3, kAbort = 4 };

// RMPPFlags.
inline constexpr uint8_t kRmppActive = 1u << 0;
inline constexpr uint8_t kRmppFirst = 1u << 1;
inline constexpr uint8_t kRmppLast = 1u << 2;

struct RmppHeader {
  uint8_t version = 0;  // 1 where RMPP is in use; else the whole header is 0.
  RmppType type = RmppType::kNone;
  uint8_t response_time_value = 0;  // 5 bits, 4.096 us * 2^n; 0x1F: none given.
  uint8_t flags = 0;                // 3 bits
  uint8_t status = 0;
  uint32_t data1 = 0;  // SegmentNumber of DATA and ACK.
  uint32_t data2 = 0;  // PayloadLength of DATA in bytes, NewWindowLast of ACK.
  friend bool operator==(const RmppHeader&, const RmppHeader&) = default;
};

struct SaHeader {
  MadHeader
      mad;  // Its attribute is one of SA: the numbers mean other things than AttributeId names.
  RmppHeader rmpp;
  SmKey sm_key;
  uint16_t attribute_offset = 0;  // Distance of two records in units of 8 bytes; 0: not a table.
  uint64_t component_mask = 0;    // Bit 0 = first component of the record.

  SaAttribute attribute() const {
    return static_cast<SaAttribute>(static_cast<uint16_t>(mad.attribute));
  }

  static SaHeader Decode(std::span<const uint8_t, kMadBytes> bytes);
  void Encode(std::span<uint8_t, kMadBytes> bytes) const;  // Writes the first 56 bytes.
  friend bool operator==(const SaHeader&, const SaHeader&) = default;
};

}  // namespace fabricd::wire
