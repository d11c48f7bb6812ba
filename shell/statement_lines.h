// SPDX-License-Identifier: Apache-2.0
// The lines of store::etcd::NodeStatement::about: each is a word, a space and a value.
#pragma once

#include <algorithm>
#include <string_view>

namespace fabricd::shell {

// The value of the first line with this word. Empty: there is none.
inline std::string_view FindValue(std::string_view about, std::string_view word) {
  while (!about.empty()) {
    const std::string_view line = about.substr(0, about.find('\n'));
    if (line.starts_with(word) && line.substr(word.size()).starts_with(' '))
      return line.substr(word.size() + 1);
    about.remove_prefix(std::min(line.size() + 1, about.size()));
  }
  return {};
}

}  // namespace fabricd::shell
