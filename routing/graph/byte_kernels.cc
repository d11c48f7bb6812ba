// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/byte_kernels.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "common/check.h"
#include "routing/graph/hop_costs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

constexpr ByteKernels kPlain = {
    "plain",       plain::AddHop,     plain::PreferDown, plain::SplitWants, plain::Match,
    plain::LookUp, plain::LookUpSome, plain::Find,       plain::Classify,   plain::Count};

#if defined(__x86_64__)

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

#undef FABRICD_AVX2

}  // namespace avx2

// A scattered store gains nothing from these vectors.
constexpr ByteKernels kAvx2 = {"avx2",         avx2::AddHop, avx2::PreferDown,  avx2::SplitWants,
                               avx2::Match,    avx2::LookUp, plain::LookUpSome, avx2::Find,
                               avx2::Classify, avx2::Count};

namespace avx512 {

#define FABRICD_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")))

FABRICD_AVX512 inline __m512i Load(const uint8_t* from) { return _mm512_loadu_si512(from); }
FABRICD_AVX512 inline void Store(uint8_t* to, __m512i value) { _mm512_storeu_si512(to, value); }
FABRICD_AVX512 inline __m512i All(uint8_t value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}

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

#undef FABRICD_AVX512

}  // namespace avx512

constexpr ByteKernels kAvx512 = {
    "avx512vbmi",   avx512::AddHop,     avx512::PreferDown, avx512::SplitWants, avx512::Match,
    avx512::LookUp, avx512::LookUpSome, avx512::Find,       avx512::Classify,   avx512::Count};

#endif  // __x86_64__

std::atomic<const ByteKernels*> in_use{nullptr};

}  // namespace

bool HasVectorUnit(VectorUnit unit) {
#if defined(__x86_64__)
  if (unit == VectorUnit::kAvx2) return __builtin_cpu_supports("avx2");
  if (unit == VectorUnit::kAvx512Vbmi)
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("popcnt");
#endif
  return unit == VectorUnit::kNone;
}

VectorUnit BestVectorUnit() {
  for (VectorUnit unit : {VectorUnit::kAvx512Vbmi, VectorUnit::kAvx2})
    if (HasVectorUnit(unit)) return unit;
  return VectorUnit::kNone;
}

const ByteKernels& KernelsFor(VectorUnit unit) {
  FABRICD_CHECK(HasVectorUnit(unit));
#if defined(__x86_64__)
  if (unit == VectorUnit::kAvx512Vbmi) return kAvx512;
  if (unit == VectorUnit::kAvx2) return kAvx2;
#endif
  return kPlain;
}

const ByteKernels& Kernels() {
  static const ByteKernels& best = KernelsFor(BestVectorUnit());
  const ByteKernels* forced = in_use.load(std::memory_order_relaxed);
  return forced ? *forced : best;
}

void UseVectorUnit(VectorUnit unit) { in_use = &KernelsFor(unit); }

}  // namespace fabricd::routing
