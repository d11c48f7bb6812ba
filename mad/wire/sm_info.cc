// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/sm_info.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

SmInfo SmInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  SmInfo info;
  info.guid = Guid(Load64(at));
  info.sm_key = SmKey(Load64(at + 8));
  info.activity_count = Load32(at + 16);
  info.priority = Bits(at[20], 4, 4);
  info.state = static_cast<SmState>(Bits(at[20], 0, 4));
  return info;
}

void SmInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  std::fill(data.begin(), data.end(), uint8_t{0});
  uint8_t* at = data.data();
  Store64(at, guid.value());
  Store64(at + 8, sm_key.value());
  Store32(at + 16, activity_count);
  at[20] = PlaceBits(priority, 4, 4) | PlaceBits(static_cast<uint8_t>(state), 0, 4);
}

std::string_view SmStateName(SmState state) {
  switch (state) {
    case SmState::kNotActive: return "NOT-ACTIVE";
    case SmState::kDiscovering: return "DISCOVERING";
    case SmState::kStandby: return "STANDBY";
    case SmState::kMaster: return "MASTER";
  }
  return "unknown";
}

}  // namespace fabricd::wire
