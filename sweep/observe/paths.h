// SPDX-License-Identifier: Apache-2.0
// Directed routes after a change: whoever was reached over a link that is gone is given another
// way, and whoever has none is named.
#pragma once

#include <vector>

#include "fabric/snapshot_builder.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

struct PathChanges {
  std::vector<NodeIndex> unreached;  // Living nodes that no links lead to, by index.
  struct Moved {
    NodeIndex node;
    wire::DirectedPath from, to;
  };
  std::vector<Moved> moved;  // Nodes and CA ports that had a route.
};

// Gives each node whose route from `local` no longer follows links of `builder` a shortest one that
// does; routes that work are left alone. Looks at every node, so it costs about a millisecond for
// ten thousand.
PathChanges RefreshPaths(const fabric::SnapshotBuilder& builder, PortRef local,
                         DeviceTable& devices);

// The ports of switches by which the route to `node` leaves them, as far as links lead along it;
// without those that are still being brought up.
std::vector<PortRef> LinksOnPath(const fabric::SnapshotBuilder& builder, PortRef local,
                                 const DeviceTable& devices, NodeIndex node);

}  // namespace fabricd::sweep
