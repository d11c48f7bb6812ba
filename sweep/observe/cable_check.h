// SPDX-License-Identifier: Apache-2.0
// Finds misplaced cables, as problems for operators: cables that are not where those of other hosts
// suggest (fabric/rails.h). Pure. Takes as long as a small plan, so it runs where plans are
// computed.
#pragma once

#include <vector>

#include "fabric/hosts.h"
#include "fabric/snapshot.h"
#include "sweep/interface/problem.h"

namespace fabricd::sweep {

// Sorted by host in natural order, then by rail. Empty if there are no rails.
std::vector<Problem> FindMisplacedCables(const fabric::FabricSnapshot& snapshot,
                                         const fabric::HostPatterns& patterns);

}  // namespace fabricd::sweep
