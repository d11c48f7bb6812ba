// SPDX-License-Identifier: Apache-2.0
// The inner loops over bytes (hop costs, table entries), in a plain variant and in variants for the
// vector units of x86-64. Which one runs is decided when the program runs, so that one binary
// serves every machine; all variants give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fabricd::routing {

// What to compare for one neighbour: equal bytes mean that the neighbour may be the next hop.
struct CostMatch {
  const uint8_t* costs;
  const uint8_t* want;
};

// Lengths n are in bytes, and multiples of 64 unless said otherwise; nothing needs alignment.
struct ByteKernels {
  const char* name;
  // out = the lowest of `rows` plus one; HopCosts::kNoWay for what has more than kMostHops hops,
  // and where there are no rows.
  void (*add_hop)(const uint8_t* const* rows, size_t count, size_t n, uint8_t* out);
  // total = down where that is a way.
  void (*prefer_down)(const uint8_t* down, size_t n, uint8_t* total);
  // What the next hop must have: one hop less than `total`, in want_up where there is no way down
  // (`down` null: everywhere), in want_down elsewhere. kMatchesNothing for 0, for kNoWay and in the
  // other of the two.
  void (*split_wants)(const uint8_t* total, const uint8_t* down, size_t n, uint8_t* want_down,
                      uint8_t* want_up);
  // For the 64 columns from `column`: masks[i] has a bit for each at which arc i matches, last[c]
  // becomes the highest such i (below 256), and keeps its value where there is none.
  void (*match)(const CostMatch* arcs, size_t count, size_t column, uint64_t* masks, uint8_t* last);
  // out[i] = table[codes[i]] for codes below `used`, and 255 for code 255. Any n. Tables have 256
  // bytes; no code from `used` to 254 may occur.
  void (*look_up)(const uint8_t* table, size_t used, const uint8_t* codes, size_t n, uint8_t* out);
  // The same for those of 64 codes that have a bit in `wanted`; the others keep what they have.
  void (*look_up_some)(const uint8_t* table, size_t used, const uint8_t* codes, uint64_t wanted,
                       uint8_t* out);
  // A bit for each of 64 bytes that equals `value`.
  uint64_t (*find)(const uint8_t* bytes, uint8_t value);
  // For each of n / 64 pieces: a bit for each byte whose table entry has bit 7 (`high`), and bit 6
  // (`low`). Codes from `used` on have neither.
  void (*classify)(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                   uint64_t* high, uint64_t* low);
  // How many of n bytes equal `value`. Any n.
  size_t (*count)(const uint8_t* bytes, uint8_t value, size_t n);
};

constexpr uint8_t kMatchesNothing = 254;  // HopCosts never has it.

enum class VectorUnit { kNone, kAvx2, kAvx512Vbmi };
bool HasVectorUnit(VectorUnit unit);
// REQUIRES: HasVectorUnit(unit).
const ByteKernels& KernelsFor(VectorUnit unit);
// The fastest of this machine, unless a test has asked for another.
const ByteKernels& Kernels();
// For tests and benchmarks: not while anything is being computed. REQUIRES: HasVectorUnit(unit).
void UseVectorUnit(VectorUnit unit);
VectorUnit BestVectorUnit();

}  // namespace fabricd::routing
