// SPDX-License-Identifier: Apache-2.0
#include "routing/table_writer.h"

#include <algorithm>

namespace fabricd::routing {
namespace {

constexpr uint8_t kMatchesNothing = 254;  // HopCosts never has it.

// Alone and restricted for the same reason as the loops of hop_costs.cc.
[[gnu::noinline]] void CountAllowed(const uint8_t* __restrict costs, const uint8_t* __restrict want,
                                    uint8_t neighbor, uint8_t* __restrict count,
                                    uint8_t* __restrict last, int n) {
  for (int i = 0; i < n; ++i) {
    const bool allowed = costs[i] == want[i];
    count[i] = static_cast<uint8_t>(count[i] + allowed);
    last[i] = allowed ? neighbor : last[i];
  }
}

}  // namespace

TableWriter::TableWriter(const SwitchGraph& graph, const Levels& levels, const Slots& slots,
                         const std::vector<Destination>& destinations, const Order& order,
                         const HopCosts& costs, LidBand band)
    : graph_(graph),
      levels_(levels),
      slots_(slots),
      destinations_(destinations),
      order_(order),
      costs_(costs),
      band_(band) {
  for (uint32_t n = 0; n < destinations.size(); ++n) {
    const Destination& to = destinations[n];
    if (runs_.empty() || runs_.back().at != to.at) runs_.push_back({n, n, to.at, true});
    runs_.back().end = n + 1;
    runs_.back().plain &= to.lmc == 0 && band.Has(to.base_lid);
  }
}

void TableWriter::FillArcs(uint32_t source, Scratch& scratch) const {
  scratch.arcs.resize(graph_.degree(source));
  for (uint32_t i = 0; i < scratch.arcs.size(); ++i) {
    const Neighbor& to = graph_.neighbor(source, i);
    const bool up = order_.empty() || order_[to.head] > order_[source];
    scratch.arcs[i] = {up ? costs_.TotalRow(to.head) : costs_.DownRow(to.head), up,
                       to.cable_count == 1, graph_.cables[to.first_cable].port};
  }
}

void TableWriter::FillSlots(uint32_t source, Scratch& scratch) const {
  const SlotClass& wanted = slots_.of[source];
  if (scratch.slot.size() == destinations_.size() && scratch.slot_class == wanted) return;
  scratch.slot_class = wanted;
  scratch.slot.assign(destinations_.size(), 0);
  scratch.cable.assign(destinations_.size(), 0);
  if (wanted.width == 0) return;
  for (size_t i = 0; i < destinations_.size(); ++i) {
    const uint32_t shared = destinations_[i].index / wanted.divisor;
    scratch.slot[i] = static_cast<uint16_t>(shared % wanted.width);
    scratch.cable[i] = static_cast<uint8_t>(shared / wanted.width % wanted.cables);
  }
}

void TableWriter::FillAllowed(uint32_t source, Scratch& scratch) const {
  const uint8_t* total = costs_.TotalRow(source);
  const uint8_t* down = costs_.IsOrdered() ? costs_.DownRow(source) : nullptr;
  for (auto& want : scratch.want) want.assign(costs_.stride, kMatchesNothing);
  for (uint32_t d = 0; d < graph_.size(); ++d) {
    if (d == source || total[d] == HopCosts::kNoWay) continue;
    const bool goes_up = !down || down[d] == HopCosts::kNoWay;
    scratch.want[goes_up][d] = static_cast<uint8_t>(total[d] - 1);
  }
  scratch.count.assign(costs_.stride, 0);
  scratch.last.assign(costs_.stride, 0);
  for (size_t i = 0; i < scratch.arcs.size(); ++i)
    CountAllowed(scratch.arcs[i].costs, scratch.want[scratch.arcs[i].up].data(),
                 static_cast<uint8_t>(i), scratch.count.data(), scratch.last.data(),
                 static_cast<int>(costs_.stride));
}

// Which of parallel cables, modulo their number: downwards the same one that the child itself would
// take upwards, so that both directions spread alike.
uint32_t TableWriter::CableOf(uint32_t source, const Neighbor& neighbor, const Destination& to,
                              uint8_t up_cable) const {
  if (neighbor.cable_count == 1) return 0;
  const uint32_t from = levels_.rank[source], to_rank = levels_.rank[neighbor.head];
  if (to_rank > from) return up_cable;
  if (to_rank == from) return to.index;
  const SlotClass& child = slots_.of[neighbor.head];
  return to.index / child.divisor / std::max(child.width, 1u) % child.cables;
}

uint32_t TableWriter::LeastLoaded(uint32_t source, const Destination& to,
                                  const Scratch& scratch) const {
  const auto count = static_cast<uint32_t>(scratch.arcs.size());
  // Siblings start at different neighbours: what they all have to move from one parent must not
  // pile up at the next.
  const uint32_t start = (to.index + slots_.sibling[source]) % count;
  uint32_t best = count;
  uint64_t best_load = 0, best_cables = 1;
  for (uint32_t step = 0; step < count; ++step) {
    const uint32_t i = start + step < count ? start + step : start + step - count;
    if (!Allows(scratch, i, to.at)) continue;
    const uint64_t cables = graph_.neighbor(source, i).cable_count;
    if (best != count && scratch.load[i] * best_cables >= best_load * cables) continue;
    best = i, best_load = scratch.load[i], best_cables = cables;
  }
  return best;
}

void TableWriter::WriteEntries(uint32_t source, uint32_t destination, uint32_t neighbor,
                               Scratch& scratch, Row& row) const {
  const Destination& to = destinations_[destination];
  ++scratch.load[neighbor];
  uint32_t i = neighbor, round = 0;
  for (uint32_t offset = 0;;) {
    const Neighbor& next = graph_.neighbor(source, i);
    const uint32_t cable = CableOf(source, next, to, scratch.cable[destination]) + round;
    if (band_.Has(to.base_lid + offset))
      row.Set(to.base_lid + offset,
              graph_.cables[next.first_cable + cable % next.cable_count].port);
    if (++offset == 1u << to.lmc) break;
    do {
      i = i + 1 < scratch.arcs.size() ? i + 1 : 0;
    } while (!Allows(scratch, i, to.at));
    if (i == neighbor) ++round;
  }
}

void TableWriter::WriteRun(uint32_t source, const Run& run, Scratch& scratch, Row& row) const {
  const bool choice = scratch.count[run.at] > 1;
  const uint8_t* by_slot = slots_.neighbor.data() + slots_.first[source];
  uint32_t neighbor = scratch.last[run.at];
  for (uint32_t n = run.begin; n < run.end; ++n) {
    if (choice) {
      neighbor = scratch.slot_class.width ? by_slot[scratch.slot[n]] : Slots::kHole;
      if (neighbor == Slots::kHole || !Allows(scratch, neighbor, run.at)) {
        scratch.missed.push_back(n);
        continue;
      }
    }
    if (run.plain && scratch.arcs[neighbor].single) {
      row.Set(destinations_[n].base_lid, scratch.arcs[neighbor].port);
      ++scratch.load[neighbor];
    } else {
      WriteEntries(source, n, neighbor, scratch, row);
    }
  }
}

template <typename Visit>
void TableWriter::ForEachLid(const Run& run, Visit&& visit) const {
  for (uint32_t n = run.begin; n < run.end; ++n) {
    const Destination& to = destinations_[n];
    for (uint32_t lid = to.base_lid; lid < to.base_lid + (1u << to.lmc); ++lid)
      if (band_.Has(lid)) visit(lid, to.port);
  }
}

void TableWriter::WriteRow(uint32_t source, Scratch& scratch, Row& row,
                           std::vector<Lid>& unserved) const {
  FillArcs(source, scratch);
  FillSlots(source, scratch);
  FillAllowed(source, scratch);
  scratch.load.assign(scratch.arcs.size(), 0);
  scratch.missed.clear();
  const bool blocked = costs_.TotalRow(source)[source] == HopCosts::kNoWay;
  for (const Run& run : runs_) {
    if (run.at == source && !blocked)
      ForEachLid(run, [&](uint32_t lid, uint8_t port) { row.Set(lid, port); });
    else if (scratch.count[run.at] == 0)
      ForEachLid(
          run, [&](uint32_t lid, uint8_t) { unserved.push_back(Lid(static_cast<uint16_t>(lid))); });
    else
      WriteRun(source, run, scratch, row);
  }
  for (uint32_t n : scratch.missed)
    WriteEntries(source, n, LeastLoaded(source, destinations_[n], scratch), scratch, row);
}

}  // namespace fabricd::routing
