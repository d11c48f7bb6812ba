// SPDX-License-Identifier: Apache-2.0
// Components of SA records: which bits of the encoded record bit n of a ComponentMask stands for
// (IBA vol 1 §15.2.5, the "component" column of its tables), and with that, whether a record is one
// that a query asks for. Works on encoded bytes, so one routine serves every attribute.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mad/wire/sa_header.h"

namespace fabricd::wire {

// Bits of a record, counted from the most significant one of byte 0.
struct Component {
  uint16_t at = 0;
  uint16_t width = 0;
};

struct RecordLayout {
  SaAttribute attribute{};
  size_t bytes = 0;                       // In a table: a multiple of 8.
  std::span<const Component> components;  // [number]
};

// nullptr: not an attribute that is queried by components. Valid for ever.
const RecordLayout* LayoutOf(SaAttribute attribute);

// Component 0 of the records of devices. REQUIRES: at least two bytes.
Lid LidOfRecord(std::span<const uint8_t> record);

// A query, made ready for comparing it with many records.
class RecordMatcher {
 public:
  static constexpr size_t kMostBytes = 176;

  // `query` holds at least layout.bytes. Bits of the mask beyond the last component select nothing.
  RecordMatcher(const RecordLayout& layout, uint64_t component_mask,
                std::span<const uint8_t> query);
  // REQUIRES: record.size() is layout.bytes.
  bool Matches(std::span<const uint8_t> record) const {
    for (size_t i = 0; i < record.size(); ++i)
      if (((record[i] ^ query_[i]) & care_[i]) != 0) return false;
    return true;
  }
  // The component may have any value.
  void Ignore(const Component& component);

 private:
  std::array<uint8_t, kMostBytes> query_{}, care_{};
};

}  // namespace fabricd::wire
