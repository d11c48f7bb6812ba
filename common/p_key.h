// SPDX-License-Identifier: Apache-2.0
// What a P_Key says: the partition, and whether its holder is a full member (IBA vol 1 §10.9.1).
#pragma once

#include "common/ids.h"

namespace fabricd {

inline constexpr uint16_t kPartitionBits = 0x7FFF;
inline constexpr uint16_t kFullMemberBit = 0x8000;

// Every port wakes up with one of these: the default partition.
inline constexpr PKey kDefaultFullPKey{0xFFFF};
inline constexpr PKey kDefaultLimitedPKey{0x7FFF};

// 0: none, an empty entry whatever its membership bit says.
constexpr uint16_t PartitionOf(PKey key) { return key.value() & kPartitionBits; }
constexpr bool IsFullMember(PKey key) { return (key.value() & kFullMemberBit) != 0; }

}  // namespace fabricd
