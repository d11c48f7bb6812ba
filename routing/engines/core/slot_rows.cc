// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/slot_rows.h"

namespace fabricd::routing {
namespace {

constexpr size_t kBeyond = 64;

void Fill(const std::vector<Destination>& destinations, LidBand band, uint32_t lid_end,
          SlotRow& row) {
  const SlotClass& of = row.of;
  row.place.assign(lid_end + kBeyond, SlotRow::kNobody);
  row.slot.assign(lid_end + kBeyond, SlotRow::kNobody);
  row.window.assign(lid_end + kBeyond, 0);
  for (const Destination& to : destinations) {
    const uint32_t first = to.index / of.divisor;
    for (uint32_t offset = 0; offset < 1u << to.lmc; ++offset) {
      const uint32_t lid = to.base_lid + offset;
      if (!band.Has(lid)) continue;
      const uint32_t round = (first + offset) / of.width, slot = (first + offset) % of.width;
      row.slot[lid] = static_cast<uint8_t>(slot);
      row.place[lid] = static_cast<uint8_t>(slot + of.width * (round % of.cables));
      row.window[lid] = round / of.cables;
    }
  }
}

}  // namespace

SlotRows::SlotRows(const Slots& slots, const std::vector<Destination>& destinations, LidBand band,
                   uint32_t lid_end, Parallel& parallel)
    : of_(slots.of.size(), nullptr) {
  std::vector<SlotRow*> todo;
  for (size_t s = 0; s < slots.of.size(); ++s) {
    const SlotClass& of = slots.of[s];
    if (of.width == 0) continue;
    const auto [row, is_new] = rows_.try_emplace(of);
    row->second.of = of;
    if (is_new) todo.push_back(&row->second);
    of_[s] = &row->second;
  }
  parallel.For(todo.size(), [&](size_t i) { Fill(destinations, band, lid_end, *todo[i]); });
}

}  // namespace fabricd::routing
