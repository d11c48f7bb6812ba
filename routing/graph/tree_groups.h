// SPDX-License-Identifier: Apache-2.0
// Which switches of a tree share their parents, and in which order those are counted: the groups
// behind the slots (slots.h).
#pragma once

#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/levels.h"
#include "routing/plan/tree_layout.h"

namespace fabricd::routing {

// The groups of the graph's switches, by rank. Those of `remembered` (may be null) that still
// explain every cable stay as they are, with the parents and cables that are gone. Where nothing is
// remembered, what the siblings and the other groups of the rank still show tells what is gone.
std::vector<TreeGroup> FindGroups(const SwitchGraph& graph, const Levels& levels,
                                  const TreeLayout* remembered);

}  // namespace fabricd::routing
