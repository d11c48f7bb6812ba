// SPDX-License-Identifier: Apache-2.0
// The judge of multicast trees, together with the unicast plan that they go with. It reads only the
// tables, the groups and the snapshot (by Wiring), and shares no code with what made the trees.
#pragma once

#include "fabric/lid_table.h"
#include "fabric/multicast_groups.h"
#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"
#include "routing/proof/verifier.h"

namespace fabricd::routing {

// REQUIRES: `plan` was proved for `usable` and `lids`; where it has an order, by that order.
//
// Shown for each group: a packet of each member that is served, followed from its switch through
// the tables, comes to each switch at most once, to all members that receive and are served, and to
// nobody else. A member is left out only for one of the reasons that the tree gives, and no entry
// is beyond its switch's MulticastFDBCap, for an MLID of no group, or leads to a link that carries
// less than the group needs. Shown for all together: each turn from port to port of an entry, in
// both directions, rises before it falls in the plan's order; for a plan without an order, the
// turns of all groups of a lane and all unicast ways of it make no cycle of channels.
VerifyReport VerifyMulticast(const fabric::FabricSnapshot& usable, const fabric::LidTable& lids,
                             const RoutingPlan& plan, const fabric::MulticastGroups& groups,
                             const MulticastPlan& trees);

}  // namespace fabricd::routing
