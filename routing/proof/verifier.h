// SPDX-License-Identifier: Apache-2.0
// routing/proof: what shows that a plan is right before it is written. Shares no code with
// engines.
//
// The independent judge of every plan (DESIGN §7): it reads only the tables and the snapshot, and
// shares no code with the engines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

struct VerifyReport {
  bool ok = false;
  uint64_t unreachable_pairs = 0;  // (source switch, LID) pairs neither exempt nor pending.
  uint64_t loops = 0;
  bool deadlock_free = false;  // Channel-dependency graph acyclic on each lane.
  bool by_order = false;       // Shown by the plan's order alone (order_proof.h).
  std::vector<std::string>
      faults;  // The first few, by name: "switch A (0x…): LID 7 of node B has no route".
};

// Checks that every LID in `lids` is reached from every switch (and so from every end port) of its
// connected component unless exempt or pending, that no walk loops, that it ends at the owner's own
// port, and that the channel-dependency graph of all end-port-to-LID and switch-to-LID paths is
// acyclic, on each lane of the plan with the paths whose service level takes it.
VerifyReport Verify(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                    const RoutingPlan& plan, int threads = 0);

}  // namespace fabricd::routing
