// SPDX-License-Identifier: Apache-2.0
#include "config/mode.h"

#include <fmt/format.h>

#include "common/check.h"

namespace fabricd::config {

std::string ModeFault(std::string_view word) {
  if (word.empty() || ParseSmMode(word)) return "";
  return fmt::format("expected observe, standby or manage, got '{}'", word);
}

ModeChoice ChooseMode(std::string_view word, std::string_view fabric, bool was_master) {
  FABRICD_CHECK(ModeFault(word).empty(), "mode {}", word);
  if (!word.empty()) return {*ParseSmMode(word), ""};
  if (fabric.starts_with("sim:")) return {SmMode::kManage, ""};
  if (!was_master) return {SmMode::kObserve, ""};
  return {SmMode::kManage,
          "no mode is configured, and the state directory is of a fabricd that has managed this "
          "subnet: it goes on managing. Write 'mode: manage' to the configuration: without it, a "
          "fabricd with an empty state directory only observes"};
}

}  // namespace fabricd::config
