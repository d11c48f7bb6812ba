// SPDX-License-Identifier: Apache-2.0
// BlockRepair: mends the entries of one block of 64 LIDs on all switches (repair.h has the rules).
// Blocks do not depend on each other, so each is a unit of parallel work; one BlockRepair is used
// by one thread for one block after another.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "routing/plan/block_mask.h"
#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "routing/plan/row.h"

namespace fabricd::routing {

// What all blocks of one repair read.
struct RepairView {
  const LinkMap* old_links;
  const LinkMap* links;
  std::vector<uint32_t> position;    // [switch] In the order that is kept.
  std::vector<const Row*> rows;      // [switch] Of the previous plan; null: has none.
  uint32_t full_blocks = 0;          // Blocks that each of them has.
  std::vector<uint32_t> components;  // [switch] LinkMap::Components(); empty: not known yet.
  // True: what no host's traffic to another host crosses may stay pending.
  bool urgent = true;
};

struct BlockTask {
  struct Broken {
    uint32_t at;        // Switch.
    uint64_t lids;      // Bit i: the entry of LID 64 * block + i leads nowhere.
    uint32_t ordinal;   // Of the first of them among all that broke at this switch.
    bool must = false;  // Not to be left pending.
  };
  uint32_t block = 0;
  std::vector<Broken> broken;
  uint64_t anywhere = 0;  // LIDs that any switch may fail to reach.
  struct Write {
    uint32_t at;
    uint8_t lid;  // Within the block.
    uint8_t value;
  };
  std::vector<Write> writes;  // To begin with.
};

struct BlockResult {
  using Entries = std::array<uint8_t, Row::kBlock>;
  std::vector<std::pair<uint32_t, Entries>> changed;   // By switch.
  std::vector<std::pair<uint32_t, uint64_t>> pending;  // Switch, LIDs; by switch.
  uint64_t stale = 0;                                  // LIDs that some switch cannot reach.
  // Cannot be decided without RepairView::components; the rest is void.
  bool needs_components = false;
  uint32_t unserved_at = LinkMap::kNone;  // A switch that this order has no way from any more,
  uint32_t unserved_lid = 0;              // and the LID.
};

class BlockRepair {
 public:
  explicit BlockRepair(const RepairView& view);
  BlockResult Run(const BlockTask& task);
  // Asks memory for what Run() of some tasks will most likely look at, for all of them at once.
  void FetchAhead(const std::vector<const BlockTask*>& tasks);

 private:
  static constexpr uint32_t kNoHops = 0xFFFF;
  // Entries that lead to one broken entry, found at one switch.
  struct Record {
    uint32_t at;
    uint32_t parent;  // Record that they lead to; kNone: broken itself.
    uint64_t lids;
    uint64_t used = 0;    // Those that carry what one host sends to another.
    uint64_t mended = 0;  // Those that arrive again.
    uint32_t ordinal = 0;
    bool must = false;
  };

  void Start(const BlockTask& task);
  void Finish();
  const uint8_t* Entries(uint32_t s) const;
  const uint8_t* OldEntries(uint32_t s) const;
  void Set(uint32_t s, uint32_t lid, uint8_t value);
  bool IsUp(uint32_t from, uint32_t to) const { return view_.position[to] > view_.position[from]; }
  LidPlace place(uint32_t lid) const { return links_.place(first_lid_ + lid); }

  void AddRecord(uint32_t at, uint32_t parent, uint64_t lids, uint32_t ordinal, bool must);
  void FindUpstream();
  void FindUpstreamOf(uint32_t record, uint64_t lids);
  void FindUsed();
  void MendUsed();
  void FetchRecords(size_t begin, size_t end);
  uint32_t FirstHead(const Record& record, uint32_t lid);
  void ListPorts(uint32_t s, bool up);
  uint32_t StartOf(const Record& record, uint32_t lid) const;
  void MarkMended(Record& record, uint64_t lids);
  void MendFree();
  void PassOn(Record& record);
  void LeavePending();
  uint32_t Walk(uint32_t from, uint32_t lid, bool down_only) const;
  uint32_t OldWalk(uint32_t from, uint32_t lid) const;
  bool MendLikeBefore(Record& record, uint32_t lid);
  bool TakePort(uint32_t s, uint32_t lid, uint32_t start, uint32_t most_hops, bool down_only);
  uint32_t Crowding(uint32_t s, uint32_t lid, uint8_t port) const;

  // All of one LID.
  void Solve(uint32_t lid);
  bool SolveAmong(uint32_t lid, bool all);
  void CollectBroken(uint32_t lid);
  void CollectAll(uint32_t lid);
  void FindHops(uint32_t lid);
  void Choose(uint32_t s, uint32_t lid, bool all);
  uint32_t HopsBy(uint32_t s, uint8_t port, uint32_t lid) const;
  uint32_t HopsFrom(uint32_t x, uint32_t lid, bool down_only) const;
  bool IsWanted(uint32_t s, uint32_t lid) const;

  const RepairView& view_;
  const LinkMap& links_;
  const BlockTask* task_ = nullptr;
  BlockResult result_;
  uint32_t first_lid_ = 0;
  uint64_t hosts_ = 0;             // LIDs of the block that belong to end ports,
  uint64_t placed_ = 0;            // and those that hang anywhere at all.
  std::vector<uint32_t> own_;      // [switch] Into result_.changed, or kNone.
  std::vector<uint64_t> seen_;     // [switch] LIDs that have a record here.
  std::vector<uint64_t> broken_;   // [switch] Those of them that do not arrive again yet.
  std::vector<uint32_t> touched_;  // Switches whose seen_ is not 0.
  std::vector<Record> records_;    // Breadth first.
  std::vector<uint8_t> ports_;
  struct Step {
    uint32_t at, lid;
  };
  std::vector<Step> steps_;  // Of FetchAhead().
  void AddSteps(const BlockTask::Broken& broken, uint32_t first_lid);
  void FetchSteps();
  // For Solve.
  std::vector<uint32_t> members_;   // Ascending position.
  std::vector<uint8_t> is_member_;  // [switch]
  std::vector<uint8_t> used_;       // [switch]
  std::vector<uint32_t> down_;      // [switch] Hops of the best pure down way; members only.
  std::vector<uint32_t> hops_;      // [switch] Of the best way; members only.
};

}  // namespace fabricd::routing
