// SPDX-License-Identifier: Apache-2.0
// `fabricctl events`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/commands.h"

namespace fabricd::cli {

struct EventOptions {
  std::optional<Timeout> since;  // How far back; unset: the latest `last` ones.
  std::vector<std::string> types, nodes;
  std::string severity = "info";  // info, warning, error: this one or a higher one.
  uint32_t last = 0;              // 0: 100, or with `since` all.
  bool watch = false;
};
// The history, then with `watch` what happens, until the daemon ends it.
Result Events(Client& client, const Globals& globals, const EventOptions& options);

}  // namespace fabricd::cli
