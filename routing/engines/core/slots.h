// SPDX-License-Identifier: Apache-2.0
// Slots: by which parent and by which of parallel cables a switch prefers to reach a destination
// (D-Mod-K: destination index modulo the number of parents, level by level, so that on an intact
// tree each destination has one way down and any shift of the index uses every up link once).
//
// A slot belongs to a parent as the tree was designed. Where the parent or the cable is gone the
// slot is vacant, and only the destinations of that slot have to go another way. What is gone is
// known from the previous plan's layout, else from what the siblings and the other groups of the
// same rank still show.
//
// All of it is only a preference among shortest legal ways. On a graph that is no tree it still
// gives valid values, just no special quality.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/tree_groups.h"

namespace fabricd::routing {

// Which parent (and which of parallel cables to it) a destination index prefers at a switch:
// slot = index / divisor mod width, place = index / divisor / width mod cables.
struct SlotClass {
  uint32_t divisor = 1;
  uint32_t width = 0;   // 0: the switch has no parents.
  uint32_t cables = 1;  // Most parallel cables of one parent in the group.
  uint32_t places() const { return width * cables; }
  friend auto operator<=>(const SlotClass&, const SlotClass&) = default;
};

struct Slots {
  static constexpr uint8_t kHole = 255;
  std::vector<SlotClass> of;          // [switch]
  std::vector<uint32_t> first;        // [switch] Into `neighbor`.
  std::vector<uint8_t> neighbor;      // [first + slot] Which of the switch's neighbours, or kHole.
  std::vector<uint32_t> first_cable;  // [switch] Into `cable`.
  // [first_cable + slot * cables + place] Which cable of that neighbour, or kHole.
  std::vector<uint8_t> cable;
  std::vector<uint32_t> sibling;  // [switch] Its place among the children of the same parents.
  std::vector<uint32_t> group;    // [switch] Number of its group among those of its rank.
};

// `groups` as FindGroups has them.
Slots SlotsOf(const SwitchGraph& graph, const std::vector<TreeGroup>& groups);

}  // namespace fabricd::routing
