// SPDX-License-Identifier: Apache-2.0
// The records of Subnet Administration that show what an attribute of the subnet management class
// shows (IBA vol 1 §15.2.5): the record identifier, then the attribute. Those about paths, groups,
// services and subscriptions are in sa_path_records.h and sa_state_records.h.
//
// kBytes is a record's length in a table, a multiple of 8 (AttributeOffset counts such words); what
// the specification's fields do not fill is sent as zero.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mad/wire/node_info.h"
#include "mad/wire/port_info.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"

namespace fabricd::wire {

template <typename Record>
using RecordBytes = std::array<uint8_t, Record::kBytes>;

struct NodeRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kNodeRecord;
  static constexpr size_t kBytes = 112;
  Lid lid;
  NodeInfo info;
  NodeDescription description;

  static NodeRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

struct PortInfoRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kPortInfoRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  PortNum port;
  uint8_t options = 0;
  PortInfo info;

  static PortInfoRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const PortInfoRecord&, const PortInfoRecord&) = default;
};

struct SlToVlMappingTableRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kSlToVlMappingTableRecord;
  static constexpr size_t kBytes = 16;
  Lid lid;
  PortNum in, out;  // Of a switch.
  SlToVlMappingTable table;

  static SlToVlMappingTableRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const SlToVlMappingTableRecord&,
                         const SlToVlMappingTableRecord&) = default;
};

struct SwitchInfoRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kSwitchInfoRecord;
  static constexpr size_t kBytes = 24;
  static constexpr size_t kInfoBytes = 20;  // The rest of the attribute's 64 bytes is not sent.
  Lid lid;
  SwitchInfo info;

  static SwitchInfoRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const SwitchInfoRecord&, const SwitchInfoRecord&) = default;
};

struct LinearForwardingTableRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kLinearForwardingTableRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  uint16_t block = 0;
  LinearForwardingTable table;

  static LinearForwardingTableRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const LinearForwardingTableRecord&,
                         const LinearForwardingTableRecord&) = default;
};

struct MulticastForwardingTableRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kMulticastForwardingTableRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  uint8_t position = 0;  // 4 bits
  uint16_t block = 0;    // 9 bits
  MulticastForwardingTable table;

  static MulticastForwardingTableRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const MulticastForwardingTableRecord&,
                         const MulticastForwardingTableRecord&) = default;
};

struct SmInfoRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kSmInfoRecord;
  static constexpr size_t kBytes = 32;
  Lid lid;
  SmInfo info;

  static SmInfoRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const SmInfoRecord&, const SmInfoRecord&) = default;
};

struct LinkRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kLinkRecord;
  static constexpr size_t kBytes = 8;
  Lid from_lid;
  PortNum from_port, to_port;
  Lid to_lid;

  static LinkRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const LinkRecord&, const LinkRecord&) = default;
};

struct GuidInfoRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kGuidInfoRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  uint8_t block = 0;
  GuidInfo info;

  static GuidInfoRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const GuidInfoRecord&, const GuidInfoRecord&) = default;
};

struct PKeyTableRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kPKeyTableRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  uint16_t block = 0;
  PortNum port;  // Of a switch.
  PKeyTable table;

  static PKeyTableRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const PKeyTableRecord&, const PKeyTableRecord&) = default;
};

struct VlArbitrationTableRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kVlArbitrationTableRecord;
  static constexpr size_t kBytes = 72;
  Lid lid;
  PortNum port;       // Of a switch.
  uint8_t block = 0;  // 1 low 0-31, 2 low 32-63, 3 high 0-31, 4 high 32-63
  VlArbitrationTable table;

  static VlArbitrationTableRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const VlArbitrationTableRecord&,
                         const VlArbitrationTableRecord&) = default;
};

}  // namespace fabricd::wire
