// SPDX-License-Identifier: Apache-2.0
// TableWriter: turns hop costs into rows. For each destination any neighbour that the costs allow
// would do; the slot of the destination decides (levels.h), and where that slot has no allowed
// neighbour, the least loaded of the others at this switch. The LIDs of one port (LMC) go to
// different neighbours first, to different parallel cables next. Each row depends on its own switch
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph.h"
#include "routing/hop_costs.h"
#include "routing/levels.h"
#include "routing/plan.h"

namespace fabricd::routing {

// LIDs that one set of costs is for.
struct LidBand {
  uint32_t first = 0;
  uint32_t end = 0x10000;
  bool Has(uint32_t lid) const { return lid >= first && lid < end; }
};

class TableWriter {
 public:
  // `order` is empty for unordered costs. All references must outlive the writer.
  TableWriter(const SwitchGraph& graph, const Levels& levels, const Slots& slots,
              const std::vector<Destination>& destinations, const Order& order,
              const HopCosts& costs, LidBand band);

  struct Scratch;
  // Writes the entries of the band's LIDs and adds those without a way to `unserved`.
  void WriteRow(uint32_t source, Scratch& scratch, Row& row, std::vector<Lid>& unserved) const;

 private:
  struct Arc {
    const uint8_t* costs;  // [destination switch] What is left from the neighbour on.
    bool up;
    bool single;  // One cable only, by `port`.
    uint8_t port;
  };
  // Neighbouring destinations on one switch.
  struct Run {
    uint32_t begin, end, at;
    bool plain;  // One LID each, all in the band.
  };
  void FillArcs(uint32_t source, Scratch& scratch) const;
  void FillSlots(uint32_t source, Scratch& scratch) const;
  void FillAllowed(uint32_t source, Scratch& scratch) const;
  bool Allows(const Scratch& scratch, uint32_t neighbor, uint32_t d) const {
    const Arc& arc = scratch.arcs[neighbor];
    return arc.costs[d] == scratch.want[arc.up][d];
  }
  void WriteRun(uint32_t source, const Run& run, Scratch& scratch, Row& row) const;
  void WriteEntries(uint32_t source, uint32_t destination, uint32_t neighbor, Scratch& scratch,
                    Row& row) const;
  uint32_t LeastLoaded(uint32_t source, const Destination& to, const Scratch& scratch) const;
  uint32_t CableOf(uint32_t source, const Neighbor& neighbor, const Destination& to,
                   uint8_t up_cable) const;
  template <typename Visit>
  void ForEachLid(const Run& run, Visit&& visit) const;

  const SwitchGraph& graph_;
  const Levels& levels_;
  const Slots& slots_;
  const std::vector<Destination>& destinations_;
  const Order& order_;
  const HopCosts& costs_;
  const LidBand band_;
  std::vector<Run> runs_;

 public:
  // Reused from row to row by one thread; worth it when they are of one level.
  struct Scratch {
    std::vector<Arc> arcs;         // [neighbour]
    SlotClass slot_class;          // For which `slot` and `cable` hold.
    std::vector<uint16_t> slot;    // [destination]
    std::vector<uint8_t> cable;    // [destination]
    std::vector<uint8_t> want[2];  // [destination switch] Neighbour's cost, for down and up arcs.
    std::vector<uint8_t> count;    // [destination switch] Allowed neighbours.
    std::vector<uint8_t> last;     // [destination switch] One of them.
    std::vector<uint32_t> missed;  // Destinations whose slot has no allowed neighbour.
    std::vector<uint32_t> load;    // [neighbour]
  };
};

}  // namespace fabricd::routing
