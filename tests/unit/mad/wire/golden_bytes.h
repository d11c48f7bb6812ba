// SPDX-License-Identifier: Apache-2.0
// Data of a MAD written by hand, and the codecs of an attribute against it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace fabricd::wire::testing {

// These bytes from offset `at`; zeros around them.
struct Piece {
  size_t at;
  std::vector<uint8_t> bytes;
};

template <size_t kBytes>
std::array<uint8_t, kBytes> Data(const std::vector<Piece>& pieces) {
  std::array<uint8_t, kBytes> data{};
  for (const Piece& piece : pieces) {
    std::copy(piece.bytes.begin(), piece.bytes.end(),
              data.begin() + static_cast<ptrdiff_t>(piece.at));
  }
  return data;
}

// `value` is what `data` says, and nothing else is sent for it, whatever was in the buffer.
template <typename Attribute, size_t kBytes>
void ExpectBothWays(const Attribute& value, const std::array<uint8_t, kBytes>& data) {
  EXPECT_EQ(Attribute::Decode(data), value);
  std::array<uint8_t, kBytes> sent;
  sent.fill(0xEE);
  value.Encode(sent);
  EXPECT_EQ(sent, data);
}

}  // namespace fabricd::wire::testing
