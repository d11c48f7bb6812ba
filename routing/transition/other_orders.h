// SPDX-License-Identifier: Apache-2.0
// Orders of the switches that a plan could be led to when its own, or none, serves all pairs no
// more: the fewer turns of what packets do now an order forbids, the more entries may stay.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/transition/push_plan.h"

namespace fabricd::routing {

// Positions ([NodeIndex]), the most promising first; each serves all pairs that `usable` connects.
// `tables`: as they are, and the plan of one lane that they were made by, whose order is kept as
// far as it has one. At most `most`.
std::vector<std::vector<uint32_t>> OtherOrders(const PushInput& tables, const LinkMap& usable,
                                               size_t most);

}  // namespace fabricd::routing
