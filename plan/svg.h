// SPDX-License-Identifier: Apache-2.0
// Drawings of a plan, as SVG text: where looking beats reading. Pure functions.
#pragma once

#include <string>

#include "plan/planning.h"

namespace fabricd::plan {

// The switches of the largest piece by tiers, hosts below; each pair of neighbours one line,
// coloured by the all-to-all load of its most loaded link relative to the mean, thicker the more
// cables it has. Pointing at a switch or line tells its name and figures. Loaded lines lie on top.
// REQUIRES for both: report.measured.
std::string DrawFabric(const Fabric& fabric, const EngineReport& report);

// How many links carry which all-to-all load, with the mean and the lower bound marked.
std::string DrawLoad(const EngineReport& report);

}  // namespace fabricd::plan
