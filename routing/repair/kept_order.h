// SPDX-License-Identifier: Apache-2.0
// The order of the old plan with the switches that come.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/plan/link_map.h"
#include "routing/plan/row.h"

namespace fabricd::routing {

// A switch that comes back takes its old place in the order; a new one the lowest of all, where
// every way to it stays legal and none leads through it.
// [NodeIndex] `old_order`: the same; `rows`: RepairView::rows.
std::vector<uint32_t> OrderWith(const std::vector<uint32_t>& come,
                                const std::vector<uint32_t>& old_order, const LinkMap& links,
                                const std::vector<const Row*>& rows);

}  // namespace fabricd::routing
