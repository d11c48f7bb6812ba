// SPDX-License-Identifier: Apache-2.0
// Questions to one block of a row (64 LIDs), answered as a bit per LID: bit i is the block's i-th.
#pragma once

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fabricd::routing {

// Calls visit(i) for each bit that is set, lowest first.
template <typename Visit>
void ForEachBit(uint64_t mask, Visit&& visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<uint32_t>(__builtin_ctzll(mask)));
}

inline uint64_t EqualMask(const uint8_t* block, uint8_t value) {
  uint64_t mask = 0;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(value));
  for (int part = 0; part < 4; ++part) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + part);
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(entries, wanted)));
    mask |= uint64_t{bits} << (16 * part);
  }
#else
  for (int i = 0; i < 64; ++i) mask |= uint64_t{block[i] == value} << i;
#endif
  return mask;
}

inline uint64_t DifferenceMask(const uint8_t* a, const uint8_t* b) {
  uint64_t equal = 0;
#ifdef __SSE2__
  for (int part = 0; part < 4; ++part) {
    const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a) + part);
    const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b) + part);
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)));
    equal |= uint64_t{bits} << (16 * part);
  }
#else
  for (int i = 0; i < 64; ++i) equal |= uint64_t{a[i] == b[i]} << i;
#endif
  return ~equal;
}

}  // namespace fabricd::routing
