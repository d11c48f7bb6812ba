// SPDX-License-Identifier: Apache-2.0
// Numbers in text: the whole text must be one number. No blanks, no '+'.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace fabricd {

// nullopt: not a number in `base`, or out of the range of T.
template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>)
    result = std::from_chars(text.data(), end, value);
  else
    result = std::from_chars(text.data(), end, value, base);
  return result.ec == std::errc() && result.ptr == end ? std::optional(value) : std::nullopt;
}

inline bool HasHexPrefix(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X");
}

// Hexadecimal, with or without 0x.
template <typename T = uint64_t>
std::optional<T> ParseHex(std::string_view text) {
  return ParseNumber<T>(HasHexPrefix(text) ? text.substr(2) : text, 16);
}

// Hexadecimal after 0x, otherwise decimal.
template <typename T>
std::optional<T> ParseDecimalOrHex(std::string_view text) {
  return HasHexPrefix(text) ? ParseHex<T>(text) : ParseNumber<T>(text);
}

}  // namespace fabricd
