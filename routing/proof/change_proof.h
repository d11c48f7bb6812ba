// SPDX-License-Identifier: Apache-2.0
// Proof of a change, at the cost of what changed. It rests on the order that the plans share
// (RoutingPlan::order): if on the entries of each LID no arc that falls is followed by one that
// rises, there is neither a loop nor a credit loop, and who hands over to an entry that hands over
// arrives. That is a question to each entry and the next one only, so after a change only changed
// entries and what hands over to them has to be asked.
//
// It shares no code with the repair, only the map of the links, which has its own tests.
#pragma once

#include <optional>
#include <string>

#include "fabric/lid_table.h"
#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "routing/plan/plan_diff.h"
#include "routing/proof/verifier.h"

namespace fabricd::routing {

struct PlanChange {
  const LinkMap& old_links;
  const RoutingPlan& old_plan;  // Proved on old_links.
  const LinkMap& links;
  const RoutingPlan& plan;     // To be proved on `links`.
  const LinkChanges& changes;  // From old_links to links.
  const PlanDiff& diff;        // From old_plan to plan.
};

// The first fault found by the order; none: `plan` is proved. A plan may be free of loops and have
// a fault here: orders are sufficient, not necessary.
std::optional<std::string> FindChangeFault(const PlanChange& change);

// By the order where that is enough, else by the full verifier.
VerifyReport ProveChange(const PlanChange& change, const fabric::LidTable& lids, int threads = 0);

}  // namespace fabricd::routing
