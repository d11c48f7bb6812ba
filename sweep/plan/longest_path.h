// SPDX-License-Identifier: Apache-2.0
// The longest path of a plan, which bounds how long packets can be in flight. Pure.
#pragma once

#include <cstdint>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

// Links on the longest path between two end ports, including both end links. Tries one destination
// for each switch. Quadratic in the number of switches: some 10 ms for a thousand.
uint32_t LongestPath(const routing::RoutingPlan& plan, const fabric::FabricSnapshot& snapshot,
                     const fabric::LidTable& lids);

}  // namespace fabricd::sweep
