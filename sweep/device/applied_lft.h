// SPDX-License-Identifier: Apache-2.0
// AppliedLft: the confirmed LinearForwardingTable of one switch. A block is known from the GetResp
// that showed it until the next Set of it. A Set whose response is lost leaves it unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "mad/wire/tables.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

class AppliedLft {
 public:
  static constexpr size_t kBlock = wire::LinearForwardingTable::kEntries;

  // The device has lost its tables, or another SM wrote them. Blocks in flight stay in flight.
  void Forget();
  // If nothing is known yet, uses the memory of the expected row, which Confirm() then compares
  // with.
  void ExpectRow(const routing::Row& row);
  // An earlier SM has confirmed that the switch holds this, except for blocks that must be read.
  // REQUIRES: IsUntouched().
  void Adopt(const routing::Row& row, std::span<const uint16_t> unread = {});
  bool Holds(size_t block, const routing::Row& row) const;
  // Which of the first `blocks` differ from `row` or are unknown, ascending.
  std::vector<uint16_t> Differences(size_t blocks, const routing::Row& row) const;
  void Confirm(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // A Set of this block is being sent. The block is unknown until Confirm() and must not be written
  // again until Complete(): two Sets of one block in flight could arrive in either order.
  void MarkSent(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // The Set got a response or was given up.
  void Complete(size_t block);
  // Responses to Sets in flight will not arrive any more.
  void AbandonInFlight() {
    for (auto& [block, flight] : flights_) flight.completed = true;
  }
  // The Set was not sent after all.
  void MarkUnsent(size_t block);
  bool IsInFlight(size_t block) const {
    const auto it = flights_.find(block);
    return it != flights_.end() && !it->second.completed;
  }
  // What the block may hold instead of row(): the bytes of an unconfirmed Set. Null: there was
  // none.
  const std::array<uint8_t, kBlock>* MayHold(size_t block) const {
    const auto it = flights_.find(block);
    return it == flights_.end() ? nullptr : &it->second.bytes;
  }
  // The response to the last Set of this block. Returns false if it shows other bytes. That proves
  // nothing, so the block is contradicted, and is written until Confirm().
  bool Answer(size_t block, const std::array<uint8_t, kBlock>& shown);
  bool IsContradicted(size_t block) const { return contradicted_.contains(block); }
  // What the switch shows proves nothing, so each block with a route is written once more
  // (AdaptiveRouting). Until then it may hold anything.
  void Distrust();
  bool IsDistrusted(size_t block) const {
    return is_distrusted_ && (block >= trusted_.size() || !trusted_[block]);
  }
  bool IsDistrusted() const { return is_distrusted_; }
  // Shares the memory of `row` where it is equal.
  void ShareMemory(const routing::Row& row) { row_.ShareEqualPages(row); }
  const routing::Row& row() const { return row_; }
  bool Knows(size_t block) const { return block < known_.size() && known_[block]; }
  bool KnowsAll() const { return known_count_ == row_.blocks(); }
  // False: nothing was confirmed since the device appeared or lost its tables.
  bool WasRead() const { return was_read_; }
  // True: nothing was read or written either.
  bool IsUntouched() const { return !was_read_ && contradicted_.empty() && flights_.empty(); }

 private:
  routing::Row row_;
  std::vector<bool> known_;
  size_t known_count_ = 0;
  bool was_read_ = false;
  bool is_distrusted_ = false;
  std::vector<bool> trusted_;  // Blocks that were written since Distrust().
  std::set<size_t> contradicted_;
  struct Flight {
    bool was_known = false;
    bool completed = false;  // No response came; the Set may have taken effect.
    std::array<uint8_t, kBlock> bytes{};
  };
  std::map<size_t, Flight> flights_;  // Until Confirm(), MarkUnsent() or Forget().
};

}  // namespace fabricd::sweep
