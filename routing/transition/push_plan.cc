// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/push_plan.h"

#include <bitset>
#include <span>
#include <utility>

#include "routing/plan/parallel.h"
#include "routing/transition/push_stages.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {
namespace {

using Changed = PushView::Changed;

constexpr size_t kManyWrites = 4'096;

constexpr uint64_t Bit(uint32_t i) { return uint64_t{1} << i; }

// The waves of one block number on all switches. Used by one thread for one block after another.
class BlockWaves {
 public:
  explicit BlockWaves(const PushView& view)
      : view_(view), links_(view.links()), marks_(links_.size()), seen_(links_.size(), 0) {}

  // Appends the writes; their stage is 0. `position`: what may rise after a fall in this order
  // ([switch]) is kept from it; null: nobody is written before all that changes on its new way.
  // False: entries of one LID wait for each other in a circle.
  bool Run(std::span<const Changed> changed, const std::vector<uint32_t>* position,
           std::vector<TableWrite>& writes) {
    position_ = position;
    strict_ = position == nullptr;
    block_ = changed[0].block;
    for (const Changed& one : changed) At(one.at).changed = one.lids;
    waits_.assign(changed.size(), {});
    const uint64_t carried = strict_ ? ~uint64_t{0} : Carried(changed);
    for (size_t c = 0; c < changed.size(); ++c)
      ForEachBit(changed[c].lids & carried,
                 [&](uint32_t i) { FindWaits(changed[c].at, i, waits_[c]); });
    if (position_) KeepFromTurning(changed);
    const bool found = Schedule(changed, writes);
    for (uint32_t s : touched_) marks_[s] = {};
    touched_.clear();
    return found;
  }

 private:
  // Bits by LID of the block.
  struct Marks {
    uint64_t changed = 0;
    uint64_t left = 0, wanted = 0;  // Of Schedule(): not written yet, and waited for.
    uint64_t known = 0, safe = 0, on_the_way = 0;
    uint64_t old_known = 0, old_arrives = 0;
    size_t index = 0;  // Of what changes here, in KeepFromTurning().
    bool touched = false;
  };
  // Entries of one switch that must be written after those of another.
  struct Wait {
    uint32_t on;
    uint64_t lids;
  };

  Marks& At(uint32_t s) {
    if (!marks_[s].touched) {
      marks_[s].touched = true;
      touched_.push_back(s);
    }
    return marks_[s];
  }
  LidPlace Place(uint32_t i) const { return links_.place(size_t{block_} * Row::kBlock + i); }
  uint8_t New(uint32_t s, uint32_t i) const { return view_.Desired(s, block_)[i]; }
  bool Delivers(uint32_t s, uint32_t i, uint8_t out) const {
    const LidPlace place = Place(i);
    return s == place.at && out == place.port;
  }

  // LIDs that old entries still lead somewhere: of the others nobody loses anything.
  uint64_t Carried(std::span<const Changed> changed) const {
    uint64_t carried = 0;
    for (const Changed& one : changed) {
      if (view_.IsEmpty(one.at) && !view_.IsUnsure(block_)) continue;
      ForEachBit(one.lids & ~carried, [&](uint32_t i) {
        view_.ForEachOld(one.at, block_, i, [&](uint8_t out) {
          if (Delivers(one.at, i, out) || links_.far(one.at, out).IsSwitch()) carried |= Bit(i);
        });
      });
    }
    return carried;
  }

  template <typename Visit>
  void ForEachValue(uint32_t s, uint32_t i, Visit&& visit) {
    if (At(s).changed & Bit(i)) view_.ForEachOld(s, block_, i, visit);
    visit(New(s, i));
  }

  // Whether a packet arrives from here whatever has been written and whatever will be.
  bool IsSafe(uint32_t s, uint32_t i) {
    Marks& marks = At(s);
    if (marks.on_the_way & Bit(i)) return false;
    if (marks.known & Bit(i)) return marks.safe & Bit(i);
    marks.on_the_way |= Bit(i);
    bool safe = true;
    ForEachValue(s, i, [&](uint8_t out) {
      if (!safe || Delivers(s, i, out)) return;
      const FarEnd far = links_.far(s, out);
      safe = far.IsSwitch() && far.head != s && IsSafe(far.head, i);
    });
    marks.on_the_way &= ~Bit(i);
    marks.known |= Bit(i);
    if (safe) marks.safe |= Bit(i);
    return safe;
  }

  // Whether old entries alone may bring a packet home from here.
  bool OldArrives(uint32_t from, uint32_t i) {
    if (view_.IsUnsure(block_)) return true;
    path_.clear();
    bool arrives = false;
    for (uint32_t s = from;;) {
      Marks& marks = At(s);
      if (marks.old_known & Bit(i)) {  // Also where the old entries go in a circle.
        arrives = marks.old_arrives & Bit(i);
        break;
      }
      marks.old_known |= Bit(i);
      path_.push_back(s);
      const uint8_t out = view_.Applied(s, block_)[i];
      arrives = Delivers(s, i, out);
      const FarEnd far = links_.far(s, out);
      if (arrives || !far.IsSwitch()) break;
      s = far.head;
    }
    for (uint32_t s : path_)
      if (arrives) marks_[s].old_arrives |= Bit(i);
    return arrives;
  }

  // Whether some mixture leads from `from` back to it by its new entry.
  bool MayCircle(uint32_t from, uint32_t i) {
    ++search_;
    open_.assign(1, links_.far(from, New(from, i)).head);
    seen_[open_[0]] = search_;
    while (!open_.empty()) {
      const uint32_t s = open_.back();
      open_.pop_back();
      if (s == from) return true;
      if ((At(s).known & Bit(i)) && (marks_[s].safe & Bit(i))) continue;
      ForEachValue(s, i, [&](uint8_t out) {
        const FarEnd far = links_.far(s, out);
        if (!far.IsSwitch() || seen_[far.head] == search_) return;
        seen_[far.head] = search_;
        open_.push_back(far.head);
      });
    }
    return false;
  }

  void FindWaits(uint32_t s, uint32_t i, std::vector<Wait>& waits) {
    FarEnd far = links_.far(s, New(s, i));
    if (!far.IsSwitch()) return;
    if (!strict_ && (IsSafe(far.head, i) || (!OldArrives(s, i) && !MayCircle(s, i)))) return;
    for (uint32_t hops = 0; far.IsSwitch() && hops <= links_.size(); ++hops) {
      if (!strict_ && IsSafe(far.head, i)) return;
      if (At(far.head).changed & Bit(i)) AddWait(far.head, i, waits);
      far = links_.far(far.head, New(far.head, i));
    }
  }

  bool IsUp(uint32_t from, uint32_t to) const { return (*position_)[to] > (*position_)[from]; }
  bool Rises(uint32_t s, uint8_t out) const {
    const FarEnd far = links_.far(s, out);
    return far.IsSwitch() && IsUp(s, far.head);
  }
  void KeepFromTurning(std::span<const Changed> changed) {
    for (size_t c = 0; c < changed.size(); ++c) marks_[changed[c].at].index = c;
    for (size_t c = 0; c < changed.size(); ++c)
      ForEachBit(changed[c].lids, [&](uint32_t i) {
        const uint32_t s = changed[c].at;
        const FarEnd to = links_.far(s, New(s, i));
        if (to.IsSwitch() && !IsUp(s, to.head) && (At(to.head).changed & Bit(i)))
          view_.ForEachOld(to.head, block_, i, [&](uint8_t out) {
            if (Rises(to.head, out)) AddWait(to.head, i, waits_[c]);
          });
        view_.ForEachOld(s, block_, i, [&](uint8_t out) {
          const FarEnd from = links_.far(s, out);
          if (from.IsSwitch() && !IsUp(s, from.head) && (At(from.head).changed & Bit(i)) &&
              Rises(from.head, New(from.head, i)))
            AddWait(s, i, waits_[marks_[from.head].index]);
        });
      });
  }
  static void AddWait(uint32_t on, uint32_t i, std::vector<Wait>& waits) {
    for (Wait& wait : waits)
      if (wait.on == on) {
        wait.lids |= Bit(i);
        return;
      }
    waits.push_back({on, Bit(i)});
  }

  // Whole blocks as soon as all of their entries may go; where each waits for another, the parts
  // that others wait for.
  bool Schedule(std::span<const Changed> changed, std::vector<TableWrite>& writes) {
    for (const Changed& one : changed) marks_[one.at].left = one.lids;
    std::vector<std::pair<size_t, uint64_t>> whole, parts;
    size_t left = changed.size();
    bool found = true;
    for (uint16_t wave = 0; left > 0; ++wave) {
      FindReady(changed, whole, parts);
      if (whole.empty()) whole.swap(parts);
      if (whole.empty()) {
        found = false;
        for (size_t c = 0; c < changed.size(); ++c)
          if (marks_[changed[c].at].left) whole.emplace_back(c, marks_[changed[c].at].left);
      }
      for (const auto& [c, lids] : whole) {
        uint64_t& rest = marks_[changed[c].at].left;
        rest &= ~lids;
        left -= rest == 0;
        writes.push_back(
            {links_.node(changed[c].at), static_cast<uint16_t>(block_), 0, wave, lids, false});
      }
    }
    return found;
  }
  void FindReady(std::span<const Changed> changed, std::vector<std::pair<size_t, uint64_t>>& whole,
                 std::vector<std::pair<size_t, uint64_t>>& parts) {
    whole.clear();
    parts.clear();
    for (size_t c = 0; c < changed.size(); ++c) {
      uint64_t ready = marks_[changed[c].at].left;
      for (const Wait& wait : waits_[c]) ready &= ~(wait.lids & marks_[wait.on].left);
      if (ready != 0) (ready == marks_[changed[c].at].left ? whole : parts).emplace_back(c, ready);
    }
    if (!whole.empty()) return;
    for (const Changed& one : changed) marks_[one.at].wanted = 0;
    for (size_t c = 0; c < changed.size(); ++c)
      for (const Wait& wait : waits_[c])
        marks_[wait.on].wanted |= wait.lids & marks_[changed[c].at].left;
    for (auto& [c, lids] : parts) lids &= marks_[changed[c].at].wanted;
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [](const auto& part) { return part.second == 0; }),
                parts.end());
  }

  const PushView& view_;
  const LinkMap& links_;
  const std::vector<uint32_t>* position_ = nullptr;
  bool strict_ = false;
  uint32_t block_ = 0;
  std::vector<Marks> marks_;  // [switch]
  std::vector<uint32_t> touched_;
  std::vector<std::vector<Wait>> waits_;  // [changed block]
  std::vector<uint32_t> path_, open_;
  std::vector<uint32_t> seen_;  // [switch] Number of the search.
  uint32_t search_ = 0;
};

// What is written in one stage of one block number.
struct Batch {
  uint16_t stage = 0;
  const std::vector<uint32_t>* position = nullptr;
  std::vector<Changed> changed;
};

std::vector<Batch> FindBatches(const std::vector<Changed>& changed, const PushStages& stages) {
  std::vector<Batch> batches;
  auto begin = changed.begin();
  for (const PushStages::Part& part : stages.parts) {
    if (part.withdraw) continue;
    while (begin->block < part.block) ++begin;
    Batch& batch = batches.emplace_back();
    batch.stage = part.stage;
    batch.position = part.position;
    batch.changed = part.only;
    if (!part.only.empty()) continue;
    for (auto one = begin; one != changed.end() && one->block == part.block; ++one)
      if (const uint64_t lids = one->lids & part.lids)
        batch.changed.push_back({one->block, one->at, lids});
  }
  return batches;
}

// Those of end ports.
uint64_t EndPortsOf(const PushView& view, uint32_t block, uint64_t lids) {
  uint64_t ends = 0;
  ForEachBit(lids, [&](uint32_t i) {
    const LidPlace place = view.links().place(size_t{block} * Row::kBlock + i);
    if (!place.IsNowhere() && !place.IsSwitch()) ends |= uint64_t{1} << i;
  });
  return ends;
}

void AddWithdrawals(const PushView& view, const PushStages& stages, PushPlan& push) {
  for (const PushStages::Part& part : stages.parts) {
    if (!part.withdraw) continue;
    const uint64_t ends = part.only_dead ? 0 : EndPortsOf(view, part.block, part.lids);
    push.destinations_interrupted += static_cast<uint32_t>(std::bitset<64>(ends).count());
    for (size_t i = 0; i < view.changed().size(); ++i) {
      const Changed& one = view.changed()[i];
      const uint64_t lids = one.lids & part.lids & (part.only_dead ? stages.dead[i] : ~uint64_t{0});
      if (one.block != part.block || !lids) continue;
      push.writes.push_back({view.links().node(one.at), one.block, part.stage, 0, lids, true});
      push.paths_interrupted += std::bitset<64>(lids & ends).count();
    }
  }
}

std::vector<std::vector<TableWrite>> FindWaves(const PushView& view,
                                               const std::vector<Batch>& batches, int threads) {
  std::vector<std::vector<TableWrite>> writes(batches.size());
  Parallel parallel(threads);
  const size_t parts = std::min<size_t>(
      batches.size(), 4 * static_cast<size_t>(std::max(parallel.concurrency(), 1)));
  parallel.For(parts, [&](size_t part) {
    BlockWaves waves(view);
    for (size_t b = part; b < batches.size(); b += parts) {
      const Batch& batch = batches[b];
      if (!waves.Run(batch.changed, batch.position, writes[b]) && batch.position) {
        writes[b].clear();
        waves.Run(batch.changed, nullptr, writes[b]);
      }
      for (TableWrite& write : writes[b]) write.stage = batch.stage;
    }
  });
  return writes;
}

}  // namespace

AppliedTables TablesOf(const RoutingPlan& plan) {
  AppliedTables tables;
  tables.rows.reserve(plan.rows.size());
  for (const auto& row : plan.rows) tables.rows.push_back(row ? *row : Row());
  return tables;
}

PushPlan OrderPush(const PushInput& input) {
  PushPlan push;
  const PushView view(input);
  if (view.changed().empty()) return push;
  // For a few writes more threads are not worth waking.
  PushInput work = input;
  if (view.changed().size() < kManyWrites) work.threads = 1;
  PushStages stages = FindStages(work, view);
  AddWithdrawals(view, stages, push);
  push.hitless = push.paths_interrupted == 0;
  for (const auto& writes : FindWaves(view, FindBatches(view.changed(), stages), work.threads))
    push.writes.insert(push.writes.end(), writes.begin(), writes.end());
  push.why_not = std::move(stages.why_not);
  for (const Changed& one : stages.stuck)
    push.stuck.push_back({view.links().node(one.at), one.block, one.lids});
  std::sort(push.writes.begin(), push.writes.end(), [](const TableWrite& a, const TableWrite& b) {
    return std::tie(a.stage, a.wave, a.block, a.node) < std::tie(b.stage, b.wave, b.block, b.node);
  });
  for (const TableWrite& write : push.writes) {
    push.stages = std::max<uint16_t>(push.stages, write.stage + 1);
    push.waves = std::max<uint16_t>(push.waves, write.wave + 1);
  }
  return push;
}

}  // namespace fabricd::routing
