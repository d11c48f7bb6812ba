// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/vendor_smp.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

void ClearSmpData(std::span<uint8_t, kSmpDataBytes> data) {
  std::fill(data.begin(), data.end(), uint8_t{0});
}

bool Bit(uint8_t byte, int bit) { return Bits(byte, bit, 1) != 0; }

}  // namespace

GeneralInfo GeneralInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  GeneralInfo info;
  for (size_t i = 0; i < info.capabilities.words.size(); ++i) {
    info.capabilities.words[i] = Load32(data.data() + 4 * i);
  }
  return info;
}

void GeneralInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  ClearSmpData(data);
  for (size_t i = 0; i < capabilities.words.size(); ++i) {
    Store32(data.data() + 4 * i, capabilities.words[i]);
  }
}

ExtPortInfo ExtPortInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  ExtPortInfo info;
  info.sharp_enable = Bit(at[0], 6);
  info.router_lid_enable = Bit(at[0], 5);
  info.port_recovered = Bit(at[0], 4);
  info.state_change_enable = at[3];
  info.bandwidth_utilisation = Load16(at + 4);
  info.unhealthy_reason = static_cast<UnhealthyReason>(at[6]);
  info.link_speed_supported = at[7];
  info.link_speed_enabled = at[11];
  info.link_speed_active = at[15];
  info.capability_mask = Load16(at + 18);
  return info;
}

void ExtPortInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  ClearSmpData(data);
  uint8_t* at = data.data();
  at[0] = PlaceBits(sharp_enable, 6, 1) | PlaceBits(router_lid_enable, 5, 1) |
          PlaceBits(port_recovered, 4, 1);
  at[3] = state_change_enable;
  Store16(at + 4, bandwidth_utilisation);
  at[6] = static_cast<uint8_t>(unhealthy_reason);
  at[7] = link_speed_supported;
  at[11] = link_speed_enabled;
  at[15] = link_speed_active;
  Store16(at + 18, capability_mask);
}

std::string_view UnhealthyReasonName(ExtPortInfo::UnhealthyReason reason) {
  switch (reason) {
    case ExtPortInfo::UnhealthyReason::kUnknown: break;
    case ExtPortInfo::UnhealthyReason::kNone: return "none";
    case ExtPortInfo::UnhealthyReason::kCreditWatchdog: return "credit watchdog";
    case ExtPortInfo::UnhealthyReason::kSymmetry: return "symmetry";
    case ExtPortInfo::UnhealthyReason::kRawBer: return "raw BER";
    case ExtPortInfo::UnhealthyReason::kEffectiveBer: return "effective BER";
    case ExtPortInfo::UnhealthyReason::kSymbolBer: return "symbol BER";
    case ExtPortInfo::UnhealthyReason::kContainAndDrain: return "contain and drain";
  }
  return "unknown";
}

ArInfo ArInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  ArInfo info;
  info.no_fallback = Bit(at[0], 0);
  info.is4_mode = Bit(at[0], 1);
  info.global_groups = Bit(at[0], 2);
  info.by_sl_supported = Bit(at[0], 3);
  info.by_sl_enabled = Bit(at[0], 4);
  info.by_transport_supported = Bit(at[0], 5);
  info.dynamic_capability = Bit(at[0], 6);
  info.directions_supported = at[1];
  info.group_table_copy_supported = Bits(at[2], 4, 4);
  info.sub_groups_active = Bits(at[2], 0, 4);
  info.enabled = Bit(at[3], 0);
  info.arn_supported = Bit(at[3], 1);
  info.frn_supported = Bit(at[3], 2);
  info.fast_recovery_supported = Bit(at[3], 3);
  info.fast_recovery_enabled = Bit(at[3], 4);
  info.notices_enabled = Bit(at[3], 5);
  info.string_width_cap = Bits(at[4], 4, 4);
  info.group_table_cap = Bits(at[4], 0, 4);
  info.group_top = static_cast<uint16_t>(Load24(at + 5) >> 12);
  info.group_cap = static_cast<uint16_t>(Load24(at + 5) & 0xFFF);
  info.enabled_sl_mask = Load16(at + 8);
  info.sub_groups_supported = at[10];
  info.notice_version = Bits(at[11], 4, 4);
  info.version = Bits(at[11], 0, 4);
  info.by_transport_disable = at[15];
  info.ageing_time = Load32(at + 16);
  info.features_supported = at[20];
  info.features_enabled = at[22];
  info.weighted_hbf_granularity = at[24];
  info.hbf_sl_mask = Load16(at + 26);
  return info;
}

void ArInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  ClearSmpData(data);
  uint8_t* at = data.data();
  at[0] = static_cast<uint8_t>(no_fallback | is4_mode << 1 | global_groups << 2 |
                               by_sl_supported << 3 | by_sl_enabled << 4 |
                               by_transport_supported << 5 | dynamic_capability << 6);
  at[1] = directions_supported;
  at[2] = PlaceBits(group_table_copy_supported, 4, 4) | PlaceBits(sub_groups_active, 0, 4);
  at[3] = static_cast<uint8_t>(enabled | arn_supported << 1 | frn_supported << 2 |
                               fast_recovery_supported << 3 | fast_recovery_enabled << 4 |
                               notices_enabled << 5);
  at[4] = PlaceBits(string_width_cap, 4, 4) | PlaceBits(group_table_cap, 0, 4);
  Store24(at + 5, (group_top & 0xFFFu) << 12 | (group_cap & 0xFFFu));
  Store16(at + 8, enabled_sl_mask);
  at[10] = sub_groups_supported;
  at[11] = PlaceBits(notice_version, 4, 4) | PlaceBits(version, 0, 4);
  at[15] = by_transport_disable;
  Store32(at + 16, ageing_time);
  at[20] = features_supported;
  at[22] = features_enabled;
  at[24] = weighted_hbf_granularity;
  Store16(at + 26, hbf_sl_mask);
}

}  // namespace fabricd::wire
