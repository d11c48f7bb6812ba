// SPDX-License-Identifier: Apache-2.0
// The proof of a plan that follows an order of the switches (RoutingPlan::order), in one pass over
// its tables. A link is up when it raises the position. Shown for every switch s and every LID d of
// its connected component of the fabric:
//   - the entry leads up, or down, or delivers; it delivers at the owner only, by its own port;
//   - the switch at the end of a down link leads d down or delivers it.
// Then positions rise strictly before they fall strictly: every way ends, it can end only at the
// owner, and no channel waits for one that could wait for it, on any lane. Nothing is taken over
// from the engine but the tables and the order itself, and an order that is wrong proves nothing.
#pragma once

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"
#include "routing/proof/verifier.h"

namespace fabricd::routing {

// Whether the proof holds. Plans without an order, with several lanes or with pairs left behind
// (RoutingPlan::pending, stale) are none of its business: false.
bool OrderProves(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                 const RoutingPlan& plan, int threads = 0);

// As Verify(), whose verdict this is where the plan has no order or the proof fails.
VerifyReport VerifyOrdered(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                           const RoutingPlan& plan, int threads = 0);

}  // namespace fabricd::routing
