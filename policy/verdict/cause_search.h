// SPDX-License-Identifier: Apache-2.0
// Searches for common causes among the links of one assessment.
#pragma once

#include <span>

#include "policy/evidence.h"
#include "policy/verdict/fleet.h"

namespace fabricd::policy {

// The links of the whole fabric. `standing`: findings of the last assessment; they end where less
// than half of what they began with is left.
FleetReport FindCommonCauses(std::span<const LinkBrief> links, const FleetLimits& limits,
                             std::span<const CommonFinding> standing = {});

// Where ports wait for credits: one finding for each host that returns none, and one for all the
// rest. Explains nothing: links that wait are VICTIM already. Points them at their root.
void AddCongestion(std::span<const CongestionTree> trees, std::span<const LinkBrief> links,
                   const FleetLimits& limits, FleetReport& report);

}  // namespace fabricd::policy
