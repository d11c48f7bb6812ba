// SPDX-License-Identifier: Apache-2.0
// What runs of a scenario have concluded, as text and as JSON. docs/TESTING.md has the fields.
#pragma once

#include <string>
#include <vector>

#include "sim/verdicts/scenario_run.h"

namespace fabricd::sim {

// One object: {"topology", "interval_s", "runs": […]}.
std::string ToJson(const std::string& topology, const std::vector<ScenarioResult>& results);
// A few lines for each run.
std::string ToText(const ScenarioResult& result);

}  // namespace fabricd::sim
