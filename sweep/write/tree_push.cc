// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/tree_push.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/breakage.h"

namespace fabricd::sweep {
namespace {

using Block = routing::MulticastBlock;

constexpr size_t kEntries = std::tuple_size_v<Block>;

uint16_t Without(uint16_t mask, uint16_t other) { return static_cast<uint16_t>(mask & ~other); }

// One bit per MLID of a block.
using Mlids = uint32_t;
struct Change {
  Mlids loses = 0, gains = 0;
};

}  // namespace

TreePush::TreePush(std::shared_ptr<const routing::MulticastPlan> target,
                   const fabric::FabricSnapshot& snapshot, const DeviceTable& devices,
                   bool together)
    : target_(std::move(target)), together_(together || IsBroken(Breakage::kTreesAtOnce)) {
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch() && devices.Has(node.index)) Collect(node, devices);
  });
  std::map<uint16_t, Change> changes;  // By block number.
  for (const Difference& difference : differences_) {
    const AppliedMft& applied = *devices.applied().FindMft(difference.node);
    const Block surely = applied.Surely(difference.place);
    const Block possibly = applied.Possibly(difference.place);
    Change& change = changes[difference.place.block];
    for (size_t i = 0; i < kEntries; ++i) {
      if (Without(possibly[i], difference.wanted[i])) change.loses |= Mlids{1} << i;
      if (Without(difference.wanted[i], surely[i])) change.gains |= Mlids{1} << i;
    }
  }
  for (Difference& difference : differences_) {
    const AppliedMft& applied = *devices.applied().FindMft(difference.node);
    const Block surely = applied.Surely(difference.place);
    const Change& change = changes[difference.place.block];
    const Mlids moved = IsBroken(Breakage::kTreesAtOnce) ? Mlids{0} : change.loses & change.gains;
    const Mlids staged = together_ ? moved : ~Mlids{0};
    for (size_t i = 0; i < kEntries; ++i)
      difference.first[i] = staged >> i & 1
                                ? static_cast<uint16_t>(surely[i] & difference.wanted[i])
                                : difference.wanted[i];
    if (!applied.Knows(difference.place) || applied.Surely(difference.place) != difference.first) {
      ready_.push_back({difference.node, difference.place, difference.first});
      wave_ = Wave::kLose;
    }
    if (difference.first != difference.wanted) wave_ = Wave::kLose, ++size_;
  }
  size_ += ready_.size();
  std::reverse(ready_.begin(), ready_.end());
}

void TreePush::Collect(const fabric::Node& node, const DeviceTable& devices) {
  const AppliedMft* applied = devices.applied().FindMft(node.index);
  const routing::MulticastRow* row = target_->Row(node.index);
  if (applied == nullptr) return;
  std::set<Place> places;
  for (const auto& [place, state] : applied->blocks()) places.insert(place);
  if (row != nullptr)
    for (const auto& entry : row->blocks) places.insert(entry.first);
  const size_t blocks = ((node.switch_info ? node.switch_info->multicast_fdb_cap : 0u) + 31u) / 32;
  for (Place place : places) {
    if (place.block >= blocks) continue;
    const Block wanted = row == nullptr ? Block{} : row->At(place);
    if (!applied->Knows(place) || applied->Surely(place) != wanted)
      differences_.push_back({node.index, place, wanted, {}});
  }
}

std::optional<TreePush::Write> TreePush::Next(const DeviceTable& devices) {
  if (ready_.empty() && outstanding_ == 0 && wave_ == Wave::kLose) Gain();
  for (size_t i = ready_.size(); i-- > 0;) {
    const Write write = ready_[i];
    const AppliedMft* applied = devices.applied().FindMft(write.node);
    if (applied != nullptr && applied->IsInFlight(write.place)) continue;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
    ++sent_, ++outstanding_;
    return write;
  }
  return std::nullopt;
}

void TreePush::OnAnswer(NodeIndex node, Place place, bool ok) {
  --outstanding_;
  if (ok) return;
  ++failures_;
  if (wave_ == Wave::kLose) failed_.insert({node, place});
}

// REQUIRES: all writes of the first wave got a response.
void TreePush::Gain() {
  wave_ = Wave::kGain;
  std::map<uint16_t, Block> blocked;  // By block number: MLIDs that must not gain.
  for (const Difference& difference : differences_) {
    if (!failed_.contains({difference.node, difference.place})) continue;
    unsafe_.insert(difference.node);
    Block& block = blocked[difference.place.block];
    const routing::MulticastRow* row = target_->Row(difference.node);
    for (uint8_t position = 0; row != nullptr && position < 16; ++position)
      for (size_t i = 0; i < kEntries; ++i)
        block[i] |= row->At({difference.place.block, position})[i];
  }
  for (const Difference& difference : differences_) {
    if (failed_.contains({difference.node, difference.place})) continue;
    Block bytes = difference.wanted;
    if (!together_ && !failed_.empty()) {
      bytes = difference.first;
    } else if (const auto it = blocked.find(difference.place.block); it != blocked.end()) {
      for (size_t i = 0; i < kEntries; ++i)
        if (it->second[i] != 0) bytes[i] = difference.first[i];
    }
    failures_ += bytes != difference.wanted;
    if (bytes != difference.first) ready_.push_back({difference.node, difference.place, bytes});
  }
  std::reverse(ready_.begin(), ready_.end());
}

}  // namespace fabricd::sweep
