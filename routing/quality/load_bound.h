// SPDX-License-Identifier: Apache-2.0
// What no tables can beat: lower bounds on the most loaded cable direction when every host end port
// sends one unit to every other (routing/quality/link_load.h measures the same).
//
// cut: the hosts of one leaf, or of one component of the tree below a rank, send to all others and
//   receive from them over the cables that leave the component, at best evenly.
// dual: for any lengths of the arcs, total demand times shortest legal distance is at most the
//   highest load times the sum of the lengths (the linear-programming dual of maximum concurrent
//   flow; Shahrokhi and Matula, J. ACM 37(2), 1990). Lengths start equal and grow where the flow
//   over shortest ways is high; each round gives a valid bound and the best is kept.
#pragma once

#include <cstdint>
#include <functional>

#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

struct LoadBound {
  double cut = 0, dual = 0;  // Host pairs on one cable direction.
  double value() const { return cut > dual ? cut : dual; }
};

// The components that the switches of rank < `below` form among themselves: hosts on them, and
// cables from them to switches above.
void ForEachComponent(const SwitchGraph& graph, const Levels& levels, uint32_t below,
                      const std::function<void(uint64_t hosts, uint64_t cables)>& visit);

// The cut alone, which is quick and nearly always the higher one.
double CutBound(const SwitchGraph& graph, const Levels& levels);

// With an order only ways that rise and then fall count for the dual; `order` empty: all ways, and
// equal lengths only. The rounds are bounded by the size of the graph, never by time.
LoadBound BoundLoad(const SwitchGraph& graph, const Levels& levels, const Order& order,
                    Parallel& parallel);

}  // namespace fabricd::routing
