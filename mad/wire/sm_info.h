// SPDX-License-Identifier: Apache-2.0
// SMInfo (IBA vol 1 §14.2.5.13).
#pragma once

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

enum class SmState : uint8_t { kNotActive = 0, kDiscovering = 1, kStandby = 2, kMaster = 3 };

// AttributeModifier of SubnSet(SMInfo) (§14.4.1).
enum class SmControl : uint32_t {
  kHandover = 1,
  kAcknowledge = 2,
  kDisable = 3,
  kStandby = 4,
  kDiscover = 5
};

struct SmInfo {
  static constexpr AttributeId kAttribute = AttributeId::kSmInfo;
  Guid guid;
  SmKey sm_key;
  uint32_t activity_count = 0;
  uint8_t priority = 0;  // 0-15
  SmState state = SmState::kNotActive;

  static SmInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const SmInfo&, const SmInfo&) = default;
};

std::string_view SmStateName(SmState state);  // "MASTER"

}  // namespace fabricd::wire
