// SPDX-License-Identifier: Apache-2.0
// Control characters in UTF-8, which a terminal interprets instead of showing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricd {

struct ControlCharacter {
  uint32_t code_point = 0;
  size_t at = 0, size = 0;  // Bytes.
};

// The first control character from byte `begin` on: C0 (line ends and tabs too), DEL, C1, or one
// that changes the direction of the following text. nullopt: there is none.
inline std::optional<ControlCharacter> FindControl(std::string_view text, size_t begin = 0) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  for (size_t at = begin; at < text.size(); ++at) {
    if (byte(at) < 0x20 || byte(at) == 0x7F) return ControlCharacter{byte(at), at, 1};
    // U+0080 to U+009F.
    if (byte(at) == 0xC2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0)
      return ControlCharacter{byte(at + 1), at, 2};
    // U+202A to U+202E, U+2066 to U+2069.
    if (byte(at) != 0xE2 || at + 2 >= text.size()) continue;
    const uint8_t second = byte(at + 1), third = byte(at + 2);
    if ((second == 0x80 && third >= 0xAA && third <= 0xAE) ||
        (second == 0x81 && third >= 0xA6 && third <= 0xA9))
      return ControlCharacter{0x2000u + ((second & 0x3Fu) << 6) + (third & 0x3Fu), at, 3};
  }
  return std::nullopt;
}

}  // namespace fabricd
