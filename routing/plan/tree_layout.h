// SPDX-License-Identifier: Apache-2.0
// TreeLayout: what a plan remembers of the tree as it was designed, so that the next plan numbers
// switches, cables and end ports alike although some of them are gone: a dead spine keeps its slot
// and a dead cable its place among its parallels, and only what used them moves. Immutable; shared
// between plans. Nodes are known by NodeIndex, which the same GUID always gets back.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/ids.h"

namespace fabricd::routing {

// Switches of one rank and the parents they share.
struct TreeGroup {
  static constexpr uint8_t kNoPort = 0;  // No cable was ever seen there.
  // Slots * cables are at most so many, so that a byte can name each.
  static constexpr uint32_t kMostPlaces = 254;

  uint32_t rank = 0;               // Of the children.
  std::vector<NodeIndex> parents;  // [slot] NodeIndex::None(): a place that nobody has filled yet.
  std::vector<NodeIndex> children;
  uint32_t cables = 1;         // Places for parallel cables of each parent at each child.
  std::vector<uint8_t> ports;  // [(child * parents + slot) * cables + place] The child's port.

  uint32_t width() const { return static_cast<uint32_t>(parents.size()); }
  const uint8_t* PortsOf(size_t child) const { return &ports[child * parents.size() * cables]; }
  friend bool operator==(const TreeGroup&, const TreeGroup&) = default;
};

// The topological index of what hangs on one port of a switch; port 0: of the switch itself.
struct EndPlace {
  NodeIndex at;
  uint8_t port = 0;
  uint32_t index = 0;
  friend auto operator<=>(const EndPlace&, const EndPlace&) = default;
};

struct TreeLayout {
  static constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

  std::vector<uint32_t> rank;  // [NodeIndex] Of switches; kUnknown for others.
  std::vector<TreeGroup> groups;
  std::vector<EndPlace> ends;   // Sorted.
  std::vector<PortRef> cables;  // Between switches, by their lower ends; sorted.
  // [NodeIndex] Where each switch stands in the order of the plan; kUnknown: it has no place.
  std::vector<uint32_t> order;

  uint32_t PositionOf(NodeIndex node) const {
    return node.value() < order.size() ? order[node.value()] : kUnknown;
  }
  uint32_t RankOf(NodeIndex node) const {
    return node.value() < rank.size() ? rank[node.value()] : kUnknown;
  }
  friend bool operator==(const TreeLayout&, const TreeLayout&) = default;
};

}  // namespace fabricd::routing
