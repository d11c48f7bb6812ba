// SPDX-License-Identifier: Apache-2.0
// StoreThread: the one thread that writes to the store. Jobs in two lanes: a durable write, for
// which something waits before it goes on, is done before any record of history that waits. Within
// a lane jobs keep their order. Stopping does what is queued.
//   writes   core, SaKeeper → store     64; each has few outstanding; full: refused
//   records  event and audit logs → store   64; each log has one job queued; full: refused
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "common/mutex.h"

namespace fabricd::daemon {

class StoreThread {
 public:
  using Job = std::function<void()>;
  static constexpr size_t kLane = 64;

  StoreThread() : thread_([this] { Run(); }) {}
  ~StoreThread() { Stop(); }
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  // False when the lane is full, or after Stop().
  [[nodiscard]] bool PostWrite(Job job) { return Post(&StoreThread::writes_, std::move(job)); }
  [[nodiscard]] bool PostRecords(Job job) { return Post(&StoreThread::records_, std::move(job)); }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    not_empty_.NotifyOne();
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool Post(std::deque<Job> StoreThread::*queue, Job job) {
    {
      MutexLock lock(mutex_);
      std::deque<Job>& lane = this->*queue;
      if (stopping_ || lane.size() >= kLane) return false;
      lane.push_back(std::move(job));
    }
    not_empty_.NotifyOne();
    return true;
  }
  void Run() {
    MutexLock lock(mutex_);
    while (true) {
      not_empty_.Wait(lock, [this]() FABRICD_REQUIRES(mutex_) {
        return stopping_ || !writes_.empty() || !records_.empty();
      });
      std::deque<Job>& lane = writes_.empty() ? records_ : writes_;
      if (lane.empty()) return;
      Job job = std::move(lane.front());
      lane.pop_front();
      lock.Unlock();
      job();
      job = nullptr;  // What it holds goes without the lock.
      lock.Lock();
    }
  }

  Mutex mutex_;
  Condition not_empty_;
  std::deque<Job> writes_ FABRICD_GUARDED_BY(mutex_), records_ FABRICD_GUARDED_BY(mutex_);
  bool stopping_ FABRICD_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace fabricd::daemon
