// SPDX-License-Identifier: Apache-2.0
// sim/checkers: what must hold of every run, and the watches that find out.
//
// Checkers: what must hold of a managed fabric, read from the simulated devices and the MADs, never
// from what a manager says of itself. Here those of a fabric at rest; mad_watch.h judges every MAD
// as it happens, table_watch.h the tables at every step from one plan to the next. An empty answer
// means that all is well.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "routing/plan/plan.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

// Each names at most `limit` findings.

// Ports with a link whose state is not ACTIVE, but for those `beyond` all that a manager reaches.
std::vector<std::string> PortsNotActive(const SimFabric& fabric, size_t limit = 10,
                                        const absl::flat_hash_set<PortRef>& beyond = {});
// (source, LID of a destination) of end ports that cables connect, where data from the source does
// not arrive. To end ports that are `unwanted` none has to, nor over links that have such an end. A
// switch whose port 0 is unwanted need not send, nor need unwanted ports that hang on it; it has to
// be reached as long as its table has itself.
std::vector<std::string> BrokenPairs(const SimFabric& fabric, size_t limit = 10,
                                     const absl::flat_hash_set<PortRef>& unwanted = {});
// Switches that send a LID in a circle. (BrokenPairs names the pairs that suffer; here also LIDs
// that nobody holds count.)
std::vector<std::string> Loops(const SimFabric& fabric, size_t limit = 10);
// Virtual lanes on which the devices' own tables (forwarding and SL to VL) let packets wait for
// each other in a circle, when each source takes the plan's service levels. The plan's node indices
// are those of `snapshot`.
std::vector<std::string> CreditLoops(const SimFabric& fabric,
                                     const fabric::FabricSnapshot& snapshot,
                                     const routing::RoutingPlan& plan);
// LIDs held by two ports, or end ports of linked nodes without one, unless they are `beyond`.
std::vector<std::string> LidFaults(const SimFabric& fabric, size_t limit = 10,
                                   const absl::flat_hash_set<PortRef>& beyond = {});
// Table entries up to the LID top that differ from the plan, one for each block. The plan's node
// indices are those of `snapshot`.
std::vector<std::string> TablesUnlikePlan(const SimFabric& fabric,
                                          const fabric::FabricSnapshot& snapshot,
                                          const routing::RoutingPlan& plan, size_t limit = 10);
}  // namespace fabricd::sim
