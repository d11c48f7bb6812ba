// SPDX-License-Identifier: Apache-2.0
// TableWriter: turns hop costs into table entries. For each destination any neighbour that the
// costs allow would do; the slot of the destination decides (slots.h). Where that slot has no
// allowed neighbour the destination moves: to another cable to the same parent, else to one of the
// other allowed neighbours, a different one at each switch so that what all have to move does not
// meet again. Only such entries differ from those of the intact tree. Where no slot is allowed at
// all (graphs that are no trees) the least loaded neighbour of this switch is taken. The LIDs of
// one port (LMC) go to different neighbours first, to different parallel cables next. Each row
// depends on its own switch only.
//
// The TableWriter holds what all rows have in common; it is immutable. A RowWriter (row_writer.h)
// writes them.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/engines/core/slot_rows.h"
#include "routing/engines/core/slots.h"
#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

class TableWriter {
 public:
  // `order` is empty for unordered costs. `lid_end`: one more than the highest LID. All references
  // must outlive the writer.
  TableWriter(const SwitchGraph& graph, const Levels& levels, const Slots& slots,
              const std::vector<Destination>& destinations, const Order& order,
              const HopCosts& costs, LidBand band, uint32_t lid_end, Parallel& parallel);

 private:
  friend class RowWriter;
  // LIDs of one switch without a gap between them.
  struct Run {
    uint32_t first;  // LID
    uint32_t count;
  };
  // 64 columns of the cost matrix, a bit each.
  struct Block {
    uint64_t ends = 0;      // Switches with LIDs in runs_.
    uint64_t with_lmc = 0;  // Switches with a port of several LIDs.
    uint64_t own = 0;       // Switch of bit c has the LID own_lid + c for itself, not in runs_.
    uint32_t own_lid = 0;
  };
  void SortBySwitch();
  void FindOwnLids();
  void AddRuns(uint32_t s);

  const SwitchGraph& graph_;
  const Levels& levels_;
  const Slots& slots_;
  const std::vector<Destination>& destinations_;
  const Order& order_;
  const HopCosts& costs_;
  const uint32_t lid_begin_, lid_end_;  // The LIDs to be written.
  const SlotRows rows_;
  std::vector<uint32_t> by_switch_;       // Numbers of destinations, by switch, then LID.
  std::vector<uint32_t> begin_;           // [switch] Into by_switch_, one more at the end.
  std::vector<Run> runs_;                 // By switch, then LID.
  std::vector<uint32_t> run_begin_;       // [switch], one more at the end
  std::vector<Block> blocks_;             // [switch / 64]
  std::vector<uint32_t> destination_of_;  // [LID] Number; kNobody.
  static constexpr uint32_t kNobody = 0xFFFFFFFF;
};

}  // namespace fabricd::routing
