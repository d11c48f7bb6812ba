// SPDX-License-Identifier: Apache-2.0
// Whether multicast trees may stay while plans without an order are written over each other. Where
// both follow an order of the switches, common_order.h answers.
#pragma once

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

// All that packets may wait for by entries that there may be at any time of the push, in whatever
// order and stages it is carried out, together with all turns from link to link that any of the
// trees uses has no cycle, on every lane. Then the trees may stay, and FindForest() finds that all
// their links fit.
// `trees`: all that switches may hold entries of.
bool TreesFit(const PushInput& input, const MulticastPlan& trees);

// Whether multicast trees that fit the plan can reach every switch.
bool HasRoomForTrees(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                     const RoutingPlan& plan);

}  // namespace fabricd::routing
