// SPDX-License-Identifier: Apache-2.0
// NodeInfo (IBA vol 1 §14.2.5.3) and NodeDescription (§14.2.5.2).
#pragma once

#include <string>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

enum class NodeType : uint8_t { kUnknown = 0, kChannelAdapter = 1, kSwitch = 2, kRouter = 3 };

struct NodeInfo {
  static constexpr AttributeId kAttribute = AttributeId::kNodeInfo;
  uint8_t base_version = 1;
  uint8_t class_version = 1;
  NodeType node_type = NodeType::kUnknown;  // Unknown codes survive as their number.
  uint8_t num_ports = 0;
  Guid system_image_guid;
  Guid node_guid;
  Guid port_guid;  // Of the port the SMP came in by; a switch has one, of port 0.
  uint16_t partition_cap = 0;
  uint16_t device_id = 0;
  uint32_t revision = 0;
  PortNum local_port;
  uint32_t vendor_id = 0;  // 24 bits.

  static NodeInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

struct NodeDescription {
  static constexpr AttributeId kAttribute = AttributeId::kNodeDescription;
  std::string text;  // Up to 64 bytes, as sent: UTF-8 is not promised by devices.

  static NodeDescription Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const NodeDescription&, const NodeDescription&) = default;
};

}  // namespace fabricd::wire
