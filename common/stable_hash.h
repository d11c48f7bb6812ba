// SPDX-License-Identifier: Apache-2.0
// StableHash: a hash of 64 bits that is the same on every machine. Not for adversaries: it
// multiplies and rotates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fabricd {

class StableHash {
 public:
  // By words of 8 bytes, little-endian. The last one is filled up with zeros; the size tells them
  // from data.
  void Add(std::string_view bytes) {
    Add(bytes.size());
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
      Add(word);
    }
  }
  void Add(uint64_t value) { value_ = std::rotl((value_ ^ value) * 0x9E37'79B9'7F4A'7C15, 29); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF2'9CE4'8422'2325;
};

}  // namespace fabricd
