// SPDX-License-Identifier: Apache-2.0
// WorkQueue: the work of one stage in sending order. An item that cannot be sent yet, because a Set
// of the same attribute is in flight, is deferred: all others go first.
//
// Writers add items in batches. Each batch is ordered by itself, after the earlier batches.
// Requests are built when there is room for them, so that a stage with a million writes costs only
// a few bytes each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "sweep/write/work.h"

namespace fabricd::sweep {

class WorkQueue {
 public:
  void Clear() {
    items_.clear();
    deferred_.clear();
    next_ = batch_begin_ = 0;
  }
  void Add(const WorkItem& item) { items_.push_back(item); }

  // ---- the current batch

  // Sorts by block, then port. One device after the other would leave the engine's window idle,
  // because of the limit per device.
  void Stripe();
  // The same, and removes duplicates: a host and the switch port that it is attached to may name
  // one item.
  void StripeUnique();
  // REQUIRES: no item has been taken.
  template <typename Predicate>
  void MoveToFront(Predicate&& goes_first) {
    std::stable_partition(Batch(), items_.end(), std::forward<Predicate>(goes_first));
  }
  void EndBatch() { batch_begin_ = items_.size(); }

  // ---- sending

  // The next item that is not busy. nullopt: none before the next response.
  template <typename IsBusy>
  std::optional<WorkItem> Next(IsBusy&& is_busy) {
    for (;;) {
      while (next_ < items_.size()) {
        const WorkItem item = items_[next_++];
        if (!is_busy(item)) return item;
        deferred_.push_back(item);
      }
      if (std::all_of(deferred_.begin(), deferred_.end(), is_busy)) return std::nullopt;
      items_ = std::exchange(deferred_, {});
      next_ = 0;
    }
  }
  bool empty() const { return next_ == items_.size() && deferred_.empty(); }
  size_t size() const { return items_.size(); }
  size_t position() const { return next_; }  // Items of size() that were taken.

 private:
  std::vector<WorkItem>::iterator Batch() {
    return items_.begin() + static_cast<std::ptrdiff_t>(batch_begin_);
  }

  std::vector<WorkItem> items_;
  std::vector<WorkItem> deferred_;
  size_t next_ = 0;
  size_t batch_begin_ = 0;
};

}  // namespace fabricd::sweep
