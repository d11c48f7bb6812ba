// SPDX-License-Identifier: Apache-2.0
// routing/multicast: multicast trees and the tables that follow from them.
//
// One multicast tree for each group, over the links that unicast routes may use.
//
// The rule. Packets of any member may enter a tree anywhere and leave each switch by all its other
// tree ports, so all turns of a tree are waits of one channel for another, in both directions. They
// fit the unicast plan's order of the switches if no switch has two tree links that lead up: then
// every packet rises before it falls, and all trees and all unicast routes together have no cycle.
// So a tree is a set of rising ways that meet in one switch on top. Where the order serves every
// pair of switches, the one on top of the order is such a switch for all; there is always a tree.
// Plans without an order give one by other means (multicast_channels.h).
//
// What stands is kept: of the trees before, every link that may be used and leads to a member stays
// as it is. Members that come are joined by the shortest rising way to the tree, else the tree gets
// a new top. A tree that is made anew has the top that is nearest to its farthest member; among
// equals the one that carries the fewest trees, so that trees spread. They are not moved to spread
// better.
//
// Pure. The same input gives the same bytes.
#pragma once

#include <memory>

#include "fabric/lid_table.h"
#include "fabric/multicast_groups.h"
#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

struct TreesInput {
  // The usable fabric (usable.h) that `plan` was made for.
  const fabric::FabricSnapshot& usable;
  const fabric::LidTable& lids;
  const RoutingPlan& plan;
  const fabric::MulticastGroups& groups;
  const MulticastPlan* before = nullptr;  // Null: nothing is to be kept.
};

// A tree for each group, in the order of the groups. Not proved yet (multicast_proof.h). Groups
// with fewer than two members, or with none that receives, have no entries.
MulticastPlan MakeTrees(const TreesInput& input);

}  // namespace fabricd::routing
