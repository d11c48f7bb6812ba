// SPDX-License-Identifier: Apache-2.0
// Mutex, MutexLock and Condition: like those of std, with the attributes that clang needs to check
// which lock is held (common/thread_annotations.h). In libstdc++, std's own have none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "common/thread_annotations.h"

namespace fabricd {

class FABRICD_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Where a MutexLock would wait too long. False: another thread has it.
  bool TryLock() FABRICD_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void Unlock() FABRICD_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class FABRICD_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FABRICD_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() FABRICD_RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() FABRICD_RELEASE() { lock_.unlock(); }
  void Lock() FABRICD_ACQUIRE() { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// The lock is held before and after each wait. The condition is a lambda that names its lock:
//   changed_.Wait(lock, [this]() FABRICD_REQUIRES(mutex_) { return stopped_; });
class Condition {
 public:
  void Wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  template <typename Predicate>
  void Wait(MutexLock& lock, Predicate&& holds) FABRICD_NO_THREAD_SAFETY_ANALYSIS {
    while (!holds()) condition_.wait(lock.lock_);
  }
  // False: `deadline` has come and the condition does not hold.
  template <typename Clock, typename Time, typename Predicate>
  bool WaitUntil(MutexLock& lock, std::chrono::time_point<Clock, Time> deadline,
                 Predicate&& holds) FABRICD_NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_until(lock.lock_, deadline, holds);
  }
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(MutexLock& lock, std::chrono::duration<Rep, Period> time,
               Predicate&& holds) FABRICD_NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_for(lock.lock_, time, holds);
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace fabricd
