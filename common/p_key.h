// SPDX-License-Identifier: Apache-2.0
// The parts of a P_Key: the partition, and full or limited membership (IBA vol 1 §10.9.1).
#pragma once

#include "common/ids.h"

namespace fabricd {

inline constexpr uint16_t kPartitionBits = 0x7FFF;
inline constexpr uint16_t kFullMemberBit = 0x8000;

// The default partition, which every port is in initially.
inline constexpr PKey kDefaultFullPKey{0xFFFF};
inline constexpr PKey kDefaultLimitedPKey{0x7FFF};

// 0: none, an empty entry, whatever the membership bit is.
constexpr uint16_t PartitionOf(PKey key) { return key.value() & kPartitionBits; }
constexpr bool IsFullMember(PKey key) { return (key.value() & kFullMemberBit) != 0; }

}  // namespace fabricd
