// SPDX-License-Identifier: Apache-2.0
// Multicast trees as forwarding tables, and tables as trees.
#pragma once

#include <memory>
#include <vector>

#include "routing/plan/multicast_plan.h"

namespace fabricd::routing {

// The rows of these trees (by MLID, each once). Blocks and rows that are equal to those of `before`
// (may be null) are shared with it.
MulticastPlan PlanOfTrees(std::vector<std::shared_ptr<const MulticastTree>> trees,
                          const MulticastPlan* before);

// What switches hold ([NodeIndex], null: nothing), read as trees: one for each MLID with an entry.
// Nothing is said of whether they are trees.
MulticastPlan PlanOfRows(std::vector<std::shared_ptr<const MulticastRow>> rows);

}  // namespace fabricd::routing
