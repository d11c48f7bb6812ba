// SPDX-License-Identifier: Apache-2.0
// Targets: the LIDs of one graph in the order in which ways to them are looked for, so that those
// chosen one after another spread over the links.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/levels.h"

namespace fabricd::routing {

// One LID and where it leaves the switches.
struct Target {
  uint32_t at;
  uint16_t lid;
  uint8_t port;   // 0: the switch itself.
  uint32_t twin;  // An earlier target on the same switch whose ways it shares; kNoTwin: its own.
  bool carries;   // Hosts send to it.
  static constexpr uint32_t kNoTwin = UINT32_MAX;
};

struct TargetList {
  std::vector<Target> targets;  // Those that carry first, in the order in which they are spread.
  // For LMC: the same port's earlier LIDs, whose first hops are avoided. [target], may be empty.
  std::vector<uint32_t> sibling;
};
// One host of each switch in topological order, then the next of each; after the hosts aggregation
// nodes, then switches.
TargetList MakeTargets(const SwitchGraph& graph, const Levels& levels);

}  // namespace fabricd::routing
