// SPDX-License-Identifier: Apache-2.0
// Internal: when the thread of a store takes its next turn.
#pragma once

#include <chrono>

#include "common/mutex.h"

namespace fabricd::store::etcd {

class TurnSignal {
 public:
  // Any thread. There is work: the next turn is soon.
  void Wake() {
    {
      MutexLock lock(mutex_);
      is_awake_ = true;
    }
    changed_.NotifyOne();
  }
  // Any thread. There are no more turns.
  void Stop() {
    {
      MutexLock lock(mutex_);
      is_stopped_ = true;
    }
    changed_.NotifyOne();
  }

  // Until `interval` is over or Wake() is called; then `gather` more, so that several changes in a
  // row share one turn. False: Stop() was called.
  bool Await(std::chrono::milliseconds interval, std::chrono::milliseconds gather) {
    MutexLock lock(mutex_);
    changed_.WaitFor(lock, interval,
                     [this]() FABRICD_REQUIRES(mutex_) { return is_stopped_ || is_awake_; });
    if (is_awake_)
      changed_.WaitFor(lock, gather, [this]() FABRICD_REQUIRES(mutex_) { return is_stopped_; });
    is_awake_ = false;
    return !is_stopped_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_awake_ FABRICD_GUARDED_BY(mutex_) = false;
  bool is_stopped_ FABRICD_GUARDED_BY(mutex_) = false;
};

}  // namespace fabricd::store::etcd
