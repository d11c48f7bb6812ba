// SPDX-License-Identifier: Apache-2.0
// The patterns of quality.h that are sent by sets of hosts, on all rails at once.
#pragma once

#include <vector>

#include "routing/plan/parallel.h"
#include "routing/quality/path_walker.h"
#include "routing/quality/quality.h"

namespace fabricd::routing {

std::vector<RailPatterns> MeasureRails(const PathWalker& walker, const RailedHosts& rails,
                                       const QualityOptions& options, Parallel& parallel);

}  // namespace fabricd::routing
