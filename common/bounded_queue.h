// SPDX-License-Identifier: Apache-2.0
// BoundedQueue<T>: many producers, one consumer that drains in batches. The caller decides at each
// push what happens if it is full: TryPush refuses, Push waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/mutex.h"

namespace fabricd {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // False: full or closed.
  bool TryPush(T item) {
    {
      MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.NotifyOne();
    return true;
  }
  // Waits for room. False: closed.
  bool Push(T item) {
    {
      MutexLock lock(mutex_);
      not_full_.Wait(
          lock, [this]() FABRICD_REQUIRES(mutex_) { return closed_ || items_.size() < capacity_; });
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.NotifyOne();
    return true;
  }
  // Moves all items into `out` (cleared first). Waits until `deadline` for the first item. False:
  // closed and empty.
  template <typename Clock, typename Dur>
  bool DrainUntil(std::vector<T>& out, std::chrono::time_point<Clock, Dur> deadline) {
    out.clear();
    MutexLock lock(mutex_);
    not_empty_.WaitUntil(lock, deadline,
                         [this]() FABRICD_REQUIRES(mutex_) { return closed_ || !items_.empty(); });
    out.swap(items_);  // Swapped as a whole: producers wait for this lock.
    const bool open = !closed_;
    lock.Unlock();
    not_full_.NotifyAll();
    return open || !out.empty();
  }
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.NotifyAll();
    not_full_.NotifyAll();
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable Mutex mutex_;
  Condition not_empty_, not_full_;
  std::vector<T> items_ FABRICD_GUARDED_BY(mutex_);
  bool closed_ FABRICD_GUARDED_BY(mutex_) = false;
};

}  // namespace fabricd
