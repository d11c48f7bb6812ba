// SPDX-License-Identifier: Apache-2.0
// End places: indices of destinations that stay when a neighbour goes.
#pragma once

#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/levels.h"
#include "routing/plan/tree_layout.h"

namespace fabricd::routing {

// Gives hosts the indices of their positions (positions.h), so that a missing one leaves a hole and
// the others keep theirs, unless so many are missing that whole turns of the up links would be
// idle. Where all are `remembered` (may be null), hosts and other end ports each keep the indices
// that they had. `destinations` are those of TopologicalOrder().
void NumberByPlace(const SwitchGraph& graph, const Levels& levels, const TreeLayout* remembered,
                   std::vector<Destination>& destinations);

// What to remember of them. Sorted.
std::vector<EndPlace> PlacesOf(const SwitchGraph& graph,
                               const std::vector<Destination>& destinations);

}  // namespace fabricd::routing
