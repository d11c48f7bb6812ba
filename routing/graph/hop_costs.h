// SPDX-License-Identifier: Apache-2.0
// HopCosts: for each pair of switches the hops of the way that the tables will take, one byte a
// pair. Ordered costs follow the rule of up*/down* on destination tables: a switch that has a pure
// down way takes the shortest such way, any other goes up to a neighbour that is one hop nearer.
// Every destination then has one consistent answer per switch, up arcs strictly raise the position
// and no down arc is followed by an up arc, so tables made from it have neither loops nor credit
// loops.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

// Position of each switch of a graph, all different; an arc is up iff it raises the position.
using Order = std::vector<uint32_t>;

// Leaves new bytes as they are: the matrices are written by many threads, page by page, and zeroing
// them first would take as long as the work itself.
struct UninitializedBytes : std::allocator<uint8_t> {
  template <typename>
  struct rebind {
    using other = UninitializedBytes;
  };
  void construct(uint8_t*) {}
  void construct(uint8_t* at, uint8_t value) { *at = value; }
};
using CostMatrix = std::vector<uint8_t, UninitializedBytes>;

struct HopCosts {
  static constexpr uint8_t kNoWay = 255;
  static constexpr uint8_t kMostHops = 253;  // 254 is left free for "matches nothing".

  uint32_t stride = 0;  // A multiple of 64; columns beyond the switches are kNoWay.
  CostMatrix down;      // [source * stride + destination] Pure down way. Unordered: empty.
  CostMatrix total;     // [source * stride + destination] The way taken.

  bool IsOrdered() const { return !down.empty(); }
  const uint8_t* DownRow(uint32_t s) const { return &down[size_t{s} * stride]; }
  const uint8_t* TotalRow(uint32_t s) const { return &total[size_t{s} * stride]; }
};

// Switches marked in `blocked` ([switch], empty: none) neither carry nor receive anything.
HopCosts OrderedCosts(const SwitchGraph& graph, const Order& order,
                      const std::vector<uint8_t>& blocked, Parallel& parallel);
HopCosts ShortestCosts(const SwitchGraph& graph, const std::vector<uint8_t>& blocked,
                       Parallel& parallel);

// Pairs of distinct switches without a way.
uint64_t UnservedPairs(const SwitchGraph& graph, const HopCosts& costs);

}  // namespace fabricd::routing
