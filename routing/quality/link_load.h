// SPDX-License-Identifier: Apache-2.0
// LinkLoad: how many host pairs a finished plan sends over each direction of each switch-to-switch
// cable when every host end port sends one unit to the base LID of every other (the edge forwarding
// index of the tables). It reads the tables alone, so it judges any engine's plan and tables that
// were read from a file.
//
// Each block of 64 LIDs is one pass over the switches: with an order, first the entries that rise,
// lowest switch first, then those that fall, highest switch first. Where that does not deliver all
// (no order, or tables that do not follow it) the block is walked destination by destination.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

struct LinkLoad {
  // [i] Pairs over SwitchGraph::cables[i], which leaves the switch that owns the list it is in.
  std::vector<uint32_t> cable;
  uint32_t max = 0;
  // Ordered pairs of host end ports of this graph whose walk meets kNoRoute, a port that leads
  // nowhere, or itself; or ends at a port that is not the owner's.
  uint64_t unreached_pairs = 0;
  // Hosts to which the passes in order did not deliver all, so that each was walked by itself.
  uint32_t walked_destinations = 0;
};

// The port that sends over SwitchGraph::cables[cable].
PortRef SendingEnd(const SwitchGraph& graph, size_t cable);

// The same for any thread count. Nothing is assumed of the plan but that its rows belong to the
// graph's switches; a null row serves nothing.
LinkLoad AllToAllLoad(const SwitchGraph& graph, const RoutingPlan& plan, Parallel& parallel);
// Of tables that are no plan yet: rows by switch, null ones allowed; `order` empty: none.
LinkLoad AllToAllLoad(const SwitchGraph& graph, const std::vector<const Row*>& rows,
                      const std::vector<uint32_t>& order, Parallel& parallel);

}  // namespace fabricd::routing
