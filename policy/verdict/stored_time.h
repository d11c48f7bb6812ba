// SPDX-License-Identifier: Apache-2.0
// Instants as the store keeps them: milliseconds of the wall clock, 0: never.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "common/time.h"
#include "policy/hold.h"

namespace fabricd::policy {

// `wall` is `now` on the wall clock. The same time gives the same number whenever it is asked for,
// as each Instant is rounded by itself: what has not changed is not written again.
inline WallMs ToWall(Instant at, Instant now, WallMs wall) {
  if (at == kNever || at == Instant{}) return 0;
  const auto milliseconds = [](Instant instant) {
    return std::chrono::floor<std::chrono::milliseconds>(instant.time_since_epoch()).count();
  };
  return wall + milliseconds(at) - milliseconds(now);
}

// Differences between the clocks that are believed, whatever numbers a file may have.
inline constexpr int64_t kFarMs = int64_t{1000} * 3600 * 24 * 366;

inline Instant FromWall(WallMs at, Instant now, WallMs wall, Instant never) {
  if (at == 0) return never;
  // No difference overflows: both lie between 0 and the year 292,000,000.
  const int64_t ago =
      std::clamp<int64_t>(std::max<WallMs>(at, 0) - std::max<WallMs>(wall, 0), -kFarMs, kFarMs);
  return now + std::chrono::milliseconds(ago);
}

}  // namespace fabricd::policy
