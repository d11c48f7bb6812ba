// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/byte_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/check.h"
#include "routing/graph/hop_costs.h"
#include "routing/plan/vector_bytes.h"

namespace fabricd::routing {
namespace {

constexpr uint8_t kNoWay = HopCosts::kNoWay;
constexpr uint8_t kMostHops = HopCosts::kMostHops;
constexpr uint8_t kUnused = 255;  // The code of what has no table entry, and the entry it gets.

namespace plain {

void AddHop(const uint8_t* const* rows, size_t count, size_t n, uint8_t* __restrict out) {
  std::memset(out, kNoWay, n);
  for (size_t r = 0; r < count; ++r) {
    const uint8_t* __restrict row = rows[r];
    for (size_t i = 0; i < n; ++i) out[i] = std::min(out[i], row[i]);
  }
  for (size_t i = 0; i < n; ++i)
    out[i] = out[i] < kMostHops ? static_cast<uint8_t>(out[i] + 1) : kNoWay;
}

void PreferDown(const uint8_t* __restrict down, size_t n, uint8_t* __restrict total) {
  for (size_t i = 0; i < n; ++i) total[i] = down[i] != kNoWay ? down[i] : total[i];
}

void SplitWants(const uint8_t* __restrict total, const uint8_t* __restrict down, size_t n,
                uint8_t* __restrict want_down, uint8_t* __restrict want_up) {
  for (size_t i = 0; i < n; ++i) {
    const bool any = total[i] != 0 && total[i] != kNoWay;
    const uint8_t want = any ? static_cast<uint8_t>(total[i] - 1) : kMatchesNothing;
    const bool goes_up = !down || down[i] == kNoWay;
    want_up[i] = goes_up ? want : kMatchesNothing;
    want_down[i] = goes_up ? kMatchesNothing : want;
  }
}

void Match(const CostMatch* arcs, size_t count, size_t column, uint64_t* masks, uint8_t* last) {
  for (size_t a = 0; a < count; ++a) {
    masks[a] = 0;
    for (size_t i = 0; i < 64; ++i) {
      const bool equal = arcs[a].costs[column + i] == arcs[a].want[column + i];
      masks[a] |= uint64_t{equal} << i;
      last[i] = equal ? static_cast<uint8_t>(a) : last[i];
    }
  }
}

void LookUp(const uint8_t* table, size_t, const uint8_t* codes, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = codes[i] == kUnused ? kUnused : table[codes[i]];
}

void LookUpSome(const uint8_t* table, size_t, const uint8_t* codes, uint64_t wanted, uint8_t* out) {
  for (; wanted; wanted &= wanted - 1) {
    const int i = std::countr_zero(wanted);
    out[i] = codes[i] == kUnused ? kUnused : table[codes[i]];
  }
}

}  // namespace plain

constexpr ByteKernels kPlain = {"plain",      plain::AddHop, plain::PreferDown, plain::SplitWants,
                                plain::Match, plain::LookUp, plain::LookUpSome};

#if defined(__x86_64__)

namespace avx2 {

using namespace vector_bytes::avx2;

FABRICD_AVX2 void AddHop(const uint8_t* const* rows, size_t count, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; i += 64) {
    __m256i a = All(kNoWay), b = a;
    for (size_t r = 0; r < count; ++r) {
      a = _mm256_min_epu8(a, Load(rows[r] + i));
      b = _mm256_min_epu8(b, Load(rows[r] + i + 32));
    }
    // Adding with saturation takes kNoWay to itself; kMostHops becomes 254 and then kNoWay.
    for (__m256i* x : {&a, &b}) {
      *x = _mm256_adds_epu8(*x, All(1));
      *x = _mm256_or_si256(*x, _mm256_cmpeq_epi8(*x, All(kMostHops + 1)));
    }
    Store(out + i, a);
    Store(out + i + 32, b);
  }
}

FABRICD_AVX2 void PreferDown(const uint8_t* down, size_t n, uint8_t* total) {
  for (size_t i = 0; i < n; i += 32) {
    const __m256i d = Load(down + i);
    Store(total + i, _mm256_blendv_epi8(d, Load(total + i), _mm256_cmpeq_epi8(d, All(kNoWay))));
  }
}

FABRICD_AVX2 void SplitWants(const uint8_t* total, const uint8_t* down, size_t n,
                             uint8_t* want_down, uint8_t* want_up) {
  const __m256i nothing = All(kMatchesNothing);
  for (size_t i = 0; i < n; i += 32) {
    const __m256i t = Load(total + i);
    const __m256i none =
        _mm256_or_si256(_mm256_cmpeq_epi8(t, All(0)), _mm256_cmpeq_epi8(t, All(kNoWay)));
    const __m256i want = _mm256_blendv_epi8(_mm256_sub_epi8(t, All(1)), nothing, none);
    const __m256i goes_up = down ? _mm256_cmpeq_epi8(Load(down + i), All(kNoWay)) : All(255);
    Store(want_up + i, _mm256_blendv_epi8(nothing, want, goes_up));
    Store(want_down + i, _mm256_blendv_epi8(want, nothing, goes_up));
  }
}

FABRICD_AVX2 void Match(const CostMatch* arcs, size_t count, size_t column, uint64_t* masks,
                        uint8_t* last) {
  __m256i last_a = Load(last), last_b = Load(last + 32);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* costs = arcs[i].costs + column;
    const uint8_t* want = arcs[i].want + column;
    const __m256i a = _mm256_cmpeq_epi8(Load(costs), Load(want));
    const __m256i b = _mm256_cmpeq_epi8(Load(costs + 32), Load(want + 32));
    masks[i] = Mask(a) | uint64_t{Mask(b)} << 32;
    const __m256i arc = All(static_cast<uint8_t>(i));
    last_a = _mm256_blendv_epi8(last_a, arc, a);
    last_b = _mm256_blendv_epi8(last_b, arc, b);
  }
  Store(last, last_a);
  Store(last + 32, last_b);
}

FABRICD_AVX2 void LookUp(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                         uint8_t* out) {
  const size_t whole = n / 32 * 32;
  for (size_t i = 0; i < whole; i += 32) {
    const __m256i code = Load(codes + i);
    const __m256i unused = _mm256_cmpeq_epi8(code, All(kUnused));
    Store(out + i, _mm256_or_si256(LookUp32(table, used, code), unused));
  }
  plain::LookUp(table, used, codes + whole, n - whole, out + whole);
}

}  // namespace avx2

// A scattered store gains nothing from these vectors.
constexpr ByteKernels kAvx2 = {"avx2",      avx2::AddHop, avx2::PreferDown, avx2::SplitWants,
                               avx2::Match, avx2::LookUp, plain::LookUpSome};

namespace avx512 {

using namespace vector_bytes::avx512;

FABRICD_AVX512 void AddHop(const uint8_t* const* rows, size_t count, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; i += 64) {
    __m512i lowest = All(kNoWay);
    for (size_t r = 0; r < count; ++r) lowest = _mm512_min_epu8(lowest, Load(rows[r] + i));
    // Adding with saturation takes kNoWay to itself; kMostHops becomes 254 and then kNoWay.
    lowest = _mm512_adds_epu8(lowest, All(1));
    const __mmask64 over = _mm512_cmpeq_epi8_mask(lowest, All(kMostHops + 1));
    Store(out + i, _mm512_mask_mov_epi8(lowest, over, All(kNoWay)));
  }
}

FABRICD_AVX512 void PreferDown(const uint8_t* down, size_t n, uint8_t* total) {
  for (size_t i = 0; i < n; i += 64) {
    const __m512i d = Load(down + i);
    _mm512_mask_storeu_epi8(total + i, _mm512_cmpneq_epi8_mask(d, All(kNoWay)), d);
  }
}

FABRICD_AVX512 void SplitWants(const uint8_t* total, const uint8_t* down, size_t n,
                               uint8_t* want_down, uint8_t* want_up) {
  const __m512i nothing = All(kMatchesNothing);
  for (size_t i = 0; i < n; i += 64) {
    const __m512i t = Load(total + i);
    const __mmask64 any =
        _mm512_cmpneq_epi8_mask(t, All(0)) & _mm512_cmpneq_epi8_mask(t, All(kNoWay));
    const __mmask64 up = down ? _mm512_cmpeq_epi8_mask(Load(down + i), All(kNoWay)) : ~__mmask64{0};
    const __m512i want = _mm512_sub_epi8(t, All(1));
    Store(want_up + i, _mm512_mask_mov_epi8(nothing, any & up, want));
    Store(want_down + i, _mm512_mask_mov_epi8(nothing, any & ~up, want));
  }
}

FABRICD_AVX512 void Match(const CostMatch* arcs, size_t count, size_t column, uint64_t* masks,
                          uint8_t* last) {
  __m512i highest = Load(last);
  for (size_t i = 0; i < count; ++i) {
    const __mmask64 equal =
        _mm512_cmpeq_epi8_mask(Load(arcs[i].costs + column), Load(arcs[i].want + column));
    masks[i] = equal;
    highest = _mm512_mask_mov_epi8(highest, equal, All(static_cast<uint8_t>(i)));
  }
  Store(last, highest);
}

// One 64-byte table serves codes up to 63, two up to 127, four all.
template <int kTables>
FABRICD_AVX512 inline __m512i LookUp64(const __m512i* table, __m512i code) {
  const __mmask64 used = _mm512_cmpneq_epi8_mask(code, All(kUnused));
  if constexpr (kTables == 1) {
    return _mm512_mask_permutexvar_epi8(All(kUnused), used, code, table[0]);
  } else {
    __m512i found = _mm512_permutex2var_epi8(table[0], code, table[1]);
    if constexpr (kTables == 4)
      found = _mm512_mask_mov_epi8(found, _mm512_movepi8_mask(code),
                                   _mm512_permutex2var_epi8(table[2], code, table[3]));
    return _mm512_mask_mov_epi8(All(kUnused), used, found);
  }
}

template <int kTables>
FABRICD_AVX512 inline void LookUpBy(const uint8_t* table, const uint8_t* codes, size_t n,
                                    uint8_t* out) {
  __m512i tables[kTables];
  for (int i = 0; i < kTables; ++i) tables[i] = Load(table + 64 * i);
  size_t i = 0;
  for (; i + 64 <= n; i += 64) Store(out + i, LookUp64<kTables>(tables, Load(codes + i)));
  if (i == n) return;
  const __mmask64 rest = (uint64_t{1} << (n - i)) - 1;
  const __m512i code = _mm512_maskz_loadu_epi8(rest, codes + i);
  _mm512_mask_storeu_epi8(out + i, rest, LookUp64<kTables>(tables, code));
}

FABRICD_AVX512 void LookUp(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                           uint8_t* out) {
  if (used <= 64)
    LookUpBy<1>(table, codes, n, out);
  else if (used <= 128)
    LookUpBy<2>(table, codes, n, out);
  else
    LookUpBy<4>(table, codes, n, out);
}

FABRICD_AVX512 void LookUpSome(const uint8_t* table, size_t used, const uint8_t* codes,
                               uint64_t wanted, uint8_t* out) {
  uint8_t found[64];
  LookUp(table, used, codes, 64, found);
  _mm512_mask_storeu_epi8(out, wanted, Load(found));
}

}  // namespace avx512

constexpr ByteKernels kAvx512 = {"avx512vbmi",       avx512::AddHop, avx512::PreferDown,
                                 avx512::SplitWants, avx512::Match,  avx512::LookUp,
                                 avx512::LookUpSome};

#endif  // __x86_64__

}  // namespace

const ByteKernels& KernelsFor(VectorUnit unit) {
  FABRICD_CHECK(HasVectorUnit(unit));
#if defined(__x86_64__)
  if (unit == VectorUnit::kAvx512Vbmi) return kAvx512;
  if (unit == VectorUnit::kAvx2) return kAvx2;
#endif
  return kPlain;
}

const ByteKernels& Kernels() { return KernelsFor(UnitInUse()); }

}  // namespace fabricd::routing
