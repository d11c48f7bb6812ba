// SPDX-License-Identifier: Apache-2.0
// The links that went down or came up between two snapshots. Pure.
#pragma once

#include <vector>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

struct LinkChange {
  PortRef a, b;            // a < b
  bool went_down = false;  // Both: it was down for a while in between.
  bool came_up = false;
  friend bool operator==(const LinkChange&, const LinkChange&) = default;
};

// Only reported port states count: a link is not down because its node did not respond. The cost
// depends on the differences. Sorted by `a`.
std::vector<LinkChange> FindLinkChanges(const fabric::FabricSnapshot& before,
                                        const fabric::FabricSnapshot& after);

}  // namespace fabricd::sweep
