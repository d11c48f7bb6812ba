// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/row_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "routing/plan/plan.h"

namespace fabricd::routing {
namespace {

template <typename Visit>
void ForEachBit(uint64_t bits, Visit&& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<uint32_t>(std::countr_zero(bits)));
}

uint64_t Bit(uint32_t column) { return uint64_t{1} << column; }

Lid LidOf(uint32_t lid) { return Lid(static_cast<uint16_t>(lid)); }

}  // namespace

RowWriter::RowWriter(const TableWriter& tables)
    : tables_(tables), kernels_(Kernels()), scan_(Scan()), by_slot_(tables.blocks_.size()) {
  for (auto* bytes : {&want_[0], &want_[1], &last_}) bytes->resize(tables.costs_.stride);
}

void RowWriter::Write(uint32_t source, uint8_t* entries, RowLosses& losses) {
  source_ = source;
  row_ = tables_.rows_.Of(source);
  rotation_ = tables_.slots_.sibling[source] + tables_.slots_.group[source];
  entries_ = entries;
  losses_ = &losses;
  free_.clear();
  const HopCosts& costs = tables_.costs_;
  kernels_.split_wants(costs.TotalRow(source), costs.IsOrdered() ? costs.DownRow(source) : nullptr,
                       costs.stride, want_[0].data(), want_[1].data());
  FillArcs();
  WriteBySlots();
  for (uint32_t block = 0; block < tables_.blocks_.size(); ++block) WriteBlock(block);
  MoveToOtherCables();
  DeliverOwn();
  WriteFree();
}

void RowWriter::AddArc(uint8_t neighbor, uint8_t slot) {
  const Neighbor& to = tables_.graph_.neighbor(source_, neighbor);
  const bool up = tables_.order_.empty() || tables_.order_[to.head] > tables_.order_[source_];
  port_of_arc_[arcs_.size()] = tables_.graph_.cables[to.first_cable].port;
  arcs_.push_back({&to, to.cable_count == 1, port_of_arc_[arcs_.size()], slot});
  matches_.push_back(
      {up ? tables_.costs_.TotalRow(to.head) : tables_.costs_.DownRow(to.head), want_[up].data()});
}

void RowWriter::FillArcs() {
  const Slots& slots = tables_.slots_;
  const uint32_t degree = tables_.graph_.degree(source_), width = slots.of[source_].width;
  arcs_.clear();
  matches_.clear();
  arc_of_slot_.assign(width, kHole);
  std::array<bool, 256> has_slot{};
  for (uint32_t slot = 0; slot < width; ++slot) {
    const uint8_t neighbor = slots.neighbor[slots.first[source_] + slot];
    if (neighbor == kHole) continue;
    arc_of_slot_[slot] = static_cast<uint8_t>(arcs_.size());
    has_slot[neighbor] = true;
    AddArc(neighbor, static_cast<uint8_t>(slot));
  }
  slot_arcs_ = static_cast<uint32_t>(arcs_.size());
  for (uint32_t i = 0; i < degree; ++i)
    if (!has_slot[i]) AddArc(static_cast<uint8_t>(i), kHole);
  masks_.resize(arcs_.size());
  load_.assign(arcs_.size(), 0);
  bundles_.resize(std::max(bundles_.size(), arcs_.size()));
  for (Bundle& bundle : bundles_) bundle.ready = false;
}

// As on the intact tree; entries of vacant places are written over later.
void RowWriter::WriteBySlots() {
  const uint32_t first = tables_.lid_begin_, count = tables_.lid_end_ - first;
  if (slot_arcs_ == 0) {
    std::memset(entries_ + first, kNoRoute, count);
    return;
  }
  std::array<uint8_t, 256> table;
  table.fill(kNoRoute);
  const SlotClass& of = row_->of;
  for (uint32_t slot = 0; slot < of.width; ++slot)
    for (uint32_t place = 0; place < of.cables; ++place) {
      const uint8_t arc = arc_of_slot_[slot];
      if (arc == kHole) continue;
      const uint8_t cable =
          tables_.slots_.cable[tables_.slots_.first_cable[source_] + slot * of.cables + place];
      table[slot + of.width * place] = LivePort(*arcs_[arc].neighbor, cable == kHole ? 0 : cable);
    }
  kernels_.look_up(table.data(), of.places(), &row_->place[first], count, entries_ + first);
}

void RowWriter::WriteBlock(uint32_t b) {
  const TableWriter::Block& block = tables_.blocks_[b];
  kernels_.match(matches_.data(), matches_.size(), size_t{b} * 64, masks_.data(), &last_[b * 64]);
  uint64_t any = 0, twice = 0, all_slots = slot_arcs_ == arc_of_slot_.size() ? ~uint64_t{0} : 0;
  uint64_t some_slot = 0, others = 0;
  bundle_columns_ = 0;
  for (uint32_t a = 0; a < slot_arcs_; ++a) {
    const uint64_t mask = masks_[a];
    twice |= any & mask;
    any |= mask;
    all_slots &= mask;
    bundle_columns_ |= arcs_[a].single ? 0 : mask;
  }
  some_slot = any;
  for (uint32_t a = slot_arcs_; a < arcs_.size(); ++a) {
    const uint64_t mask = masks_[a];
    twice |= any & mask;
    any |= mask;
    others |= mask;
    bundle_columns_ |= arcs_[a].single ? 0 : mask;
  }
  const uint64_t regular = slot_arcs_ ? all_slots & ~others : 0, single = any & ~twice & ~regular;
  by_slot_[b] = regular | (some_slot & ~single);
  const uint64_t own = block.own & single & ~bundle_columns_;
  if (own) WriteOwnLids(b, own);
  const uint64_t left = (block.ends | (block.own & ~own)) & ~regular;
  if (const uint64_t irregular = left & twice) FindHoles(irregular);
  ForEachBit(left, [&](uint32_t column) { WriteColumn(b, column, any, single); });
}

void RowWriter::WriteOwnLids(uint32_t b, uint64_t columns) {
  kernels_.look_up_some(port_of_arc_.data(), arcs_.size(), &last_[size_t{b} * 64], columns,
                        entries_ + tables_.blocks_[b].own_lid);
}

template <typename Visit>
void RowWriter::ForEachRun(uint32_t d, Visit&& visit) const {
  const TableWriter::Block& block = tables_.blocks_[d / 64];
  if (block.own & Bit(d % 64)) visit(block.own_lid + d % 64, 1u);
  for (uint32_t i = tables_.run_begin_[d]; i < tables_.run_begin_[d + 1]; ++i)
    visit(tables_.runs_[i].first, tables_.runs_[i].count);
}

void RowWriter::WriteColumn(uint32_t b, uint32_t column, uint64_t any, uint64_t single) {
  const uint32_t d = b * 64 + column;
  if (d == source_) return;
  if (!(any & Bit(column))) {
    ForEachRun(d, [&](uint32_t first, uint32_t count) {
      std::memset(entries_ + first, kNoRoute, count);
      for (uint32_t lid = first; lid < first + count; ++lid)
        losses_->unserved.push_back(LidOf(lid));
    });
  } else if (single & Bit(column)) {
    ForEachRun(d, [&](uint32_t first, uint32_t count) { WriteRun(last_[d], first, count); });
  } else {
    WriteIrregular(b, column);
  }
}

// Which slots of each column have no allowed neighbour.
void RowWriter::FindHoles(uint64_t columns) {
  hole_count_.fill(0);
  for (uint32_t slot = 0; slot < arc_of_slot_.size(); ++slot) {
    const uint8_t arc = arc_of_slot_[slot];
    ForEachBit(arc == kHole ? columns : columns & ~masks_[arc], [&](uint32_t column) {
      holes_[column][hole_count_[column]++] = static_cast<uint8_t>(slot);
    });
  }
}

uint32_t RowWriter::CountCandidates(uint32_t column) const {
  auto count = static_cast<uint32_t>(arc_of_slot_.size()) - hole_count_[column];
  for (size_t a = slot_arcs_; a < arcs_.size(); ++a) count += masks_[a] >> column & 1;
  return count;
}

// The arc of that rank among the allowed ones: by slot, then those without a slot.
uint32_t RowWriter::Candidate(uint32_t column, uint32_t rank) const {
  const uint32_t holes = hole_count_[column];
  if (rank < arc_of_slot_.size() - holes) {
    for (uint32_t i = 0; i < holes && holes_[column][i] <= rank; ++i) ++rank;
    return arc_of_slot_[rank];
  }
  rank -= static_cast<uint32_t>(arc_of_slot_.size()) - holes;
  for (uint32_t a = slot_arcs_;; ++a)
    if ((masks_[a] >> column & 1) && rank-- == 0) return a;
}

// The candidate whose turn it is, but rather one whose parent has lost no cable: the others carry
// their own destinations over fewer already.
uint32_t RowWriter::Substitute(uint32_t column, uint32_t turn, uint32_t candidates) const {
  for (uint32_t step = 0; step < candidates; ++step) {
    // In steps that keep the destinations of one window apart.
    const uint32_t arc = Candidate(column, (turn + step * hole_count_[column]) % candidates);
    if (arcs_[arc].neighbor->cable_count >= row_->of.cables) return arc;
  }
  return Candidate(column, turn % candidates);
}

void RowWriter::WriteIrregular(uint32_t b, uint32_t column) {
  const uint32_t d = b * 64 + column;
  const auto for_each_destination = [&](auto&& visit) {
    for (uint32_t i = tables_.begin_[d]; i < tables_.begin_[d + 1]; ++i)
      visit(tables_.by_switch_[i]);
  };
  if (hole_count_[column] == arc_of_slot_.size()) {
    for_each_destination([&](uint32_t n) { free_.push_back(n); });
    return;
  }
  const uint32_t candidates = CountCandidates(column);
  if (!(tables_.blocks_[b].with_lmc & Bit(column))) {
    ForEachRun(d, [&](uint32_t first, uint32_t count) {
      for (uint32_t i = 0; i < count; i += 64)
        MoveHoles(first + i, std::min(count - i, 64u), column, candidates);
    });
    return;
  }
  by_slot_[b] &= ~Bit(column);  // Nothing is left for MoveToOtherCables.
  const auto& holes = holes_[column];
  for_each_destination([&](uint32_t n) {
    const uint32_t q = tables_.destinations_[n].index / row_->of.divisor;
    const uint32_t slot = q % row_->of.width;
    const auto hole = std::find(holes.begin(), holes.begin() + hole_count_[column], slot);
    const auto r = static_cast<uint32_t>(hole - holes.begin());
    if (r == hole_count_[column]) return WritePort(n, arc_of_slot_[slot]);
    const uint32_t window = q / row_->of.places();
    WritePort(n, Substitute(column, window * hole_count_[column] + r + rotation_, candidates));
  });
}

// The destinations of one window that lost their slots here take different substitutes, and other
// switches begin at others: what all of them have to move must not meet at the next.
void RowWriter::MoveHoles(uint32_t first, uint32_t count, uint32_t column, uint32_t candidates) {
  const uint64_t within = count == 64 ? ~uint64_t{0} : Bit(count) - 1;
  for (uint32_t r = 0; r < hole_count_[column]; ++r)
    ForEachBit(scan_.find(&row_->slot[first], holes_[column][r]) & within, [&](uint32_t i) {
      const uint32_t lid = first + i;
      const uint32_t turn = row_->window[lid] * hole_count_[column] + r + rotation_;
      entries_[lid] = PortFor(Substitute(column, turn, candidates), lid);
      losses_->moved.push_back(LidOf(lid));
    });
}

// Of a slot whose parent is there but has lost the cable.
void RowWriter::MoveToOtherCables() {
  if (!row_ || row_->of.cables == 1) return;
  const SlotClass& of = row_->of;
  const uint8_t* cables = &tables_.slots_.cable[tables_.slots_.first_cable[source_]];
  for (uint32_t place = 0; place < of.places(); ++place) {
    const uint32_t slot = place % of.width, arc = arc_of_slot_[slot];
    if (arc == kHole || cables[slot * of.cables + place / of.width] != kHole) continue;
    for (uint32_t from = tables_.lid_begin_; from < tables_.lid_end_; from += 64)
      ForEachBit(scan_.find(&row_->place[from], static_cast<uint8_t>(place)), [&](uint32_t i) {
        const uint32_t lid = from + i;
        if (lid >= tables_.lid_end_) return;
        const uint32_t d = tables_.destinations_[tables_.destination_of_[lid]].at;
        if (!(by_slot_[d / 64] & Bit(d % 64)) || !Allows(arc, d)) return;
        entries_[lid] = PortFor(static_cast<uint32_t>(arc), lid);
        losses_->moved.push_back(LidOf(lid));
      });
  }
}

void RowWriter::DeliverOwn() {
  const bool blocked = tables_.costs_.TotalRow(source_)[source_] == HopCosts::kNoWay;
  ForEachRun(source_, [&](uint32_t first, uint32_t count) {
    for (uint32_t lid = first; lid < first + count; ++lid) {
      entries_[lid] = blocked ? kNoRoute : tables_.destinations_[tables_.destination_of_[lid]].port;
      if (blocked) losses_->unserved.push_back(LidOf(lid));
    }
  });
}

uint32_t RowWriter::LeastLoaded(const Destination& to) const {
  const auto count = static_cast<uint32_t>(arcs_.size());
  // Siblings start at different neighbours: what they all have to move from one parent must not
  // pile up at the next.
  const uint32_t start = (to.index + rotation_) % count;
  uint32_t best = count;
  uint64_t best_load = 0, best_cables = 1;
  for (uint32_t step = 0; step < count; ++step) {
    const uint32_t a = start + step < count ? start + step : start + step - count;
    if (!Allows(a, to.at)) continue;
    const uint64_t cables = arcs_[a].neighbor->cable_count;
    if (best != count && load_[a] * best_cables >= best_load * cables) continue;
    best = a, best_load = load_[a], best_cables = cables;
  }
  return best;
}

void RowWriter::WriteFree() {
  for (uint32_t n : free_) WritePort(n, LeastLoaded(tables_.destinations_[n]));
}

// The first LID by this arc, the others of the same port by the next ones.
void RowWriter::WritePort(uint32_t destination, uint32_t arc) {
  const Destination& to = tables_.destinations_[destination];
  uint32_t a = arc, round = 0;
  ++load_[arc];
  for (uint32_t offset = 0;;) {
    const uint32_t lid = to.base_lid + offset;
    if (lid >= tables_.lid_begin_ && lid < tables_.lid_end_) {
      const Neighbor& neighbor = *arcs_[a].neighbor;
      const Cable* cables = &tables_.graph_.cables[neighbor.first_cable];
      const uint8_t port = PortFor(a, lid);
      uint32_t cable = 0;
      while (cables[cable].port != port) ++cable;
      entries_[lid] = LivePort(neighbor, cable + round);
      losses_->moved.push_back(LidOf(lid));
    }
    if (++offset == 1u << to.lmc) break;
    do {
      a = a + 1 < arcs_.size() ? a + 1 : 0;
    } while (!Allows(a, to.at));
    if (a == arc) ++round;
  }
}

void RowWriter::WriteRun(uint32_t a, uint32_t first, uint32_t count) {
  load_[a] += count;
  if (arcs_[a].single) {
    std::memset(entries_ + first, arcs_[a].port, count);
    return;
  }
  const Bundle& bundle = BundleOf(a);
  if (bundle.row && bundle.dead == 0)
    kernels_.look_up(bundle.port.data(), bundle.row->of.places(), &bundle.row->place[first], count,
                     entries_ + first);
  else
    for (uint32_t lid = first; lid < first + count; ++lid) {
      entries_[lid] = PortFor(a, lid);
      if (bundle.row && bundle.port[bundle.row->place[lid]] == 0)
        losses_->moved.push_back(LidOf(lid));
    }
}

uint8_t RowWriter::PortFor(uint32_t a, uint32_t lid) {
  if (arcs_[a].single) return arcs_[a].port;
  const Bundle& bundle = BundleOf(a);
  const Neighbor& neighbor = *arcs_[a].neighbor;
  if (!bundle.row)
    return LivePort(neighbor, tables_.destinations_[tables_.destination_of_[lid]].index);
  const uint8_t place = bundle.row->place[lid], port = bundle.port[place];
  if (port != 0) return port;
  // Those of one window that lost different cables go over different others.
  return LivePort(neighbor, bundle.row->window[lid] * bundle.dead + bundle.rank[place]);
}

const RowWriter::Bundle& RowWriter::BundleOf(uint32_t arc) {
  Bundle& bundle = bundles_[arc];
  if (!bundle.ready) FillBundle(arcs_[arc], bundle);
  return bundle;
}

// Downwards the same cable that the child itself would take upwards, so that both directions spread
// alike.
void RowWriter::FillBundle(const Arc& arc, Bundle& bundle) const {
  const Slots& slots = tables_.slots_;
  const SwitchGraph& graph = tables_.graph_;
  const uint32_t head = arc.neighbor->head;
  bundle = {};
  bundle.ready = true;
  const bool upwards = arc.slot != kHole;
  const uint32_t child = upwards ? source_ : head, parent = upwards ? head : source_;
  uint32_t slot = arc.slot;
  if (!upwards) {
    if (tables_.levels_.rank[head] >= tables_.levels_.rank[source_]) return;
    for (slot = 0; slot < slots.of[child].width; ++slot) {
      const uint8_t n = slots.neighbor[slots.first[child] + slot];
      if (n != kHole && graph.neighbor(child, n).head == parent) break;
    }
    if (slot >= slots.of[child].width) return;
  }
  bundle.row = tables_.rows_.Of(child);
  const SlotClass& of = slots.of[child];
  const uint8_t n = slots.neighbor[slots.first[child] + slot];
  for (uint32_t place = 0; place < of.places(); ++place) {
    const uint8_t cable =
        slots.cable[slots.first_cable[child] + slot * of.cables + place / of.width];
    if (cable == kHole) {
      // All slots' places of one cable follow each other.
      if (place % of.width == 0) ++bundle.dead;
      bundle.rank[place] = static_cast<uint8_t>(bundle.dead - 1);
      continue;
    }
    const Cable& wire = graph.cables[graph.neighbor(child, n).first_cable + cable];
    bundle.port[place] = upwards ? wire.port : wire.head_port;
  }
}

}  // namespace fabricd::routing
