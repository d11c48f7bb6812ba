// SPDX-License-Identifier: Apache-2.0
// Ways within a given number of lanes, one or more, on any connected graph (the idea of Nue: Domke,
// Hoefler, Matsuoka, HPDC 2016). Each destination belongs to one lane. Ways to it grow backwards
// from it, each switch taking the least loaded arc whose dependency its lane still accepts; a
// destination that cannot be completed in that manner uses its lane's spanning tree, whose
// dependencies were put there first. Longer than shortest ways where a lane has no better.
#pragma once

#include "routing/engines/layered/lane_paths.h"

namespace fabricd::routing {

// Exactly `lanes` lanes (1-15), the service level depending on the destination alone. Sequential.
// LIDs that some tables cannot hold may stay without a way from some switches. Empty `out`: it
// would take more work than `budget` has left.
LaneWays FindEscapeWays(const SwitchGraph& graph, const ChannelGraph& channels,
                        const TargetList& targets, uint8_t lanes, WorkBudget& budget);

}  // namespace fabricd::routing
