// SPDX-License-Identifier: Apache-2.0
// Text as YAML in double quotes. The loader takes no control characters, so none are written.
#pragma once

#include <string>

namespace fabricd::config {

inline std::string YamlText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace fabricd::config
