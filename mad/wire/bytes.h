// SPDX-License-Identifier: Apache-2.0
// Big-endian loads and stores for the codecs, and the only place where byte order is known.
// Internal to mad/wire. The caller guarantees the room; every codec works on a span of fixed
// extent.
#pragma once

#include <cstdint>

namespace fabricd::wire {

inline uint16_t Load16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
inline uint32_t Load24(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 16 | static_cast<uint32_t>(at[1]) << 8 | at[2];
}
inline uint32_t Load32(const uint8_t* at) {
  return static_cast<uint32_t>(Load16(at)) << 16 | Load16(at + 2);
}
inline uint64_t Load64(const uint8_t* at) {
  return static_cast<uint64_t>(Load32(at)) << 32 | Load32(at + 4);
}

inline void Store16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
inline void Store24(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 16);
  Store16(at + 1, static_cast<uint16_t>(value));
}
inline void Store32(uint8_t* at, uint32_t value) {
  Store16(at, static_cast<uint16_t>(value >> 16));
  Store16(at + 2, static_cast<uint16_t>(value));
}
inline void Store64(uint8_t* at, uint64_t value) {
  Store32(at, static_cast<uint32_t>(value >> 32));
  Store32(at + 4, static_cast<uint32_t>(value));
}

// Bits of one byte: `width` bits whose lowest is bit `low` (0 = least significant).
inline constexpr uint8_t Bits(uint8_t byte, int low, int width) {
  return static_cast<uint8_t>(byte >> low & ((1 << width) - 1));
}
inline constexpr uint8_t PlaceBits(unsigned value, int low, int width) {
  return static_cast<uint8_t>((value & ((1u << width) - 1)) << low);
}

}  // namespace fabricd::wire
