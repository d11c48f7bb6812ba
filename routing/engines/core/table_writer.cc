// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/table_writer.h"

#include <algorithm>

namespace fabricd::routing {

TableWriter::TableWriter(const SwitchGraph& graph, const Levels& levels, const Slots& slots,
                         const std::vector<Destination>& destinations, const Order& order,
                         const HopCosts& costs, LidBand band, uint32_t lid_end, Parallel& parallel)
    : graph_(graph),
      levels_(levels),
      slots_(slots),
      destinations_(destinations),
      order_(order),
      costs_(costs),
      lid_begin_(band.first),
      lid_end_(std::min(band.end, lid_end)),
      rows_(slots, destinations, band, lid_end, parallel),
      blocks_(costs.stride / 64),
      destination_of_(lid_end, kNobody) {
  SortBySwitch();
  FindOwnLids();
  for (uint32_t s = 0; s < graph.size(); ++s) AddRuns(s);
  run_begin_.push_back(static_cast<uint32_t>(runs_.size()));
}

void TableWriter::SortBySwitch() {
  begin_.assign(graph_.size() + 1, 0);
  for (const Destination& to : destinations_) ++begin_[to.at + 1];
  for (uint32_t s = 0; s < graph_.size(); ++s) begin_[s + 1] += begin_[s];
  by_switch_.resize(destinations_.size());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (uint32_t n = 0; n < destinations_.size(); ++n) {
    const Destination& to = destinations_[n];
    by_switch_[next[to.at]++] = n;
    if (to.lmc > 0) blocks_[to.at / 64].with_lmc |= uint64_t{1} << (to.at % 64);
    for (uint32_t lid = to.base_lid; lid < to.base_lid + (1u << to.lmc); ++lid)
      if (lid >= lid_begin_ && lid < lid_end_) destination_of_[lid] = n;
  }
  for (uint32_t s = 0; s < graph_.size(); ++s)
    std::sort(by_switch_.begin() + begin_[s], by_switch_.begin() + begin_[s + 1],
              [&](uint32_t a, uint32_t b) {
                return destinations_[a].base_lid < destinations_[b].base_lid;
              });
}

// Switches mostly have their own LIDs in the order of their numbers: then the entries for 64 of
// them are one look-up.
void TableWriter::FindOwnLids() {
  for (size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    const uint32_t end = std::min<uint32_t>(static_cast<uint32_t>(b + 1) * 64, graph_.size());
    for (uint32_t s = static_cast<uint32_t>(b * 64); s < end; ++s)
      for (uint32_t i = begin_[s]; i < begin_[s + 1]; ++i) {
        const Destination& to = destinations_[by_switch_[i]];
        const uint32_t c = s % 64;
        if (to.port != 0 || to.lmc != 0 || to.base_lid < c + lid_begin_ || to.base_lid >= lid_end_)
          continue;
        if (block.own == 0) block.own_lid = to.base_lid - c;
        // All 64 entries must lie within the row, whichever are written.
        if (to.base_lid - c == block.own_lid && block.own_lid + 64 <= lid_end_)
          block.own |= uint64_t{1} << c;
      }
  }
}

void TableWriter::AddRuns(uint32_t s) {
  run_begin_.push_back(static_cast<uint32_t>(runs_.size()));
  Block& block = blocks_[s / 64];
  const uint64_t bit = uint64_t{1} << (s % 64);
  const size_t before = runs_.size();
  for (uint32_t i = begin_[s]; i < begin_[s + 1]; ++i) {
    const Destination& to = destinations_[by_switch_[i]];
    if ((block.own & bit) && to.port == 0 && to.base_lid == block.own_lid + s % 64) continue;
    for (uint32_t lid = to.base_lid; lid < to.base_lid + (1u << to.lmc); ++lid) {
      if (lid < lid_begin_ || lid >= lid_end_) continue;
      if (runs_.size() > before && runs_.back().first + runs_.back().count == lid)
        ++runs_.back().count;
      else
        runs_.push_back({lid, 1});
    }
  }
  if (runs_.size() > before) block.ends |= bit;
}

}  // namespace fabricd::routing
