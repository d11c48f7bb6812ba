// SPDX-License-Identifier: Apache-2.0
// Whether the forwarding tables at rest are as good as those of a manager that has just started:
// faults and holds that have ended are to leave nothing behind. It plans the fabric anew, without a
// memory, and compares.
#pragma once

#include <string>
#include <vector>

#include "fabric/snapshot.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

// Where all of `topology` is there and nothing is held or damped the tables have to be the same,
// else the most loaded cable must not carry far more; unless there is no push from what the
// switches hold to the fresh plan that takes nothing away. At most one finding.
std::vector<std::string> QualityFaults(const SimFabric& fabric, const Manager& master,
                                       const fabric::FabricSnapshot& topology);

}  // namespace fabricd::sim
