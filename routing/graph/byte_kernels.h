// SPDX-License-Identifier: Apache-2.0
// The inner loops by which hop costs become table entries, in a plain variant and in variants for
// the vector units of x86-64 (routing/plan/vector_unit.h). All variants give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "routing/plan/vector_unit.h"

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
};

constexpr uint8_t kMatchesNothing = 254;  // HopCosts never has it.

// REQUIRES: HasVectorUnit(unit).
const ByteKernels& KernelsFor(VectorUnit unit);
// Those of UnitInUse().
const ByteKernels& Kernels();

}  // namespace fabricd::routing
