// SPDX-License-Identifier: Apache-2.0
// Searches in rows of bytes (table entries, hop costs), in a plain variant and in variants for the
// vector units of x86-64 (vector_unit.h). All variants give the same answers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "routing/plan/vector_unit.h"

namespace fabricd::routing {

// Lengths n are in bytes, and multiples of 64 unless said otherwise; nothing needs alignment.
struct ByteScan {
  // A bit for each of 64 bytes that equals `value`.
  uint64_t (*find)(const uint8_t* bytes, uint8_t value);
  // For each of n / 64 pieces: a bit for each byte whose table entry has bit 7 (`high`), and bit 6
  // (`low`). Codes from `used` on have neither.
  void (*classify)(const uint8_t* table, size_t used, const uint8_t* codes, size_t n,
                   uint64_t* high, uint64_t* low);
  // How many of n bytes equal `value`. Any n.
  size_t (*count)(const uint8_t* bytes, uint8_t value, size_t n);
};

// REQUIRES: HasVectorUnit(unit).
const ByteScan& ScanFor(VectorUnit unit);
// That of UnitInUse().
const ByteScan& Scan();

}  // namespace fabricd::routing
