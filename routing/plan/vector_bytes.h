// SPDX-License-Identifier: Apache-2.0
// Loads, stores and look-ups of bytes in the vector units of x86-64, for the inner loops that have
// a variant for each unit. Included by those alone.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

namespace fabricd::routing::vector_bytes {
namespace avx2 {

#define FABRICD_AVX2 __attribute__((target("avx2")))

FABRICD_AVX2 inline __m256i Load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
FABRICD_AVX2 inline void Store(uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
FABRICD_AVX2 inline __m256i All(uint8_t value) {
  return _mm256_set1_epi8(static_cast<char>(value));
}
FABRICD_AVX2 inline uint32_t Mask(__m256i bytes) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(bytes));
}

// 0 for codes that are not used. Sixteen entries at a time: a code of another sixteen gets its high
// bit set, which makes the shuffle give 0.
FABRICD_AVX2 inline __m256i LookUp32(const uint8_t* table, size_t used, __m256i code) {
  __m256i found = _mm256_setzero_si256();
  for (size_t first = 0; first < used; first += 16) {
    const __m256i part = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + first)));
    const __m256i index =
        _mm256_adds_epu8(_mm256_sub_epi8(code, All(static_cast<uint8_t>(first))), All(0x70));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, index));
  }
  return found;
}

}  // namespace avx2

namespace avx512 {

#define FABRICD_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")))

FABRICD_AVX512 inline __m512i Load(const uint8_t* from) { return _mm512_loadu_si512(from); }
FABRICD_AVX512 inline void Store(uint8_t* to, __m512i value) { _mm512_storeu_si512(to, value); }
FABRICD_AVX512 inline __m512i All(uint8_t value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}

}  // namespace avx512
}  // namespace fabricd::routing::vector_bytes

#endif  // __x86_64__
