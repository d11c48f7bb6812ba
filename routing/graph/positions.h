// SPDX-License-Identifier: Apache-2.0
// Positions: the places for host ports in topological order, those without one left as holes. A
// shift permutation sends from each position to the one k further, so where a hole is left the
// others keep their place, as ranks do in a job that was laid out on the full fabric.
//
// Switches come in the recursive order of TopologicalOrder(), the host ports of one switch by port.
// Where the switches of one group (the leaves below the same parents, directly or through other
// leaves) agree on which ports are for hosts, each of them has one position per such port. Where
// they do not (a port that carries a host on one and a cable to a switch on another), each has as
// many positions as the fullest of the group, the holes behind its hosts. A switch on which no host
// is left has no positions: nothing tells it from a spine.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/levels.h"

namespace fabricd::routing {

inline constexpr uint32_t kHole = 0xFFFFFFFF;

// [position] Index into SwitchGraph::ends, or kHole.
std::vector<uint32_t> FindPositions(const SwitchGraph& graph, const Levels& levels);

}  // namespace fabricd::routing
