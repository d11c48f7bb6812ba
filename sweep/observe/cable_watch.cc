// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/cable_watch.h"

#include <algorithm>

#include "fabric/snapshot_builder.h"

namespace fabricd::sweep {

bool CableWatch::HasOtherLinks(const fabric::FabricSnapshot& before,
                               const fabric::FabricSnapshot& now) {
  const fabric::SnapshotDiff diff = fabric::Diff(before, now);
  return std::any_of(diff.links.begin(), diff.links.end(),
                     [](const auto& change) { return change.up; });
}

}  // namespace fabricd::sweep
