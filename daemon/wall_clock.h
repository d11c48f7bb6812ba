// SPDX-License-Identifier: Apache-2.0
// The wall clock, for what is stored and shown; time-outs run on the steady one.
#pragma once

#include <chrono>
#include <cstdint>

namespace fabricd {

// Milliseconds since 1970.
inline int64_t WallNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace fabricd
