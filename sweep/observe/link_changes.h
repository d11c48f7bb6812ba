// SPDX-License-Identifier: Apache-2.0
// Which links went down and came up between two looks at the fabric. Pure.
#pragma once

#include <vector>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

struct LinkChange {
  PortRef a, b;            // a < b
  bool went_down = false;  // Both: it was down for a while between the looks.
  bool came_up = false;
  friend bool operator==(const LinkChange&, const LinkChange&) = default;
};

// Only what ports say counts: a link whose node has merely not answered is not down. Costs what
// differs. By a.
std::vector<LinkChange> FindLinkChanges(const fabric::FabricSnapshot& before,
                                        const fabric::FabricSnapshot& after);

}  // namespace fabricd::sweep
