// SPDX-License-Identifier: Apache-2.0
// SourceQueue<T>: requests of many sources, taken in turns: one of each source that has some, so
// that who asks a thousand times waits for itself and not the others for it. Many producers, many
// consumers. Bounded: a source may have `share` waiting; once `capacity` wait in all, only sources
// that have none may add one (so there are never more than capacity + number of sources). What does
// not fit is refused to the producer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/mutex.h"

namespace fabricd::daemon {

template <typename T>
class SourceQueue {
 public:
  SourceQueue(size_t capacity, size_t share) : capacity_(capacity), share_(share) {}

  // False: full, for this source, or closed. `item` is then as it was.
  [[nodiscard]] bool Push(uint16_t source, T&& item) {
    MutexLock lock(mutex_);
    if (closed_) return false;
    std::deque<T>& own = waiting_[source];
    if (!own.empty() && (own.size() >= share_ || size_ >= capacity_)) return false;
    if (own.empty()) turns_.push_back(source);
    own.push_back(std::move(item));
    ++size_;
    const bool wake = MayWake();
    lock.Unlock();
    if (wake) not_empty_.NotifyOne();
    return true;
  }
  // Waits for the first, then appends up to `most`. False: closed; what waited is gone.
  bool Take(std::vector<T>& out, size_t most) {
    MutexLock lock(mutex_);
    for (; !closed_ && size_ == 0; waking_ = false) {
      ++sleepers_;
      not_empty_.Wait(lock);
      --sleepers_;
    }
    if (closed_) return false;
    for (; most > 0 && size_ > 0; --most) TakeOne(out);
    const bool more = size_ > 0 && MayWake();
    lock.Unlock();
    if (more) not_empty_.NotifyOne();
    return true;
  }
  // The same without waiting. True: more is there.
  bool TakeReady(std::vector<T>& out, size_t most) {
    MutexLock lock(mutex_);
    for (; most > 0 && size_ > 0; --most) TakeOne(out);
    return size_ > 0;
  }
  // Whether nothing waits, and it is not closed.
  [[nodiscard]] bool IsIdle() const {
    MutexLock lock(mutex_);
    return size_ == 0 && !closed_;
  }
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.NotifyAll();
  }

 private:
  // One at a time: who is on the way takes what comes meanwhile too, and wakes the next if that is
  // too much.
  bool MayWake() FABRICD_REQUIRES(mutex_) {
    if (sleepers_ == 0 || waking_) return false;
    waking_ = true;
    return true;
  }
  void TakeOne(std::vector<T>& out) FABRICD_REQUIRES(mutex_) {
    const uint16_t source = turns_.front();
    turns_.pop_front();
    const auto own = waiting_.find(source);
    out.push_back(std::move(own->second.front()));
    own->second.pop_front();
    --size_;
    if (own->second.empty())
      waiting_.erase(own);
    else
      turns_.push_back(source);
  }

  const size_t capacity_, share_;
  mutable Mutex mutex_;
  Condition not_empty_;
  absl::flat_hash_map<uint16_t, std::deque<T>> waiting_
      FABRICD_GUARDED_BY(mutex_);                          // None is empty.
  std::deque<uint16_t> turns_ FABRICD_GUARDED_BY(mutex_);  // Each source in waiting_, once.
  size_t size_ FABRICD_GUARDED_BY(mutex_) = 0;
  int sleepers_ FABRICD_GUARDED_BY(mutex_) = 0;
  bool waking_ FABRICD_GUARDED_BY(mutex_) = false;  // One of them was told, and has not looked yet.
  bool closed_ FABRICD_GUARDED_BY(mutex_) = false;
};

}  // namespace fabricd::daemon
