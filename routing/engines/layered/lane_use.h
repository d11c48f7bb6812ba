// SPDX-License-Identifier: Apache-2.0
// Which lanes finished ways use, and how traffic is spread over them.
#pragma once

#include "routing/engines/layered/lane_paths.h"
#include "routing/engines/layered/lane_targets.h"
#include "routing/graph/channel_order.h"
#include "routing/graph/graph.h"

namespace fabricd::routing {

// Moves sources to other lanes that already have all dependencies of their way, so that lanes carry
// about as much traffic each.
void EvenOutLanes(const SwitchGraph& graph, const ChannelGraph& channels, const TargetList& targets,
                  LaneWays& ways);

}  // namespace fabricd::routing
