// SPDX-License-Identifier: Apache-2.0
// Levels of a tree-like graph, found from where the hosts hang; the topological index of every
// destination; and the slots by which a switch spreads destinations over its parents (D-Mod-K:
// destination index modulo the number of parents, level by level, so that on an intact tree each
// destination has one way down and any shift of the index uses every up link once).
//
// All of it is only a preference among shortest legal ways. On a graph that is no tree it still
// gives valid values, just no special quality.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph.h"

namespace fabricd::routing {

struct Levels {
  std::vector<uint32_t> rank;  // [switch] 0: leaf.
  uint32_t top = 0;            // Highest rank.
  uint32_t same_rank_links = 0;
  uint32_t skip_links = 0;  // Between ranks that are not neighbours.
  // A tree in the wide sense: any number of missing links, uneven switches, parallel cables.
  bool IsStrict() const { return same_rank_links == 0 && skip_links == 0; }
};

// Ranks count up from the switches that carry the hosts.
Levels FindLevels(const SwitchGraph& graph);
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

// Which parent (and which of parallel cables to it) a destination index prefers at a switch:
// slot = index / divisor mod width, cable = index / divisor / width mod cables.
struct SlotClass {
  uint32_t divisor = 1;
  uint32_t width = 0;   // 0: the switch has no parents.
  uint32_t cables = 1;  // Most parallel cables of one parent in the group.
  friend bool operator==(const SlotClass&, const SlotClass&) = default;
};

struct Slots {
  static constexpr uint8_t kHole = 255;  // This switch lacks the cable to that parent.
  std::vector<SlotClass> of;             // [switch]
  std::vector<uint32_t> first;           // [switch] Into `neighbor`.
  std::vector<uint8_t> neighbor;  // [first + slot] Which of the switch's neighbours, or kHole.
  std::vector<uint32_t> sibling;  // [switch] Its place among the children of the same parents.
};
Slots FindSlots(const SwitchGraph& graph, const Levels& levels);

}  // namespace fabricd::routing
