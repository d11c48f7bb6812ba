// SPDX-License-Identifier: Apache-2.0
// SlotRows: for each slot class the place that every LID prefers, in the order of the LIDs, so that
// the entries of a whole table are one look-up of places. LIDs of one port (LMC) count on from its
// index: they prefer different parents first, different parallel cables next.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "routing/engines/core/slots.h"
#include "routing/graph/levels.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

// LIDs that one set of costs is for.
struct LidBand {
  uint32_t first = 0;
  uint32_t end = 0x10000;
  bool Has(uint32_t lid) const { return lid >= first && lid < end; }
};

// All vectors are [LID] and have 64 entries more than there are LIDs, so that loops may look at
// whole vectors of bytes.
struct SlotRow {
  static constexpr uint8_t kNobody = 255;

  SlotClass of;
  std::vector<uint8_t> place;    // slot + width * place of the cable; kNobody.
  std::vector<uint8_t> slot;     // kNobody: no LID of the band.
  std::vector<uint32_t> window;  // index / (divisor * width * cables)
};

class SlotRows {
 public:
  // `lid_end`: one more than the highest LID.
  SlotRows(const Slots& slots, const std::vector<Destination>& destinations, LidBand band,
           uint32_t lid_end, Parallel& parallel);
  // Null for a switch without parents.
  const SlotRow* Of(uint32_t s) const { return of_[s]; }

 private:
  std::map<SlotClass, SlotRow> rows_;
  std::vector<const SlotRow*> of_;  // [switch]
};

}  // namespace fabricd::routing
