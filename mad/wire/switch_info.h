// SPDX-License-Identifier: Apache-2.0
// SwitchInfo (IBA vol 1 §14.2.5.4).
#pragma once

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

struct SwitchInfo {
  static constexpr AttributeId kAttribute = AttributeId::kSwitchInfo;
  uint16_t linear_fdb_cap = 0;
  uint16_t random_fdb_cap = 0;
  uint16_t multicast_fdb_cap = 0;
  uint16_t linear_fdb_top = 0;
  uint8_t default_port = 0;
  uint8_t default_multicast_primary_port = 0;
  uint8_t default_multicast_not_primary_port = 0;
  uint8_t life_time_value = 0;     // 5 bits, 4.096 us * 2^n
  bool port_state_change = false;  // Written as 1 to clear.
  uint8_t optimized_sl_to_vl = 0;  // 2 bits
  uint16_t lids_per_port = 0;
  uint16_t partition_enforcement_cap = 0;
  bool inbound_enforcement_cap = false;
  bool outbound_enforcement_cap = false;
  bool filter_raw_inbound_cap = false;
  bool filter_raw_outbound_cap = false;
  bool enhanced_port0 = false;
  uint16_t multicast_fdb_top = 0;
  // Bits of the 64 bytes that no field above names, in place, so that a Set returns them as read.
  SmpData reserved{};

  static SwitchInfo Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const SwitchInfo&, const SwitchInfo&) = default;
};

}  // namespace fabricd::wire
