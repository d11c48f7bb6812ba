// SPDX-License-Identifier: Apache-2.0
// RowWriter: writes the rows of a TableWriter one after another. First all LIDs get the entry of
// their slot by one streaming look-up; then the costs of all neighbours are compared, 64 switches
// at a time, and whatever has one way only or has lost its slot is written over. Used by one
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "routing/engines/core/table_writer.h"
#include "routing/graph/byte_kernels.h"
#include "routing/plan/byte_scan.h"

namespace fabricd::routing {

// What a row could not have as its slots want it. In no order, each LID once.
struct RowLosses {
  std::vector<Lid> unserved;  // No way at all.
  // The slot's parent or cable is gone, or there is no slot for it: one way of several was taken.
  std::vector<Lid> moved;
};

class RowWriter {
 public:
  explicit RowWriter(const TableWriter& tables);
  // Writes the entries of the writer's LIDs ([LID]; nobody's are kNoRoute) and adds to `losses`.
  void Write(uint32_t source, uint8_t* entries, RowLosses& losses);

 private:
  static constexpr uint8_t kHole = Slots::kHole;

  // All cables to one neighbour. Those that have a slot come first.
  struct Arc {
    const Neighbor* neighbor;
    bool single;   // One cable only, by `port`.
    uint8_t port;  // Of the first cable.
    uint8_t slot;  // kHole: none.
  };
  // Which of several cables to one neighbour a LID takes.
  struct Bundle {
    bool ready = false;
    uint32_t dead = 0;                // Cables of the bundle that are gone.
    const SlotRow* row = nullptr;     // Null: by the index of the destination.
    std::array<uint8_t, 256> port{};  // [place of `row`] 0: that cable is gone.
    std::array<uint8_t, 256> rank{};  // [place of `row`] Of the cable among those that are gone.
  };

  void FillArcs();
  void AddArc(uint8_t neighbor, uint8_t slot);
  void WriteBySlots();
  void WriteBlock(uint32_t block);
  void WriteOwnLids(uint32_t block, uint64_t columns);
  void WriteColumn(uint32_t block, uint32_t column, uint64_t any, uint64_t single);
  void FindHoles(uint64_t columns);
  void WriteIrregular(uint32_t block, uint32_t column);
  void MoveHoles(uint32_t first, uint32_t count, uint32_t column, uint32_t candidates);
  void MoveToOtherCables();
  void WriteFree();
  void DeliverOwn();

  uint32_t Candidate(uint32_t column, uint32_t rank) const;
  uint32_t Substitute(uint32_t column, uint32_t turn, uint32_t candidates) const;
  uint32_t CountCandidates(uint32_t column) const;
  bool Allows(uint32_t arc, uint32_t d) const {
    return matches_[arc].costs[d] == matches_[arc].want[d];
  }
  uint32_t LeastLoaded(const Destination& to) const;
  void WriteRun(uint32_t arc, uint32_t first, uint32_t count);
  void WritePort(uint32_t destination, uint32_t arc);
  uint8_t PortFor(uint32_t arc, uint32_t lid);
  uint8_t LivePort(const Neighbor& neighbor, uint32_t turn) const {
    return tables_.graph_.cables[neighbor.first_cable + turn % neighbor.cable_count].port;
  }
  const Bundle& BundleOf(uint32_t arc);
  void FillBundle(const Arc& arc, Bundle& bundle) const;
  template <typename Visit>
  void ForEachRun(uint32_t d, Visit&& visit) const;

  const TableWriter& tables_;
  const ByteKernels& kernels_;
  const ByteScan& scan_;
  std::vector<uint8_t> want_[2];  // [destination switch] Neighbour's cost, for down and up arcs.
  std::vector<uint8_t> last_;     // [destination switch] One of the allowed arcs.
  std::vector<Arc> arcs_;
  std::vector<CostMatch> matches_;  // [arc]
  std::vector<uint64_t> masks_;     // [arc] Of the block being written.
  std::vector<Bundle> bundles_;     // [arc]
  std::vector<uint32_t> load_;      // [arc] LIDs, but for those that went by their slots.
  std::array<uint8_t, 256> port_of_arc_;
  std::vector<uint64_t> by_slot_;     // [block] Columns whose slots are allowed, all or some.
  std::vector<uint32_t> free_;        // Numbers of destinations that no slot serves.
  std::vector<uint8_t> arc_of_slot_;  // kHole: vacant.
  std::array<uint8_t, 64> hole_count_;
  std::array<std::array<uint8_t, 256>, 64> holes_;  // [column] Slots, ascending.

  // The row being written.
  uint32_t source_ = 0;
  const SlotRow* row_ = nullptr;  // Null: no parents.
  uint32_t slot_arcs_ = 0;        // Arcs that have a slot.
  uint32_t rotation_ = 0;
  uint64_t bundle_columns_ = 0;  // Of the block: where a neighbour with several cables is allowed.
  uint8_t* entries_ = nullptr;
  RowLosses* losses_ = nullptr;
};

}  // namespace fabricd::routing
