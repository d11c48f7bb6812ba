// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/byte_scan.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "routing/plan/vector_bytes.h"

namespace fabricd::routing {
namespace {

namespace plain {

uint64_t Find(const uint8_t* bytes, uint8_t value) {
  uint64_t found = 0;
  for (size_t i = 0; i < 64; ++i) found |= uint64_t{bytes[i] == value} << i;
  return found;
}

void Classify(const uint8_t* table, size_t used, const uint8_t* codes, size_t n, uint64_t* high,
              uint64_t* low) {
  for (size_t piece = 0; piece < n / 64; ++piece) {
    high[piece] = low[piece] = 0;
    for (size_t i = 0; i < 64; ++i) {
      const uint8_t code = codes[piece * 64 + i];
      const uint8_t entry = code < used ? table[code] : 0;
      high[piece] |= uint64_t{entry} >> 7 << i;
      low[piece] |= (uint64_t{entry} >> 6 & 1) << i;
    }
  }
}

size_t Count(const uint8_t* bytes, uint8_t value, size_t n) {
  return static_cast<size_t>(std::count(bytes, bytes + n, value));
}

}  // namespace plain

constexpr ByteScan kPlain = {plain::Find, plain::Classify, plain::Count};

#if defined(__x86_64__)

namespace avx2 {

using namespace vector_bytes::avx2;

FABRICD_AVX2 void Classify(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                           uint64_t* high, uint64_t* low) {
  // The last sixteen entries may be used in part.
  uint8_t whole[256] = {};
  std::memcpy(whole, table, used);
  for (size_t piece = 0; piece < n / 64; ++piece) {
    const __m256i a = LookUp32(whole, used, Load(codes + piece * 64));
    const __m256i b = LookUp32(whole, used, Load(codes + piece * 64 + 32));
    high[piece] = Mask(a) | uint64_t{Mask(b)} << 32;
    low[piece] = Mask(_mm256_add_epi8(a, a)) | uint64_t{Mask(_mm256_add_epi8(b, b))} << 32;
  }
}

FABRICD_AVX2 uint64_t Find(const uint8_t* bytes, uint8_t value) {
  const __m256i wanted = All(value);
  return Mask(_mm256_cmpeq_epi8(Load(bytes), wanted)) |
         uint64_t{Mask(_mm256_cmpeq_epi8(Load(bytes + 32), wanted))} << 32;
}

FABRICD_AVX2 size_t Count(const uint8_t* bytes, uint8_t value, size_t n) {
  const size_t whole = n / 64 * 64;
  size_t count = 0;
  for (size_t i = 0; i < whole; i += 64)
    count += static_cast<size_t>(__builtin_popcountll(Find(bytes + i, value)));
  return count + plain::Count(bytes + whole, value, n - whole);
}

}  // namespace avx2

constexpr ByteScan kAvx2 = {avx2::Find, avx2::Classify, avx2::Count};

namespace avx512 {

using namespace vector_bytes::avx512;

template <int kTables>
FABRICD_AVX512 inline void ClassifyBy(const uint8_t* table, size_t used, const uint8_t* codes,
                                      size_t n, uint64_t* high, uint64_t* low) {
  // Whatever is not used has class 0.
  uint8_t whole[256] = {};
  std::memcpy(whole, table, used);
  __m512i tables[kTables];
  for (int i = 0; i < kTables; ++i) tables[i] = Load(whole + 64 * i);
  for (size_t piece = 0; piece < n / 64; ++piece) {
    const __m512i code = Load(codes + piece * 64);
    __m512i entry;
    if constexpr (kTables == 1) {
      entry = _mm512_maskz_permutexvar_epi8(_mm512_cmplt_epu8_mask(code, All(64)), code, tables[0]);
    } else {
      entry = _mm512_mask_mov_epi8(_mm512_permutex2var_epi8(tables[0], code, tables[1]),
                                   _mm512_movepi8_mask(code),
                                   _mm512_permutex2var_epi8(tables[2], code, tables[3]));
    }
    high[piece] = _mm512_movepi8_mask(entry);
    low[piece] = _mm512_movepi8_mask(_mm512_add_epi8(entry, entry));
  }
}

FABRICD_AVX512 void Classify(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                             uint64_t* high, uint64_t* low) {
  if (used <= 64)
    ClassifyBy<1>(table, used, codes, n, high, low);
  else
    ClassifyBy<4>(table, used, codes, n, high, low);
}

FABRICD_AVX512 uint64_t Find(const uint8_t* bytes, uint8_t value) {
  return _mm512_cmpeq_epi8_mask(Load(bytes), All(value));
}

FABRICD_AVX512 size_t Count(const uint8_t* bytes, uint8_t value, size_t n) {
  const size_t whole = n / 64 * 64;
  size_t count = 0;
  for (size_t i = 0; i < whole; i += 64)
    count += static_cast<size_t>(__builtin_popcountll(Find(bytes + i, value)));
  return count + plain::Count(bytes + whole, value, n - whole);
}

}  // namespace avx512

constexpr ByteScan kAvx512 = {avx512::Find, avx512::Classify, avx512::Count};

#endif  // __x86_64__

}  // namespace

const ByteScan& ScanFor(VectorUnit unit) {
  FABRICD_CHECK(HasVectorUnit(unit));
#if defined(__x86_64__)
  if (unit == VectorUnit::kAvx512Vbmi) return kAvx512;
  if (unit == VectorUnit::kAvx2) return kAvx2;
#endif
  return kPlain;
}

const ByteScan& Scan() { return ScanFor(UnitInUse()); }

}  // namespace fabricd::routing
