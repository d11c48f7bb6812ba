// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace fabricd::rpc {

// A count in a 32-bit field of a message: the most that fits where it is larger.
inline uint32_t Count(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint32_t>::max()));
}

}  // namespace fabricd::rpc
