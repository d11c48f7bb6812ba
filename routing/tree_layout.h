// SPDX-License-Identifier: Apache-2.0
// TreeLayout: what a plan remembers of the tree as it was designed, so that the next plan numbers
// switches, cables and end ports alike although some of them are gone: a dead spine keeps its slot
// and a dead cable its place among its parallels, and only what used them moves. Immutable; shared
// between plans. Nodes are known by NodeIndex, which the same GUID always gets back.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/ids.h"

namespace fabricd::routing {

// Switches of one rank and the parents they share.
struct TreeGroup {
  static constexpr uint8_t kNoPort = 0;  // No cable was ever seen there.

  uint32_t rank = 0;               // Of the children.
  std::vector<NodeIndex> parents;  // [slot] NodeIndex::None(): a place that nobody has filled yet.
  std::vector<NodeIndex> children;
  uint32_t cables = 1;         // Places for parallel cables of each parent at each child.
  std::vector<uint8_t> ports;  // [(child * parents + slot) * cables + place] The child's port.

  uint32_t width() const { return static_cast<uint32_t>(parents.size()); }
  const uint8_t* PortsOf(size_t child) const { return &ports[child * parents.size() * cables]; }
  friend bool operator==(const TreeGroup&, const TreeGroup&) = default;
};

// The places for end ports of hosts on one switch.
struct TreeWindow {
  NodeIndex at;
  uint32_t first = 0;          // Topological index of the first place.
  std::vector<uint8_t> ports;  // [place] Ascending ports of the switch.
  friend bool operator==(const TreeWindow&, const TreeWindow&) = default;
};

struct TreeLayout {
  static constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

  std::vector<uint32_t> rank;  // [NodeIndex] Of switches; kUnknown for others.
  std::vector<TreeGroup> groups;
  std::vector<TreeWindow> windows;

  uint32_t RankOf(NodeIndex node) const {
    return node.value() < rank.size() ? rank[node.value()] : kUnknown;
  }
  friend bool operator==(const TreeLayout&, const TreeLayout&) = default;
};

}  // namespace fabricd::routing
