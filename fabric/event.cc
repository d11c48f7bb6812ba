// SPDX-License-Identifier: Apache-2.0
#include "fabric/event.h"

#include <algorithm>

namespace fabricd::fabric {

bool EventSubjects::Has(const FabricEvent& event) const {
  if (nodes.empty() && names.empty()) return true;
  const auto is_named = [&](Guid guid) {
    return guid && std::find(nodes.begin(), nodes.end(), guid) != nodes.end();
  };
  return is_named(event.node) || is_named(event.peer) ||
         std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return SubjectNames(event.subject, name); });
}

bool SubjectNames(const std::string& subject, const std::string& name) {
  // As store/sqlite_events.cc asks SQLite: each end begins behind an arrow and ends with a slash or
  // a blank.
  const std::string begin = "↔ " + name;
  return ("↔ " + subject + "/").find(begin + "/") != std::string::npos ||
         ("↔ " + subject + " ").find(begin + " ") != std::string::npos;
}

}  // namespace fabricd::fabric
