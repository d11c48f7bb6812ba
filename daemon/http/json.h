// SPDX-License-Identifier: Apache-2.0
// Text as JSON.
#pragma once

#include <string>

#include <fmt/format.h>

#include "common/utf8.h"

namespace fabricd::http {

inline std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : Utf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace fabricd::http
