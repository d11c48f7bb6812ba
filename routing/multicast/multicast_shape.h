// SPDX-License-Identifier: Apache-2.0
// MulticastShape: how a group's tree lies in the fabric, for those who look at it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"

namespace fabricd::routing {

// A tree has no root: packets of any member enter it anywhere. It is shown from its middle, the
// switch that is nearest to the switch that is farthest from it; of two, that of the lower GUID.
struct MulticastShape {
  struct Place {
    NodeIndex node;
    uint32_t depth = 0;         // Hops from the middle.
    PortNum up;                 // Towards the middle; 0: this is it.
    std::vector<PortNum> down;  // Away from the middle, to other switches or to nobody any more.
    std::vector<PortNum> ends;  // To members; 0: the switch itself is one. Ascending.
    friend bool operator==(const Place&, const Place&) = default;
  };
  std::vector<Place> places;  // The middle, then all behind its first port, and so on.
};

// `snapshot` may be another than the tree was made for: each part of what is cut now has a middle
// of its own, and switches that have gone are left out.
MulticastShape ShapeOf(const MulticastTree& tree, const fabric::FabricSnapshot& snapshot);

}  // namespace fabricd::routing
