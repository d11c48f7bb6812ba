// SPDX-License-Identifier: Apache-2.0
#include "sim/device/link_rate.h"

#include <array>

namespace fabricd::sim {
namespace {

using wire::LinkSpeed;

constexpr uint8_t kWidth1x = 1, kWidth4x = 2, kWidth8x = 4, kWidth12x = 8, kWidth2x = 16;
constexpr std::array<uint8_t, 5> kWidthsWidestFirst = {kWidth12x, kWidth8x, kWidth4x, kWidth2x,
                                                       kWidth1x};

uint8_t WidthCode(int physical_lanes) {
  switch (physical_lanes) {
    case 2: return kWidth2x;
    case 4: return kWidth4x;
    case 8: return kWidth8x;
    case 12: return kWidth12x;
    default: return kWidth1x;
  }
}

uint8_t WidthsUpTo(int physical_lanes, LinkSpeed speed) {
  uint8_t mask = kWidth1x;
  // 2x came with HDR; older devices know it only where a link is said to run at it.
  if (physical_lanes == 2 || (physical_lanes > 2 && speed >= LinkSpeed::kHdr)) mask |= kWidth2x;
  if (physical_lanes >= 4) mask |= kWidth4x;
  if (physical_lanes >= 8) mask |= kWidth8x;
  if (physical_lanes >= 12) mask |= kWidth12x;
  return mask;
}

struct SpeedCodes {
  uint8_t speed, ext, ext2;
};

SpeedCodes ActiveCodes(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::kUnknown:
    case LinkSpeed::kSdr: return {1, 0, 0};
    case LinkSpeed::kDdr: return {2, 0, 0};
    case LinkSpeed::kQdr:
    case LinkSpeed::kFdr10: return {4, 0, 0};
    case LinkSpeed::kFdr: return {4, 1, 0};
    case LinkSpeed::kEdr: return {4, 2, 0};
    case LinkSpeed::kHdr: return {4, 4, 0};
    case LinkSpeed::kNdr: return {4, 8, 0};
    case LinkSpeed::kXdr: return {4, 0, 1};
  }
  return {1, 0, 0};
}

// LinkSpeedExtEnabled 30 is not a mask: extended speeds are off.
uint8_t ExtendedSpeeds(const wire::PortInfo& info) {
  return info.link_speed_ext_enabled > 15 ? 0 : info.link_speed_ext_enabled;
}

uint8_t HighestBit(uint8_t mask) {
  uint8_t bit = 0x80;
  while (bit != 0 && (mask & bit) == 0) bit >>= 1;
  return bit;
}

}  // namespace

void SetSupportedRate(wire::PortInfo& info, LinkSpeed speed, int physical_lanes) {
  const SpeedCodes best = ActiveCodes(speed);
  info.link_speed_supported = static_cast<uint8_t>(best.speed * 2 - 1);
  info.link_speed_ext_supported2 = best.ext2;
  info.link_speed_ext_supported =
      best.ext2 != 0 ? 15 : static_cast<uint8_t>(best.ext == 0 ? 0 : best.ext * 2 - 1);
  info.link_width_supported = WidthsUpTo(physical_lanes, speed);
  info.link_speed_enabled = info.link_speed_supported;
  info.link_speed_ext_enabled = info.link_speed_ext_supported;
  info.link_speed_ext_enabled2 = info.link_speed_ext_supported2;
  info.link_width_enabled = info.link_width_supported;
}

void SetActiveRate(wire::PortInfo& info, LinkSpeed speed, int physical_lanes) {
  const SpeedCodes codes = ActiveCodes(speed);
  info.link_speed_active = codes.speed;
  info.link_speed_ext_active = codes.ext;
  info.link_speed_ext_active2 = codes.ext2;
  info.link_width_active = WidthCode(physical_lanes);
}

void NegotiateRate(wire::PortInfo& a, wire::PortInfo& b) {
  const uint8_t speed = HighestBit(a.link_speed_enabled & b.link_speed_enabled);
  const uint8_t ext2 = HighestBit(a.link_speed_ext_enabled2 & b.link_speed_ext_enabled2);
  const uint8_t ext = ext2 != 0 ? 0 : HighestBit(ExtendedSpeeds(a) & ExtendedSpeeds(b));
  uint8_t width = kWidth1x;
  for (uint8_t code : kWidthsWidestFirst) {
    if (a.link_width_enabled & b.link_width_enabled & code) {
      width = code;
      break;
    }
  }
  for (wire::PortInfo* info : {&a, &b}) {
    info->link_speed_active = speed == 0 ? 1 : speed;
    info->link_speed_ext_active = ext;
    info->link_speed_ext_active2 = ext2;
    info->link_width_active = width;
  }
}

double ActiveGigabits(const wire::PortInfo& info) {
  return wire::RateOf(wire::ActiveSpeed(info), wire::ActiveWidth(info)).data;
}

}  // namespace fabricd::sim
