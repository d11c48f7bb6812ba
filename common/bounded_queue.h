// SPDX-License-Identifier: Apache-2.0
// BoundedQueue<T>: many producers, one consumer that drains in batches. What happens when it is
// full is the caller's choice at each push: TryPush refuses, Push waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace fabricd {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // False when full or closed.
  bool TryPush(T item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }
  // Waits for room. False when closed.
  bool Push(T item) {
    {
      std::unique_lock lock(mutex_);
      not_full_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }
  // Moves everything queued into `out` (cleared first); waits until `deadline` for the first item.
  // False once closed and empty.
  template <typename Clock, typename Dur>
  bool DrainUntil(std::vector<T>& out, std::chrono::time_point<Clock, Dur> deadline) {
    out.clear();
    std::unique_lock lock(mutex_);
    not_empty_.wait_until(lock, deadline, [this] { return closed_ || !items_.empty(); });
    out.swap(items_);  // Not moved one by one: producers wait for this lock.
    const bool open = !closed_;
    lock.unlock();
    not_full_.notify_all();
    return open || !out.empty();
  }
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_, not_full_;
  std::vector<T> items_;
  bool closed_ = false;
};

}  // namespace fabricd
