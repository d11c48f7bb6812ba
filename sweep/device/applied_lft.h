// SPDX-License-Identifier: Apache-2.0
// AppliedLft: one switch's LinearForwardingTable as confirmed. A block is known only between the
// GetResp that showed it and the next Set of it, so a Set whose answer was lost leaves it unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "mad/wire/tables.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

class AppliedLft {
 public:
  static constexpr size_t kBlock = wire::LinearForwardingTable::kEntries;

  // The device has lost its tables, or another SM wrote them. What is in flight stays so.
  void Forget();
  // Nothing known yet: take the row to come as the memory that Confirm() compares with.
  void ExpectRow(const routing::Row& row);
  bool Holds(size_t block, const routing::Row& row) const;
  // Of the first `blocks`, those that it does not hold, ascending.
  std::vector<uint16_t> Differences(size_t blocks, const routing::Row& row) const;
  void Confirm(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // A Set of this block leaves: it is not known until Confirm(), and may not be written again until
  // Complete(): two Sets of one block under way could arrive in either order.
  void MarkSent(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // The Set was answered or given up.
  void Complete(size_t block);
  // No answer will come to what is in flight.
  void AbandonInFlight() {
    for (auto& [block, flight] : flights_) flight.completed = true;
  }
  // It did not leave after all.
  void MarkUnsent(size_t block);
  bool IsInFlight(size_t block) const {
    const auto it = flights_.find(block);
    return it != flights_.end() && !it->second.completed;
  }
  // What else the block may hold than row() says; null: what a Set did to it is known.
  const std::array<uint8_t, kBlock>* MayHold(size_t block) const {
    const auto it = flights_.find(block);
    return it == flights_.end() ? nullptr : &it->second.bytes;
  }
  // The answer to the last Set of this block. False: it shows something else, which is no proof, so
  // the block is written until the device agrees. Until Confirm().
  bool Answer(size_t block, const std::array<uint8_t, kBlock>& shown);
  bool IsContradicted(size_t block) const { return contradicted_.contains(block); }
  // Takes the memory of `row` where it is equal.
  void ShareMemory(const routing::Row& row) { row_.ShareEqualPages(row); }
  const routing::Row& row() const { return row_; }
  bool Knows(size_t block) const { return block < known_.size() && known_[block]; }
  bool KnowsAll() const { return known_count_ == row_.blocks(); }
  // False: nothing was ever confirmed since the device came or lost its tables.
  bool WasRead() const { return was_read_; }
  // Nor was anything written.
  bool IsUntouched() const { return !was_read_ && contradicted_.empty() && flights_.empty(); }

 private:
  routing::Row row_;
  std::vector<bool> known_;
  size_t known_count_ = 0;
  bool was_read_ = false;
  std::set<size_t> contradicted_;
  struct Flight {
    bool was_known = false;
    bool completed = false;  // Without an answer: it may have been written.
    std::array<uint8_t, kBlock> bytes{};
  };
  std::map<size_t, Flight> flights_;  // Until Confirm(), MarkUnsent() or Forget().
};

}  // namespace fabricd::sweep
