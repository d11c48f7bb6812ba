// SPDX-License-Identifier: Apache-2.0
// Levels of a tree-like graph, found from where the hosts hang, and the topological index of every
// destination, by which engines spread them over the links. On a graph that is no tree both still
// have valid values, just no special quality.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/plan/tree_layout.h"

namespace fabricd::routing {

struct Levels {
  std::vector<uint32_t> rank;  // [switch] 0: leaf.
  uint32_t top = 0;            // Highest rank.
  uint32_t same_rank_links = 0;
  uint32_t skip_links = 0;  // Between ranks that are not neighbours.
  // A tree in the wide sense: any number of missing links, uneven switches, parallel cables.
  bool IsStrict() const { return same_rank_links == 0 && skip_links == 0; }
};

// Ranks count up from the switches that carry the hosts. Those that are `remembered` (may be null)
// stay where they explain the links no worse: a leaf that has lost its hosts is still a leaf.
Levels FindLevels(const SwitchGraph& graph, const TreeLayout* remembered = nullptr);
// Ranks count down from the given switches. REQUIRES: roots not empty.
Levels LevelsFromRoots(const SwitchGraph& graph, const std::vector<uint32_t>& roots);

// One end port in topological order: neighbouring indices share as much of the tree as they can.
struct Destination {
  uint32_t index;  // Counted from 0 in each class: hosts, then aggregation nodes, then switches.
  uint32_t at;     // As EndPort has it, here next to each other for the inner loop.
  uint16_t base_lid;
  uint8_t lmc;
  uint8_t port;
};
std::vector<Destination> TopologicalOrder(const SwitchGraph& graph, const Levels& levels);

}  // namespace fabricd::routing
