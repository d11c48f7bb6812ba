// SPDX-License-Identifier: Apache-2.0
// LidRepair: what changes for one LID by channel_repair.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "routing/repair/block_repair.h"

namespace fabricd::routing {

struct LidRepair {
  size_t task;
  uint32_t bit;                                            // Of the LID in the block of the task.
  std::vector<std::pair<uint32_t, uint8_t>> changed = {};  // Switch and its new entry.
  std::vector<uint32_t> pending = {};                      // Switches.
  bool stale = false, served = true;
};

// By task, with the writes that it begins with.
std::vector<BlockResult> ResultsOf(const RepairView& view,
                                   const std::vector<const BlockTask*>& tasks,
                                   const std::vector<LidRepair>& lids);

}  // namespace fabricd::routing
