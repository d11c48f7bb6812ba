// SPDX-License-Identifier: Apache-2.0
// The index that stands for none, of switches, links, channels or destinations.
#pragma once

#include <cstdint>
#include <limits>

namespace fabricd::routing {

inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

}  // namespace fabricd::routing
