// SPDX-License-Identifier: Apache-2.0
// Text as a JSON string (RFC 8259), in quotes; bytes that are not UTF-8 as '?'.
#pragma once

#include <string>

#include <fmt/format.h>

#include "common/utf8.h"

namespace fabricd {

inline std::string JsonText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : Utf8(text)) {
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace fabricd
