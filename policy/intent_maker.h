// SPDX-License-Identifier: Apache-2.0
// From holds and damped links to the Intent that routing and port settings obey:
//   cordon    nothing
//   drain     hard: the target's links are closed; a switch is passed round; the end ports of a
//             host or an HCA have no route. soft: links and switches are avoided
//   isolate   end ports have no route and no partition, links are closed, a switch is passed round
//             and has no route
//   disable   the switch ports that face the target are down, their links closed; the SM's own
//             link stays up
// What a target names and is not in the fabric now stays in the Intent as long as it was ever seen.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/intent.h"
#include "fabric/snapshot.h"
#include "policy/holds.h"

namespace fabricd::policy {

// `suppressed`: one end of each link that damping keeps out of routes, in any order. `sm_port`: no
// end of its link is disabled, for the SM could not enable it again. (A guard refuses such a hold,
// but the SM may have moved since.)
fabric::Intent MakeIntent(const HoldBook& holds, const fabric::FabricSnapshot& snapshot,
                          const std::vector<PortRef>& suppressed, PortRef sm_port = PortRef());

// What a hold cannot do as things are: its target is not there, or routes stay as they are. Empty:
// nothing of that kind.
std::string NoteOf(const Hold& hold, const fabric::FabricSnapshot& snapshot);

// The end ports that the target is, with those that a hold of this kind means to cut off: of an
// isolated or disabled port or link also the end port beyond it. Sorted.
std::vector<PortRef> OwnEndPorts(const Hold& hold, const fabric::FabricSnapshot& snapshot);

// None: the node was never seen.
PortRef PortRefOf(const HeldPort& port, const fabric::FabricSnapshot& snapshot);

}  // namespace fabricd::policy
