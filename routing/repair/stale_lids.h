// SPDX-License-Identifier: Apache-2.0
// The entries towards end ports that are not there. A host that reboots comes back where it was, so
// neither its going nor its coming has to write a table: what leads to it stays as long as it obeys
// the order of the plan that all others go by, and ends at the port where it hung.
#pragma once

#include <vector>

#include "routing/repair/repair.h"

namespace fabricd::routing {

// Puts the old entries of LIDs that hang nowhere into a plan that an engine made anew, and names
// them in RoutingPlan::stale. Left out are LIDs of which an entry would break the order, leads into
// another end port, or uses a port of `cut` (UsableFabric::cut), those that are `isolated`
// (sorted), and all where one of the plans has no order or several lanes. `observed`: the links
// that there are, whether routes may use them or not.
void KeepStaleLids(const RoutingPlan& before, const LinkMap& observed,
                   const std::vector<PortRef>& cut, const std::vector<Lid>& isolated,
                   RouteState& after);

// The same for entries that the switches hold towards LIDs of nodes that do not respond, that is,
// which lead to an ACTIVE port with nothing known behind it: a manager that takes over, or whose
// own port was down, does not know these nodes. Where they cannot stay, the LID takes the routes to
// the switch of that port.
void KeepHeldLids(const AppliedTables& held, const LinkMap& observed,
                  const std::vector<PortRef>& cut, const std::vector<Lid>& isolated,
                  RouteState& after);

}  // namespace fabricd::routing
