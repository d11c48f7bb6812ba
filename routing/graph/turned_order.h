// SPDX-License-Identifier: Apache-2.0
// The order that serves what an older one cannot serve any more. A lost cable may leave a switch
// with no neighbour above it: what it sends to the other switches at the top has no way in the
// order. Turning the cables between it and one neighbour round gives it one, and every way that
// rose and then fell still does: to that neighbour and on it fell and now rises first; what came
// from the neighbour falls now, as it did behind the switch. So no table that follows the old
// order has to be left for the new one.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/plan/link_map.h"

namespace fabricd::routing {

// `position`: [switch], all different for switches that are alive. Turns cables until each
// component of the fabric has one highest switch, or until no neighbour can be turned without
// making a way illegal. True: something was turned.
bool TurnOrder(const LinkMap& links, std::vector<uint32_t>& position);

}  // namespace fabricd::routing
