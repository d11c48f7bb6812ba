// SPDX-License-Identifier: Apache-2.0
// The few fields that a simulated fabric reads from MADs without decoding them (IBA vol 1 §13.4.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricd::sim {

inline constexpr size_t kMadClassAt = 1;
inline constexpr size_t kMadMethodAt = 3;
inline constexpr size_t kMadTransactionIdAt = 8;

// REQUIRES: a whole MAD header.
inline uint64_t TransactionIdOf(const std::vector<uint8_t>& mad) {
  uint64_t id = 0;
  for (size_t i = 0; i < 8; ++i) id = id << 8 | mad[kMadTransactionIdAt + i];
  return id;
}

}  // namespace fabricd::sim
