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
    : graph_(graph), levels_(levels), slots_(slots), destinations_(destinations), order_(order),
      costs_(costs), band_(band) {}

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

void TableWriter::FillAllowed(uint32_t source, const std::vector<Arc>& arcs,
                              Scratch& scratch) const {
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
  for (size_t i = 0; i < arcs.size(); ++i)
    CountAllowed(arcs[i].costs, scratch.want[arcs[i].up].data(), static_cast<uint8_t>(i),
                 scratch.count.data(), scratch.last.data(), static_cast<int>(costs_.stride));
}

// Which of parallel cables: downwards the same one that the child itself would take upwards, so that
// both directions spread alike.
uint32_t TableWriter::CableOf(uint32_t source, const Neighbor& neighbor,
                              const Destination& destination, uint8_t up_cable) const {
  if (neighbor.cable_count == 1) return 0;
  if (levels_.rank[neighbor.head] > levels_.rank[source]) return up_cable;
  const SlotClass& child = slots_.of[neighbor.head];
  return destination.index / child.divisor / std::max(child.width, 1u) % child.cables;
}

uint32_t TableWriter::LeastLoaded(uint32_t source, const std::vector<Arc>& arcs,
                                  const Destination& destination, const Scratch& scratch) const {
  const auto count = static_cast<uint32_t>(arcs.size());
  const uint32_t d = graph_.ends[destination.end].at;
  // Siblings start at different neighbours: what they all have to move from one parent must not
  // pile up at the next.
  const uint32_t start = (destination.index + slots_.sibling[source]) % count;
  uint32_t best = count;
  uint64_t best_load = 0, best_cables = 1;
  for (uint32_t step = 0; step < count; ++step) {
    const uint32_t i = start + step < count ? start + step : start + step - count;
    if (!Allows(arcs[i], scratch, d)) continue;
    const uint64_t cables = graph_.neighbor(source, i).cable_count;
    if (best != count && scratch.load[i] * best_cables >= best_load * cables) continue;
    best = i, best_load = scratch.load[i], best_cables = cables;
  }
  return best;
}

uint32_t TableWriter::SlotNeighbor(uint32_t source, const std::vector<Arc>& arcs,
                                   uint32_t destination, const Scratch& scratch) const {
  const uint32_t d = graph_.ends[destinations_[destination].end].at;
  if (scratch.count[d] == 1) return scratch.last[d];
  const auto none = static_cast<uint32_t>(arcs.size());
  if (scratch.slot_class.width == 0) return none;
  const uint8_t neighbor = slots_.neighbor[slots_.first[source] + scratch.slot[destination]];
  return neighbor != Slots::kHole && Allows(arcs[neighbor], scratch, d) ? neighbor : none;
}

template <typename Visit>
void TableWriter::ForEachLid(const EndPort& end, Visit&& visit) const {
  for (uint32_t offset = 0; offset < end.lid_count(); ++offset)
    if (band_.Has(end.base_lid + offset)) visit(end.base_lid + offset);
}

void TableWriter::WriteEntries(uint32_t source, const std::vector<Arc>& arcs, uint32_t destination,
                               uint32_t neighbor, Scratch& scratch, Row& row) const {
  const Destination& to = destinations_[destination];
  const EndPort& end = graph_.ends[to.end];
  const auto port = [&](uint32_t i, uint32_t shift) {
    const Neighbor& next = graph_.neighbor(source, i);
    const uint32_t cable = CableOf(source, next, to, scratch.cable[destination]) + shift;
    return graph_.cables[next.first_cable + cable % next.cable_count].port;
  };
  ++scratch.load[neighbor];
  if (end.lmc == 0) {
    row[end.base_lid] = port(neighbor, 0);
    return;
  }
  uint32_t i = neighbor, round = 0;
  for (uint32_t offset = 0; offset < end.lid_count(); ++offset) {
    if (band_.Has(end.base_lid + offset)) row[end.base_lid + offset] = port(i, round);
    do {
      i = i + 1 < arcs.size() ? i + 1 : 0;
    } while (!Allows(arcs[i], scratch, end.at));
    if (i == neighbor) ++round;
  }
}

void TableWriter::WriteRow(uint32_t source, Scratch& scratch, Row& row,
                           std::vector<Lid>& unserved) const {
  std::vector<Arc> arcs(graph_.degree(source));
  for (uint32_t i = 0; i < arcs.size(); ++i) {
    const uint32_t head = graph_.neighbor(source, i).head;
    const bool up = order_.empty() || order_[head] > order_[source];
    arcs[i] = {head, up, up ? costs_.TotalRow(head) : costs_.DownRow(head)};
  }
  FillSlots(source, scratch);
  FillAllowed(source, arcs, scratch);
  scratch.load.assign(arcs.size(), 0);
  scratch.missed.clear();
  const bool blocked = costs_.TotalRow(source)[source] == HopCosts::kNoWay;
  for (uint32_t n = 0; n < destinations_.size(); ++n) {
    const EndPort& end = graph_.ends[destinations_[n].end];
    if (end.base_lid >= band_.end || end.base_lid + end.lid_count() <= band_.first) continue;
    if (end.at == source && !blocked) {
      ForEachLid(end, [&](uint32_t lid) { row[lid] = end.port; });
    } else if (scratch.count[end.at] == 0) {
      ForEachLid(end, [&](uint32_t lid) { unserved.push_back(Lid(static_cast<uint16_t>(lid))); });
    } else {
      const uint32_t neighbor = SlotNeighbor(source, arcs, n, scratch);
      if (neighbor < arcs.size()) WriteEntries(source, arcs, n, neighbor, scratch, row);
      else scratch.missed.push_back(n);
    }
  }
  for (uint32_t n : scratch.missed)
    WriteEntries(source, arcs, n, LeastLoaded(source, arcs, destinations_[n], scratch), scratch, row);
}

}  // namespace fabricd::routing
