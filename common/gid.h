// SPDX-License-Identifier: Apache-2.0
// GID: 128 bits that name an end port of any subnet (prefix and GUID) or a multicast group (IBA
// vol 1 §4.1.1).
#pragma once

#include <compare>
#include <cstdint>

#include "common/ids.h"

namespace fabricd {

struct Gid {
  uint64_t prefix = 0;
  uint64_t low = 0;  // A unicast GID's port GUID.

  constexpr Guid guid() const { return Guid(low); }
  constexpr bool IsMulticast() const { return prefix >> 56 == 0xFF; }
  constexpr explicit operator bool() const { return prefix != 0 || low != 0; }
  friend constexpr auto operator<=>(const Gid&, const Gid&) = default;
};

}  // namespace fabricd
