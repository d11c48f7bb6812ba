// SPDX-License-Identifier: Apache-2.0
// Random bytes for the codec tests: one stream per seed, the same on every machine.
#pragma once

#include "common/rng.h"
#include "mad/wire/mad_header.h"

namespace fabricd::wire::testing {

template <size_t kBytes>
std::array<uint8_t, kBytes> RandomBytes(Rng& rng) {
  std::array<uint8_t, kBytes> bytes;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.Next() >> 56);
  return bytes;
}
inline SmpData RandomBlock(Rng& rng) { return RandomBytes<kSmpDataBytes>(rng); }

}  // namespace fabricd::wire::testing
