// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/family_watch.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>

#include "fabric/port_name.h"
#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

}  // namespace

void FamilyWatch::Observe(std::span<const LinkBrief> links, const FleetLimits& limits,
                          Instant now) {
  for (auto& [family, crossings] : families_) crossings.ports = 0;
  for (const LinkBrief& link : links) {
    for (const Side side : {Side::kA, Side::kB}) {
      const EndBrief& end = EndOf(link, side);
      if (end.role == EndRole::kOther) continue;
      Crossings& crossings = families_[end.family];
      ++crossings.ports;
      if (end.charged == 0) continue;
      const std::pair port(end.port.node, end.port.port);
      if (crossings.last.size() >= kMaxPorts && !crossings.last.contains(port)) continue;
      const auto [last, is_new] = crossings.last.try_emplace(port);
      if (is_new) last->second.at.fill(kNever);
      last->second.peer = EndOf(link, Opposite(side)).port.node;
      for (size_t row = 0; row < kRows; ++row)
        if ((end.charged >> row & 1) != 0) last->second.at[row] = now;
    }
  }
  findings_.clear();
  frozen_.clear();
  for (auto& [family, crossings] : families_) {
    absl::erase_if(crossings.last, [&](const auto& port) {
      return std::ranges::all_of(port.second.at,
                                 [&](Instant at) { return at == kNever || now - at >= kDay; });
    });
    Evaluate(family, crossings, limits, now);
  }
  std::erase_if(families_, [](const auto& family) {
    return family.second.ports == 0 && family.second.last.empty();
  });
}

std::vector<StoredCrossing> FamilyWatch::Export(Instant now, WallMs wall) const {
  std::vector<StoredCrossing> stored;
  for (const auto& [family, crossings] : families_)
    for (const auto& [port, last] : crossings.last)
      for (size_t row = 0; row < kRows; ++row)
        if (last.at[row] != kNever)
          stored.push_back({family,
                            {port.first, port.second},
                            static_cast<Row>(row + 1),
                            last.peer,
                            ToWall(last.at[row], now, wall)});
  std::sort(stored.begin(), stored.end());
  return stored;
}

void FamilyWatch::Import(const std::vector<StoredCrossing>& stored, Instant now, WallMs wall) {
  families_.clear();
  for (const StoredCrossing& each : stored) {
    Crossings& crossings = families_[each.family];
    const std::pair port(each.port.node, each.port.port);
    if (crossings.last.size() >= kMaxPorts && !crossings.last.contains(port)) continue;
    const auto [known, is_new] = crossings.last.try_emplace(port);
    Crossings::Last& last = known->second;
    if (is_new) last.at.fill(kNever);
    last.peer = each.peer;
    last.at[static_cast<size_t>(each.row) - 1] = std::min(FromWall(each.at, now, wall, now), now);
  }
}

// One finding for a family, of the row that most of its ports crossed.
void FamilyWatch::Evaluate(const DeviceFamily& family, const Crossings& crossings,
                           const FleetLimits& limits, Instant now) {
  size_t most = 0;
  RowMask frozen = 0;
  for (size_t row = 0; row < kRows; ++row) {
    size_t affected = 0;
    absl::flat_hash_set<Guid> peers;
    for (const auto& [port, last] : crossings.last) {
      if (last.at[row] == kNever || now - last.at[row] >= kDay) continue;
      ++affected;
      peers.insert(last.peer);
    }
    const size_t of = std::max(crossings.ports, affected);
    const bool is_many =
        affected >= limits.min_family && peers.size() >= 2 &&
        static_cast<double>(affected) > limits.family_share * static_cast<double>(of);
    if (!is_many) continue;
    frozen |= RowMask{1} << row;
    most = std::max(most, affected);
  }
  if (frozen == 0) return;
  frozen_[family] = frozen;
  findings_.push_back({.cause = CommonCause::kFamily,
                       .family = family,
                       .affected = most,
                       .of = std::max(crossings.ports, most)});
}

RowMask FamilyWatch::FrozenRows(const DeviceFamily& family) const {
  const auto found = frozen_.find(family);
  return found != frozen_.end() ? found->second : 0;
}

bool FamilyWatch::Freezes(const EndBrief& end) const {
  const RowMask frozen = FrozenRows(end.family);
  if (frozen == 0) return false;
  const Crossings& crossings = families_.at(end.family);
  const auto found = crossings.last.find({end.port.node, end.port.port});
  if (found == crossings.last.end()) return false;
  for (size_t row = 0; row < kRows; ++row)
    if ((frozen >> row & 1) != 0 && found->second.at[row] != kNever) return true;
  return false;
}

}  // namespace fabricd::policy
