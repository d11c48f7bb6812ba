// SPDX-License-Identifier: Apache-2.0
#include "common/utf8.h"

#include <cstddef>
#include <cstdint>

namespace fabricd {
namespace {

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15 table 3-7), 0 if there is none.
size_t SequenceLength(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto in = [](int value, int low, int high) { return value >= low && value <= high; };
  const int first = byte(at);
  const int second = byte(at + 1);
  if (first < 0x80) return 1;
  if (in(first, 0xC2, 0xDF)) return in(second, 0x80, 0xBF) ? 2 : 0;
  const bool third = in(byte(at + 2), 0x80, 0xBF);
  if (in(first, 0xE0, 0xEF)) {
    const int low = first == 0xE0 ? 0xA0 : 0x80;
    const int high = first == 0xED ? 0x9F : 0xBF;
    return in(second, low, high) && third ? 3 : 0;
  }
  if (!in(first, 0xF0, 0xF4)) return 0;
  const int low = first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xF4 ? 0x8F : 0xBF;
  return in(second, low, high) && third && in(byte(at + 3), 0x80, 0xBF) ? 4 : 0;
}

}  // namespace

std::string Utf8(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    out += length > 0 ? text.substr(at, length) : "?";
    at += length > 0 ? length : 1;
  }
  return out;
}

}  // namespace fabricd
