// SPDX-License-Identifier: Apache-2.0
// The table attributes: one block of 64 bytes each, and the modifiers that name the block.
#pragma once

#include <array>
#include <cstdint>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

// GUIDInfo (IBA vol 1 §14.2.5.5). Modifier: block.
struct GuidInfo {
  static constexpr AttributeId kAttribute = AttributeId::kGuidInfo;
  static constexpr size_t kEntries = 8;
  std::array<Guid, kEntries> guids{};
  static GuidInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const GuidInfo&, const GuidInfo&) = default;
};

// P_KeyTable (§14.2.5.7). Modifier: block for a CA and switch port 0, port << 16 | block for a
// switch's external port.
struct PKeyTable {
  static constexpr AttributeId kAttribute = AttributeId::kPKeyTable;
  static constexpr size_t kEntries = 32;
  std::array<PKey, kEntries> keys{};
  static uint32_t Modifier(PortNum switch_port, uint16_t block) {
    return static_cast<uint32_t>(switch_port.value()) << 16 | block;
  }
  static PKeyTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const PKeyTable&, const PKeyTable&) = default;
};

// SLtoVLMappingTable (§14.2.5.8). Modifier: in << 8 | out for a switch, 0 for a CA.
struct SlToVlMappingTable {
  static constexpr AttributeId kAttribute = AttributeId::kSlToVlMappingTable;
  std::array<uint8_t, 16> vl{};  // By SL.
  static uint32_t Modifier(PortNum in, PortNum out) {
    return static_cast<uint32_t>(in.value()) << 8 | out.value();
  }
  static SlToVlMappingTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const SlToVlMappingTable&, const SlToVlMappingTable&) = default;
};

// VLArbitrationTable (§14.2.5.9). Modifier: table (1 low 0-31, 2 low 32-63, 3 high 0-31, 4 high
// 32-63) << 16 | port.
struct VlArbitrationTable {
  static constexpr AttributeId kAttribute = AttributeId::kVlArbitrationTable;
  struct Entry {
    uint8_t vl = 0;
    uint8_t weight = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::array<Entry, 32> entries{};
  static uint32_t Modifier(uint8_t table, PortNum port) {
    return static_cast<uint32_t>(table) << 16 | port.value();
  }
  static VlArbitrationTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const VlArbitrationTable&, const VlArbitrationTable&) = default;
};

// LinearForwardingTable (§14.2.5.10). Modifier: block of 64 LIDs. 255: no path.
struct LinearForwardingTable {
  static constexpr AttributeId kAttribute = AttributeId::kLinearForwardingTable;
  static constexpr size_t kEntries = 64;
  static constexpr uint8_t kNoPath = 255;
  std::array<uint8_t, kEntries> port{};
  static LinearForwardingTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const LinearForwardingTable&, const LinearForwardingTable&) = default;
};

// MulticastForwardingTable (§14.2.5.12). Modifier: position << 28 | block; 32 MLIDs by 16 ports.
struct MulticastForwardingTable {
  static constexpr AttributeId kAttribute = AttributeId::kMulticastForwardingTable;
  static constexpr size_t kEntries = 32;
  std::array<uint16_t, kEntries> port_mask{};
  static uint32_t Modifier(uint8_t position, uint16_t block) {
    return static_cast<uint32_t>(position) << 28 | block;
  }
  static MulticastForwardingTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const MulticastForwardingTable&,
                         const MulticastForwardingTable&) = default;
};

// SwitchPortStateTable (0x34): states of 128 ports. Modifier: block.
struct SwitchPortStateTable {
  static constexpr AttributeId kAttribute = AttributeId::kSwitchPortStateTable;
  static constexpr size_t kEntries = 128;
  std::array<uint8_t, kEntries> state{};  // PortState codes; the even port is in the high nibble.
  static SwitchPortStateTable Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const SwitchPortStateTable&, const SwitchPortStateTable&) = default;
};

}  // namespace fabricd::wire
