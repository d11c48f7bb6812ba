// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

// Of table.cc.
constexpr std::array<std::string_view, 4> kColors = {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"};

struct Character {
  uint32_t code_point = 0;
  size_t size = 0;  // Bytes; 0: this one is shown as it is.
};

// C0, DEL and C1, and what turns the direction of the text behind it.
Character ControlAt(std::string_view text) {
  const auto byte = [&](size_t at) -> uint32_t {
    return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return {byte(0), 1};
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return {byte(1), 2};
  if (byte(0) == 0xE2 && byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE)
    return {0x2000 + (byte(2) & 0x3F), 3};  // U+202A to U+202E.
  if (byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9)
    return {0x2040 + (byte(2) & 0x3F), 3};  // U+2066 to U+2069.
  return {};
}

std::string Written(uint32_t code_point) {
  if (code_point == '\n') return "\\n";
  if (code_point == '\t') return "\\t";
  return code_point < 0x100 ? fmt::format("\\x{:02x}", code_point)
                            : fmt::format("\\u{:04x}", code_point);
}

// `keep(rest)`: how many bytes at the beginning of `rest` stay although they are controls.
template <typename Keep>
std::string WriteOut(std::string_view text, Keep&& keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character control = ControlAt(text);
    const size_t kept = control.size == 0 ? 1 : keep(text);
    if (kept > 0)
      out += text.substr(0, kept);
    else
      out += Written(control.code_point);
    text.remove_prefix(kept > 0 ? kept : control.size);
  }
  return out;
}

}  // namespace

std::string OneLine(const std::string& text) {
  return WriteOut(text, [](std::string_view) { return 0; });
}

std::string ForTerminal(const std::string& text) {
  return WriteOut(text, [](std::string_view rest) -> size_t {
    if (rest[0] == '\n' || rest[0] == '\t') return 1;
    const auto* color = std::find_if(kColors.begin(), kColors.end(),
                                     [&](std::string_view each) { return rest.starts_with(each); });
    return color == kColors.end() ? 0 : color->size();
  });
}

}  // namespace fabricd::cli
