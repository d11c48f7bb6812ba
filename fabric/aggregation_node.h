// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fabric/snapshot.h"

namespace fabricd::fabric {

// The adapter inside a switch that computes reductions (SHARP): no host, though a channel adapter.
bool IsAggregationNode(const Node& node);

}  // namespace fabricd::fabric
