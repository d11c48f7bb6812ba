// SPDX-License-Identifier: Apache-2.0
// Whether old and new entries that are mixed follow one order of the switches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/plan/link_map.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {

// [switch] Null: some switch has no place in the order.
std::shared_ptr<const std::vector<uint32_t>> PositionsOf(const LinkMap& links,
                                                         const RoutingPlan& plan);

// By PushView::changed(): LIDs whose entries, old and new ones mixed, may not follow up*/down*.
// `proved`: the new entries alone are known to follow the order; else the old ones are.
std::vector<uint64_t> FindTurning(const PushView& view, const std::vector<uint32_t>& position,
                                  bool proved, Parallel& parallel);

}  // namespace fabricd::routing
