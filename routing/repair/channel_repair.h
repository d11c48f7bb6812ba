// SPDX-License-Identifier: Apache-2.0
// Least change for plans that follow no order of the switches (RoutingPlan::order). What keeps them
// free of deadlock is that their channel dependencies make no circle. All dependencies of the
// tables as they are stay, since traffic goes by them until the last write; new entries may add
// only what makes no circle with them. So old and new tables are free of credit loops together, in
// any mixture that push_plan.h makes, and nothing has to be taken away before it is replaced.
//
// For each LID the broken entries nearest to the break choose among neighbours from which it
// arrives, shortest way first, and what led to them works again as it is. Where none has a
// neighbour that the dependencies allow, those that led there may choose as well. LIDs of end ports
// come before those of switches. One that is left without a way comes first in another attempt; if
// that does not help, its broken entries are taken out of the account, since a push can take them
// away first without loss (push_stages.h); at last a neighbour from which it still arrives may take
// another way.
//
// Multicast trees are parts of one forest whose turns are dependencies like any others
// (channel_forest.h). As long as it leaves every LID a way, new entries agree with such a forest
// too: else repair after repair may fill what room there is, until no tree reaches some switch.
//
// Sequential but for the collection of the dependencies, which looks at every entry once; about
// switches + links for each LID that has a broken entry.
#pragma once

#include <vector>

#include <absl/status/statusor.h>

#include "routing/plan/link_map.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"
#include "routing/repair/block_repair.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

struct ChannelRepairInput {
  // Its position is not asked for, its components are.
  const RepairView& view;
  // As observed: what old entries lead over although no new one may. Same switch numbers, and
  // perhaps more.
  const LinkMap& observed;
  const AppliedTables& applied;  // What packets may go by besides the old plan.
  const RoutingPlan& old_plan;   // Of one lane.
  // Whose links the forest keeps where it can; null: nobody needs one.
  const MulticastPlan* trees = nullptr;
  int threads = 0;
};

// By task; of each task only the LIDs, not the switches, are looked at. kFailedPrecondition: the
// old plan's dependencies make a circle on the links that there are, or some LID finds no way.
absl::StatusOr<std::vector<BlockResult>> MendByChannels(const ChannelRepairInput& input,
                                                        const std::vector<const BlockTask*>& tasks);

}  // namespace fabricd::routing
