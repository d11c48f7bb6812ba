// SPDX-License-Identifier: Apache-2.0
// What the parts of OrderPush read: each entry that a switch may have while the tables are a
// mixture, and which of them change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "routing/plan/block_mask.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

class PushView {
 public:
  // Entries of one block at one switch that are to be written.
  struct Changed {
    uint16_t block;
    uint32_t at;  // Switch number of the map.
    uint64_t lids;
  };

  explicit PushView(const PushInput& input);

  const LinkMap& links() const { return links_; }
  // By block, then switch.
  const std::vector<Changed>& changed() const { return changed_; }
  // 64 entries. A switch without a row in the plan keeps what it has.
  const uint8_t* Applied(uint32_t s, uint32_t block) const { return BlockOf(applied_[s], block); }
  const uint8_t* Desired(uint32_t s, uint32_t block) const {
    return desired_[s] ? BlockOf(desired_[s], block) : Applied(s, block);
  }
  bool IsEmpty(uint32_t s) const { return applied_[s] == nullptr; }
  bool IsUnsure(uint32_t block) const { return unsure_blocks_[block]; }
  // Each value that the entry may have before it is written.
  template <typename Visit>
  void ForEachOld(uint32_t s, uint32_t block, uint32_t i, Visit&& visit) const {
    visit(Applied(s, block)[i]);
    if (!IsUnsure(block)) return;
    for (auto found = std::lower_bound(unsure_.begin(), unsure_.end(), Unsure{block, s, nullptr});
         found != unsure_.end() && found->block == block && found->at == s; ++found)
      visit(found->entries[i]);
  }
  // Marks ([switch]) from where packets to a LID may arrive by entries that there may be before
  // anything more is written; `desired`: or by the plan's.
  void FindArriving(uint32_t block, uint32_t i, bool desired, std::vector<uint8_t>& arrives) const;

 private:
  struct Unsure {
    uint32_t block, at;
    const uint8_t* entries;
    bool operator<(const Unsure& other) const {
      return std::tie(block, at) < std::tie(other.block, other.at);
    }
  };

  static const uint8_t* BlockOf(const Row* row, uint32_t block);
  void Compare(uint32_t s);
  void AddUnsure();

  const LinkMap& links_;
  const AppliedTables& tables_;
  std::vector<const Row*> applied_, desired_;  // [switch] Null: none.
  std::vector<Unsure> unsure_;
  std::vector<uint8_t> unsure_blocks_;  // [block]
  std::vector<Changed> changed_;
};

}  // namespace fabricd::routing
