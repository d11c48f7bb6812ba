// SPDX-License-Identifier: Apache-2.0
// The results of all blocks of a repair, written into the plan.
#pragma once

#include <vector>

#include "common/ids.h"
#include "fabric/lid_table.h"
#include "routing/plan/link_map.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan.h"
#include "routing/plan/route_state.h"
#include "routing/repair/block_repair.h"

namespace fabricd::routing {

struct RepairedBlocks {
  const RouteState& before;
  const LinkMap& links;
  const LinkChanges& changes;
  const fabric::LidTable& lids;
  const std::vector<const BlockTask*>& tasks;
  const std::vector<BlockResult>& results;  // [task]
  const std::vector<PortRef>& cut;          // RepairOptions::cut.
};

// `plan`: the plan of before, without the rows of switches that are gone. It gets new rows, and
// which LIDs and pairs are stale or pending.
void WriteResults(const RepairedBlocks& repaired, Parallel& parallel, RoutingPlan& plan);

// Whether any entry leads by the port.
bool IsUsed(const RoutingPlan& plan, PortRef port);

}  // namespace fabricd::routing
