// SPDX-License-Identifier: Apache-2.0
// Which links multicast may use beside unicast routes that follow no order of the switches. All
// waits of the unicast ways of one lane are put into a ChannelOrder; then links are added to one
// forest, as long as all turns from link to link, in both directions, still make no cycle with what
// is there. Every tree of the lane is a part of that forest, so all of them fit together.
//
// Pure.
#pragma once

#include <span>
#include <vector>

#include "fabric/lid_table.h"
#include "routing/multicast/multicast_graph.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

struct MulticastForest {
  // Arcs up lead to the root of their part of the forest; arcs that are not in it are closed.
  Orientation orientation;
  bool joins_all = false;  // Whatever links connect.
};
// Links of the trees in `before` are tried first, so that they stay.
MulticastForest FindForest(const MulticastGraph& graph, const fabric::LidTable& lids,
                           const RoutingPlan& plan, uint8_t lane,
                           std::span<const MulticastTree* const> before);

}  // namespace fabricd::routing
