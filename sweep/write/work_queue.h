// SPDX-License-Identifier: Apache-2.0
// WorkQueue: the work of one stage in the order in which it is sent. An item that cannot be sent
// yet, because a Set of the same is in flight, is deferred: all others go first.
//
// Writers add their items in batches. A batch is ordered by itself, behind the batches before it.
// Requests are made when there is room for them, so that a stage of a million writes costs a few
// bytes each.
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

  // ---- the batch that is being added

  // By block, then port. One device after the other would leave the engine's window idle behind its
  // limit per device.
  void Stripe();
  // The same, and each item once: a host and the switch port that it hangs on may both name it.
  void StripeUnique();
  // REQUIRES: no item has been taken.
  template <typename Predicate>
  void MoveToFront(Predicate&& goes_first) {
    std::stable_partition(Batch(), items_.end(), std::forward<Predicate>(goes_first));
  }
  void EndBatch() { batch_begin_ = items_.size(); }

  // ---- taking

  // The next item that is not busy; nullopt: none until an answer comes.
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
