// SPDX-License-Identifier: Apache-2.0
// The plan of least change: given a plan that was proved, what it was made for and what is there
// now, the same plan with only those entries changed that have to. It takes microseconds to
// milliseconds where a full computation takes a hundred, and writes tens of blocks where that may
// write thousands.
//
// An entry is broken when its port no longer leads where it did, or when it leads to a broken
// entry. The order of the old plan (RoutingPlan::order) is kept, and with it the proof that nothing
// loops: a switch that has a pure way down goes down, any other goes up. The broken entry nearest
// to the break chooses anew among ports that give a way of the same length and kind, each switch
// starting at another one so that what moved spreads; where there is none, those that led to it
// choose, and where nobody has any, all broken entries of that destination get the best ways that
// the order allows. Parallel cables to the same switch come first.
//
// A plan without an order keeps its channel dependencies instead, all of which new entries have to
// agree with (channel_repair.h). It serves all pairs at once, except those of switches' LIDs that
// those dependencies have no way for.
//
// Links and switches that come back change nothing but what was broken. A switch that comes back
// with tables (RepairOptions::applied) keeps the entries that lead to their LIDs. The ideal plan is
// the engine's own (PlanBuilder shares what is equal with the previous plan).
//
// Pure. The same input gives the same bytes whatever the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/link_map.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"
#include "routing/plan/plan_diff.h"
#include "routing/plan/route_state.h"
#include "routing/plan/usable.h"
#include "routing/proof/verifier.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

struct RepairOptions {
  // True: only what carries traffic between hosts is mended, and what stands in blocks that are
  // written for it; the rest is left in RoutingPlan::pending. False: all that the order can serve.
  bool urgent = true;
  int threads = 0;  // 0: all cores.
  // Ports looked at, about, for what is new; where it would take more, a full plan takes less time.
  uint64_t most_steps = 30'000'000;
  // UsableFabric::cut: what is left on these ports is not stale but taken away, unless pending.
  std::vector<PortRef> cut;
  // What the switches hold; null: not known. Of switches that come back, what stays. For plans
  // without an order also what may be under way besides the plan, while an earlier push is not
  // done. And the fabric as observed where routes may not use all of it; null: they may.
  const AppliedTables* applied = nullptr;
  const fabric::FabricSnapshot* observed = nullptr;
  // Positions ([NodeIndex]) to be followed in place of the old plan's order, or of none: entries
  // that do not are broken; null: the old plan's.
  const std::vector<uint32_t>* order = nullptr;
  // Multicast trees that are there, which such plans leave room for; null: none.
  const MulticastPlan* trees = nullptr;
};

struct Repair {
  RouteState after;    // Its plan shares all rows and pages that did not change.
  PlanDiff diff;       // From the old plan.
  VerifyReport proof;  // By change_proof.h.
};

// The plan for `snapshot` and `lids`, later generations of those of `before`.
// kFailedPrecondition: a full plan is needed: the old one has several lanes, a way exists but
// not in its order or by its dependencies, parts of the fabric were joined, a table has another
// size or does not hold all LIDs, too much is new; the message says which. kInternal: the result
// did not pass the proof, which it names.
absl::StatusOr<Repair> RepairPlan(const RouteState& before, const fabric::FabricSnapshot& snapshot,
                                  const fabric::LidTable& lids, const RepairOptions& options = {});

}  // namespace fabricd::routing
