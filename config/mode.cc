// SPDX-License-Identifier: Apache-2.0
#include "config/mode.h"

#include <fmt/format.h>

namespace fabricd::config {

bool IsMode(std::string_view word) {
  return word == "observe" || word == "standby" || word == "manage";
}

std::string ModeFault(std::string_view word) {
  if (word == "manage") return "";
  if (IsMode(word)) return fmt::format("{} is not built yet; only manage is possible", word);
  return fmt::format("expected manage (observe and standby are not built yet), got '{}'", word);
}

}  // namespace fabricd::config
