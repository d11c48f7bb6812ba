// SPDX-License-Identifier: Apache-2.0
// routing/graph: the fabric as engines see it: switches, levels, orders, hop costs.
//
// SwitchGraph: one connected component of the fabric as the engines see it, made once per
// computation. Switches are numbered by GUID and neighbours sorted by that number, so the order in
// which a fabric was discovered cannot show in the tables. Immutable once built.
//
// Only links whose both ends are up count. A switch cabled to itself gives no arc, CAs and routers
// cabled back to back belong to no graph, ports above 254 cannot stand in a table (255 is "no
// route", IBA vol 1 §14.2.5.10).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

struct Cable {
  uint8_t port;       // At the switch that owns the list.
  uint8_t head_port;  // At the neighbour.
};

// All cables of one switch to one other.
struct Neighbor {
  uint32_t head;         // Switch number.
  uint32_t first_cable;  // Into SwitchGraph::cables, sorted by port.
  uint16_t cable_count;
};

// A port with LIDs: of a CA or router, or port 0 of a switch.
struct EndPort {
  PortRef owner;
  uint32_t at;   // The switch it hangs on (or is).
  uint8_t port;  // That switch's port towards it; 0: the switch itself.
  uint16_t base_lid;
  uint8_t lmc;
  // A switch's in-network computing unit (SHARP), or a closed switch (usable.h): no host.
  bool aggregation;

  bool IsSwitch() const { return port == 0; }
  bool IsHost() const { return port != 0 && !aggregation; }
  uint32_t lid_count() const { return 1u << lmc; }
};

struct SwitchGraph {
  std::vector<NodeIndex> node;           // [switch]
  std::vector<uint32_t> neighbor_begin;  // [switch], one more at the end
  std::vector<Neighbor> neighbors;       // By switch, then head.
  std::vector<Cable> cables;
  std::vector<uint32_t> end_begin;  // [switch], one more at the end
  std::vector<EndPort> ends;        // By switch, then port.
  std::vector<uint32_t> lid_limit;  // [switch] First LID its table cannot hold (LinearFDBCap).
  std::vector<uint32_t> hosts;      // [switch] End ports of hosts on it.

  uint32_t size() const { return static_cast<uint32_t>(node.size()); }
  uint32_t degree(uint32_t s) const { return neighbor_begin[s + 1] - neighbor_begin[s]; }
  const Neighbor& neighbor(uint32_t s, uint32_t i) const {
    return neighbors[neighbor_begin[s] + i];
  }
  std::span<const Neighbor> NeighborsOf(uint32_t s) const {
    return {neighbors.data() + neighbor_begin[s], degree(s)};
  }
  std::span<const Cable> CablesOf(const Neighbor& neighbor) const {
    return {cables.data() + neighbor.first_cable, neighbor.cable_count};
  }
  // Which of the neighbours of s `head` is.
  static constexpr uint8_t kNotFound = 255;
  uint8_t FindNeighbor(uint32_t s, uint32_t head) const;
};

// Marks ([switch]) those whose table cannot hold this LID; empty when all can.
std::vector<uint8_t> SwitchesWithout(const SwitchGraph& graph, uint32_t lid);

// One graph per connected component that has a switch, by lowest switch GUID.
std::vector<SwitchGraph> BuildGraphs(const fabric::FabricSnapshot& snapshot,
                                     const fabric::LidTable& lids);

// The one with the most hosts' end ports, the first of several; null: there is no graph.
const SwitchGraph* LargestGraph(const std::vector<SwitchGraph>& graphs);

}  // namespace fabricd::routing
