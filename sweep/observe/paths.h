// SPDX-License-Identifier: Apache-2.0
// Directed routes after a change: nodes that were reached over a lost link get another route, and
// nodes without one are listed.
#pragma once

#include <vector>

#include "fabric/snapshot_builder.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

struct PathChanges {
  std::vector<NodeIndex> unreached;  // Present nodes that no link leads to, by index.
  struct Moved {
    NodeIndex node;
    wire::DirectedPath from, to;
  };
  std::vector<Moved> moved;  // Nodes and CA ports that had a route.
};

// Gives each node whose route from `local` no longer follows links of `builder` a shortest route
// that does. Working routes stay. Visits every node: about a millisecond for ten thousand.
PathChanges RefreshPaths(const fabric::SnapshotBuilder& builder, PortRef local,
                         DeviceTable& devices);

// The switch ports through which the route to `node` passes, as far as links are known along it.
// Links that are still being brought up are left out.
std::vector<PortRef> LinksOnPath(const fabric::SnapshotBuilder& builder, PortRef local,
                                 const DeviceTable& devices, NodeIndex node);

}  // namespace fabricd::sweep
