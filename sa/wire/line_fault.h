// SPDX-License-Identifier: Apache-2.0
// What is wrong with a line of a file that operators name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace fabricd::sa {

struct LineFault {
  size_t line = 0;  // From 1.
  std::string reason;
  friend bool operator==(const LineFault&, const LineFault&) = default;
};

// The first of them: "line 3: no ` mgid=0x`; line 7: ...".
inline std::string FaultsText(const std::vector<LineFault>& faults) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, faults.size()); ++i)
    text += fmt::format("{}line {}: {}", i == 0 ? "" : "; ", faults[i].line, faults[i].reason);
  if (faults.size() > kShown) text += fmt::format("; and {} more", faults.size() - kShown);
  return text;
}

}  // namespace fabricd::sa
