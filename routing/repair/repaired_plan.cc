// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/repaired_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "common/sort_unique.h"
#include "routing/plan/block_mask.h"
#include "routing/plan/row.h"

namespace fabricd::routing {
namespace {

constexpr size_t kRowsPerTask = 32;
constexpr size_t kAhead = 4;  // Rows that are fetched before they are needed.

class PlanWriter {
 public:
  PlanWriter(const RepairedBlocks& repaired, Parallel& parallel, RoutingPlan& plan)
      : before_(repaired.before),
        old_(*repaired.before.plan),
        links_(repaired.links),
        changes_(repaired.changes),
        lids_(repaired.lids),
        tasks_(repaired.tasks),
        results_(repaired.results),
        cut_(repaired.cut),
        parallel_(parallel),
        plan_(plan) {}

  void Run() {
    WriteRows();
    FillStale();
    FillPending();
    ClearCutPorts();
  }

 private:
  void WriteRows() {
    struct Write {
      uint32_t at, block;
      const uint8_t* entries;
    };
    std::vector<Write> writes;
    for (size_t i = 0; i < results_.size(); ++i)
      for (const auto& [s, entries] : results_[i].changed)
        writes.push_back({s, tasks_[i]->block, entries.data()});
    std::stable_sort(writes.begin(), writes.end(),
                     [](const Write& a, const Write& b) { return a.at < b.at; });
    std::vector<size_t> first;  // Of each switch.
    for (size_t i = 0; i < writes.size(); ++i)
      if (i == 0 || writes[i].at != writes[i - 1].at) first.push_back(i);
    const size_t size = (lids_.top().value() / Row::kBlock + size_t{1}) * Row::kBlock;
    parallel_.For((first.size() + kRowsPerTask - 1) / kRowsPerTask, [&](size_t task) {
      const size_t end = std::min((task + 1) * kRowsPerTask, first.size());
      for (size_t i = task * kRowsPerTask; i < end; ++i) {
        if (i + kAhead < end)  // What is beyond is written by other tasks.
          __builtin_prefetch(plan_.rows[links_.node(writes[first[i + kAhead]].at).value()].get());
        auto& place = plan_.rows[links_.node(writes[first[i]].at).value()];
        auto row = place ? std::make_shared<Row>(*place) : std::make_shared<Row>(size, kNoRoute);
        if (row->size() < size) row->Resize(size, kNoRoute);
        for (size_t w = first[i]; w < writes.size() && writes[w].at == writes[first[i]].at; ++w)
          row->WriteBlock(writes[w].block, writes[w].entries);
        place = std::move(row);
      }
    });
    FillOtherRows(size);
  }

  // Rows that nothing was written to but that have to be there, or to be longer.
  void FillOtherRows(size_t size) {
    for (uint32_t s : changes_.come) {
      auto& row = plan_.rows[links_.node(s).value()];
      if (!row) row = std::make_shared<const Row>(size, kNoRoute);
    }
    if (links_.lid_end() <= old_.lid_top.value() + size_t{1}) return;
    for (auto& row : plan_.rows) {
      if (!row || row->size() >= size) continue;
      auto longer = std::make_shared<Row>(*row);
      longer->Resize(size, kNoRoute);
      row = std::move(longer);
    }
  }

  void FillStale() {
    std::vector<Lid> stale;
    for (Lid lid : old_.stale)
      if (links_.place(lid.value()).IsNowhere() || IsSplit(lid)) stale.push_back(lid);
    for (const LinkChanges::LidMove& move : changes_.lids)
      if (move.after.IsNowhere()) stale.push_back(move.lid);
    for (size_t i = 0; i < results_.size(); ++i)
      ForEachBit(results_[i].stale, [&](uint32_t bit) {
        stale.push_back(Lid(static_cast<uint16_t>(tasks_[i]->block * Row::kBlock + bit)));
      });
    SortUnique(stale);
    plan_.stale = std::move(stale);
  }
  // It hung somewhere before as well, and yet some switch could not reach it.
  bool IsSplit(Lid lid) const { return !before_.links.place(lid.value()).IsNowhere(); }

  void FillPending() {
    plan_.pending.clear();
    for (size_t i = 0; i < results_.size(); ++i)
      for (const auto& [s, lids] : results_[i].pending)
        ForEachBit(lids, [&, s = s](uint32_t bit) {
          plan_.pending.push_back(
              {links_.node(s), Lid(static_cast<uint16_t>(tasks_[i]->block * Row::kBlock + bit))});
        });
    std::sort(plan_.pending.begin(), plan_.pending.end(), PairLess);
  }

  // Pending pairs keep the ways that still work.
  void ClearCutPorts() {
    for (PortRef port : cut_) {
      if (!IsUsed(plan_, port)) continue;
      auto& place = plan_.rows[port.node.value()];
      auto row = std::make_shared<Row>(*place);
      for (size_t block = 0; block < row->blocks(); ++block)
        ForEachBit(EqualMask(row->block(block), port.port.value()), [&](uint32_t i) {
          const auto lid = static_cast<uint16_t>(block * Row::kBlock + i);
          if (!IsPending({port.node, Lid(lid)})) row->Set(lid, kNoRoute);
        });
      place = std::move(row);
    }
  }
  static bool PairLess(const ExemptPair& a, const ExemptPair& b) {
    return std::tie(a.source_switch, a.destination) < std::tie(b.source_switch, b.destination);
  }
  bool IsPending(const ExemptPair& pair) const {
    return std::binary_search(plan_.pending.begin(), plan_.pending.end(), pair, PairLess);
  }

  const RouteState& before_;
  const RoutingPlan& old_;
  const LinkMap& links_;
  const LinkChanges& changes_;
  const fabric::LidTable& lids_;
  const std::vector<const BlockTask*>& tasks_;
  const std::vector<BlockResult>& results_;  // [task]
  const std::vector<PortRef>& cut_;
  Parallel& parallel_;
  RoutingPlan& plan_;
};

}  // namespace

void WriteResults(const RepairedBlocks& repaired, Parallel& parallel, RoutingPlan& plan) {
  PlanWriter(repaired, parallel, plan).Run();
}

bool IsUsed(const RoutingPlan& plan, PortRef port) {
  const Row* row = plan.HasRow(port.node) ? plan.rows[port.node.value()].get() : nullptr;
  for (size_t block = 0; row && block < row->blocks(); ++block)
    if (EqualMask(row->block(block), port.port.value())) return true;
  return false;
}

}  // namespace fabricd::routing
