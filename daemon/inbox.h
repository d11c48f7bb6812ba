// SPDX-License-Identifier: Apache-2.0
// The core's inbox: many producers, one consumer that takes everything in one go. Three lanes, so
// that a storm of one kind cannot crowd out the others; each is bounded:
//   replies   rx → core      full: the receive thread waits (the window bounds what can come)
//   traps     rx → core      full: dropped and counted; the light sweep finds what they told
//   others    any → core     full: refused to the caller
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "sweep/events.h"

namespace fabricd::daemon {

class Inbox {
 public:
  static constexpr size_t kReplies = 8192, kTraps = 1024, kOthers = 1024;

  void PushReply(sweep::Event event) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return closed_ || replies_.size() < kReplies; });
    if (closed_) return;
    replies_.push_back(std::move(event));
    Wake(lock);
  }
  void PushTrap(sweep::Event event) {
    std::unique_lock lock(mutex_);
    if (traps_.size() >= kTraps) {
      ++dropped_traps_;
      return;
    }
    traps_.push_back(std::move(event));
    Wake(lock);
  }
  // False: full or closed.
  [[nodiscard]] bool PushOther(sweep::Event event) {
    std::unique_lock lock(mutex_);
    if (closed_ || others_.size() >= kOthers) return false;
    others_.push_back(std::move(event));
    Wake(lock);
    return true;
  }

  // Waits until something is there, `deadline` has come or Interrupt() was called, then appends all
  // of it: traps first, then commands and results, then replies.
  void Take(std::vector<sweep::Event>& out, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    not_empty_.wait_until(lock, deadline, [this] { return interrupted_ || !Empty(); });
    waiting_ = false;
    interrupted_ = false;
    const bool was_full = replies_.size() >= kReplies;
    for (auto* lane : {&traps_, &others_, &replies_}) {
      std::move(lane->begin(), lane->end(), std::back_inserter(out));
      lane->clear();
    }
    lock.unlock();
    if (was_full) not_full_.notify_all();
  }
  void Interrupt() {
    std::unique_lock lock(mutex_);
    interrupted_ = true;
    Wake(lock);
  }
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = interrupted_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }
  uint64_t dropped_traps() const {
    std::lock_guard lock(mutex_);
    return dropped_traps_;
  }

 private:
  bool Empty() const { return replies_.empty() && traps_.empty() && others_.empty(); }
  // A wake-up costs a system call: only when the consumer sleeps.
  void Wake(std::unique_lock<std::mutex>& lock) {
    const bool wake = std::exchange(waiting_, false);
    lock.unlock();
    if (wake) not_empty_.notify_one();
  }

  mutable std::mutex mutex_;
  std::condition_variable not_empty_, not_full_;
  std::vector<sweep::Event> replies_, traps_, others_;
  uint64_t dropped_traps_ = 0;
  bool waiting_ = false, interrupted_ = false, closed_ = false;
};

}  // namespace fabricd::daemon
