// SPDX-License-Identifier: Apache-2.0
// Whether two plans, and the multicast trees made for the one before, may be under way together:
// all of them rise before they fall in one order of the switches.
#pragma once

#include "routing/plan/route_state.h"

namespace fabricd::routing {

// The links of both, each directed by its own plan's order, have no cycle. Plans without an order
// have one in common only if they are the same.
bool HaveCommonOrder(const RouteState& before, const RouteState& after);

}  // namespace fabricd::routing
