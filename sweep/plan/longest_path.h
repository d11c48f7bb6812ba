// SPDX-License-Identifier: Apache-2.0
// How long the paths of a plan are: packets that are under way need no longer than their hops take.
// Pure.
#pragma once

#include <cstdint>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

// Links on the longest path between two end ports, both end links counted, by one destination at
// each switch. Quadratic in the switches: some 10 ms for a thousand of them.
uint32_t LongestPath(const routing::RoutingPlan& plan, const fabric::FabricSnapshot& snapshot,
                     const fabric::LidTable& lids);

}  // namespace fabricd::sweep
