// SPDX-License-Identifier: Apache-2.0
// The dimensions of a graph that is (nearly) a product of smaller ones: a torus, a mesh, a
// hypercube, whatever its ports are numbered like. Opposite sides of a square belong to one
// dimension; so do links that meet without being sides of one square, as the links of a ring do.
// A few missing links do not hide the dimensions, because most links that meet decide.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"

namespace fabricd::routing {

// [neighbour of SwitchGraph::neighbors] Its dimension, from 0, the same in both directions. A graph
// that is no product has one.
std::vector<uint32_t> GridClasses(const SwitchGraph& graph);

}  // namespace fabricd::routing
