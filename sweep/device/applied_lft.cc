// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/applied_lft.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fabricd::sweep {
namespace {

bool HasRoute(const routing::Row& row, size_t block) {
  if (block >= row.blocks()) return false;
  const uint8_t* const entries = row.block(block);
  return std::any_of(entries, entries + AppliedLft::kBlock,
                     [](uint8_t port) { return port != routing::kNoRoute; });
}

}  // namespace

void AppliedLft::Forget() {
  auto flights = std::move(flights_);
  auto trusted = std::move(trusted_);
  const bool is_distrusted = is_distrusted_;
  *this = AppliedLft();
  is_distrusted_ = is_distrusted;
  trusted_ = std::move(trusted);
  std::erase_if(flights, [](const auto& entry) { return entry.second.completed; });
  for (auto& [block, flight] : flights) flight.was_known = false;
  flights_ = std::move(flights);
}

void AppliedLft::Distrust() {
  is_distrusted_ = true;
  trusted_.clear();
}

void AppliedLft::Complete(size_t block) {
  const auto it = flights_.find(block);
  if (it != flights_.end()) it->second.completed = true;
}

void AppliedLft::MarkUnsent(size_t block) {
  const auto it = flights_.find(block);
  if (it == flights_.end()) return;
  if (it->second.was_known && !known_[block]) {
    known_[block] = true;
    ++known_count_;
  }
  flights_.erase(it);
}

void AppliedLft::ExpectRow(const routing::Row& row) {
  if (was_read_) return;
  row_ = row;
  known_.assign(row_.blocks(), false);
}

void AppliedLft::Adopt(const routing::Row& row, std::span<const uint16_t> unread) {
  row_ = row;
  known_.assign(row_.blocks(), true);
  for (const uint16_t block : unread)
    if (block < known_.size()) known_[block] = false;
  known_count_ = static_cast<size_t>(std::count(known_.begin(), known_.end(), true));
  was_read_ = true;
}

bool AppliedLft::Holds(size_t block, const routing::Row& row) const {
  if (!Knows(block) || (IsDistrusted(block) && HasRoute(row, block))) return false;
  return block < row.blocks() && (row_.SharesPage(row, block * kBlock / routing::Row::kPage) ||
                                  std::memcmp(row_.block(block), row.block(block), kBlock) == 0);
}

std::vector<uint16_t> AppliedLft::Differences(size_t blocks, const routing::Row& row) const {
  constexpr size_t kOfPage = routing::Row::kPage / kBlock;
  std::vector<uint16_t> differences;
  for (size_t block = 0; block < blocks; ++block) {
    if (block % kOfPage == 0 && KnowsAll() && !is_distrusted_ && block + kOfPage <= row_.blocks() &&
        row_.SharesPage(row, block / kOfPage))
      block += kOfPage - 1;
    else if (!Holds(block, row))
      differences.push_back(static_cast<uint16_t>(block));
  }
  return differences;
}

void AppliedLft::Confirm(size_t block, const std::array<uint8_t, kBlock>& bytes) {
  contradicted_.erase(block);
  flights_.erase(block);
  was_read_ = true;
  if (row_.blocks() <= block) row_.Resize((block + 1) * kBlock, routing::kNoRoute);
  if (std::memcmp(row_.block(block), bytes.data(), kBlock) != 0)
    row_.WriteBlock(block, bytes.data());
  if (known_.size() < row_.blocks()) known_.resize(row_.blocks(), false);
  if (!known_[block]) {
    known_[block] = true;
    ++known_count_;
  }
}

bool AppliedLft::Answer(size_t block, const std::array<uint8_t, kBlock>& shown) {
  const auto it = flights_.find(block);
  const bool agrees = it == flights_.end() || it->second.bytes == shown;
  if (agrees && is_distrusted_) {
    if (trusted_.size() <= block) trusted_.resize(block + 1, false);
    trusted_[block] = true;
  }
  if (agrees)
    Confirm(block, shown);
  else
    contradicted_.insert(block);
  return agrees;
}

void AppliedLft::MarkSent(size_t block, const std::array<uint8_t, kBlock>& bytes) {
  flights_[block] = {Knows(block), false, bytes};
  if (block < known_.size() && known_[block]) {
    known_[block] = false;
    --known_count_;
  }
}

}  // namespace fabricd::sweep
