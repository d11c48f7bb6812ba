// SPDX-License-Identifier: Apache-2.0
// Values drawn from the generator of a run. Each takes one number from it, so that the text of a
// run shows in which order it draws: two draws in one expression would leave that to the compiler.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "common/time.h"

namespace fabricd::sim {

// What a drawn value stands for.
inline Duration Microseconds(double count) {
  return std::chrono::microseconds(static_cast<int64_t>(count));
}
inline Duration Seconds(double count) { return Microseconds(count * 1e6); }
inline int Count(double value) { return static_cast<int>(value + 0.5); }

// Uniform in [0, limit].
inline Duration UpTo(Duration limit, Rng& rng) {
  return Duration(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(limit.count()) + 1)));
}

// REQUIRES: `all` is not empty.
template <typename T>
T OneOf(const std::vector<T>& all, Rng& rng) {
  return all[rng.Below(all.size())];
}

}  // namespace fabricd::sim
