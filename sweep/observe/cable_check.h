// SPDX-License-Identifier: Apache-2.0
// Cables that are not where the hosts' others say they should be (fabric/rails.h), as problems for
// operators. Pure; takes as long as a small plan, so it runs where plans are computed.
#pragma once

#include <vector>

#include "fabric/hosts.h"
#include "fabric/snapshot.h"
#include "sweep/interface/problem.h"

namespace fabricd::sweep {

// By host in natural order, then rail. Empty where there are no rails.
std::vector<Problem> FindMisplacedCables(const fabric::FabricSnapshot& snapshot,
                                         const fabric::HostPatterns& patterns);

}  // namespace fabricd::sweep
