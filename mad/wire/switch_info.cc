// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/switch_info.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kFlagsAt = 16;
constexpr uint8_t kFlagsReserved = 0x07;
constexpr size_t kReservedByteAt = 17;
constexpr size_t kEndOfFields = 20;

}  // namespace

SwitchInfo SwitchInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  SwitchInfo info;
  info.linear_fdb_cap = Load16(at);
  info.random_fdb_cap = Load16(at + 2);
  info.multicast_fdb_cap = Load16(at + 4);
  info.linear_fdb_top = Load16(at + 6);
  info.default_port = at[8];
  info.default_multicast_primary_port = at[9];
  info.default_multicast_not_primary_port = at[10];
  info.life_time_value = Bits(at[11], 3, 5);
  info.port_state_change = Bits(at[11], 2, 1) != 0;
  info.optimized_sl_to_vl = Bits(at[11], 0, 2);
  info.lids_per_port = Load16(at + 12);
  info.partition_enforcement_cap = Load16(at + 14);
  info.inbound_enforcement_cap = Bits(at[kFlagsAt], 7, 1) != 0;
  info.outbound_enforcement_cap = Bits(at[kFlagsAt], 6, 1) != 0;
  info.filter_raw_inbound_cap = Bits(at[kFlagsAt], 5, 1) != 0;
  info.filter_raw_outbound_cap = Bits(at[kFlagsAt], 4, 1) != 0;
  info.enhanced_port0 = Bits(at[kFlagsAt], 3, 1) != 0;
  info.multicast_fdb_top = Load16(at + 18);
  info.reserved[kFlagsAt] = at[kFlagsAt] & kFlagsReserved;
  info.reserved[kReservedByteAt] = at[kReservedByteAt];
  std::copy(data.begin() + kEndOfFields, data.end(), info.reserved.begin() + kEndOfFields);
  return info;
}

void SwitchInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  uint8_t* at = data.data();
  Store16(at, linear_fdb_cap);
  Store16(at + 2, random_fdb_cap);
  Store16(at + 4, multicast_fdb_cap);
  Store16(at + 6, linear_fdb_top);
  at[8] = default_port;
  at[9] = default_multicast_primary_port;
  at[10] = default_multicast_not_primary_port;
  at[11] = PlaceBits(life_time_value, 3, 5) | PlaceBits(port_state_change, 2, 1) |
           PlaceBits(optimized_sl_to_vl, 0, 2);
  Store16(at + 12, lids_per_port);
  Store16(at + 14, partition_enforcement_cap);
  at[kFlagsAt] =
      PlaceBits(inbound_enforcement_cap, 7, 1) | PlaceBits(outbound_enforcement_cap, 6, 1) |
      PlaceBits(filter_raw_inbound_cap, 5, 1) | PlaceBits(filter_raw_outbound_cap, 4, 1) |
      PlaceBits(enhanced_port0, 3, 1) | (reserved[kFlagsAt] & kFlagsReserved);
  at[kReservedByteAt] = reserved[kReservedByteAt];
  Store16(at + 18, multicast_fdb_top);
  std::copy(reserved.begin() + kEndOfFields, reserved.end(), data.begin() + kEndOfFields);
}

}  // namespace fabricd::wire
