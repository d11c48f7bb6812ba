// SPDX-License-Identifier: Apache-2.0
// The core's inbox: many producers, one consumer that takes everything at once. Each kind of event
// has its own bounded queue, so that a full one does not displace other kinds:
//   replies       rx → core      8,192; full: the receive thread waits (the window bounds them)
//   traps         rx → core      1,024; full: dropped and counted; light sweeps find the changes
//   port events   rx → core      one of each kind: a later one replaces one that waits
//   answers       store, compute → core     never refused: the core waits for each, and the queues
//                 of those threads bound how many it can ask for
//   latest        SA, store → core   one value of each type: a later one replaces one that waits
//   VL tables     SA → core      a set of nodes: a node that is requested twice is read once
//   commands      any → core     1,024; full: refused to the caller
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "sweep/interface/events.h"

namespace fabricd::daemon {

class Inbox {
 public:
  static constexpr size_t kReplies = 8192, kTraps = 1024, kCommands = 1024;

  void PushReply(sweep::Event event) {
    MutexLock lock(mutex_);
    not_full_.Wait(
        lock, [this]() FABRICD_REQUIRES(mutex_) { return closed_ || replies_.size() < kReplies; });
    if (closed_) return;
    replies_.push_back(std::move(event));
    Wake(lock);
  }
  void PushTrap(sweep::Event event) {
    MutexLock lock(mutex_);
    if (traps_.size() >= kTraps) {
      ++dropped_traps_;
      return;
    }
    traps_.push_back(std::move(event));
    Wake(lock);
  }
  void PushPortEvent(mad::LocalPortEvent event) {
    MutexLock lock(mutex_);
    std::erase_if(port_events_, [&](const auto& waiting) { return waiting.kind == event.kind; });
    port_events_.push_back(event);
    Wake(lock);
  }
  // An answer to a question of the core.
  void PushAnswer(sweep::Event event) {
    MutexLock lock(mutex_);
    if (closed_) return;
    answers_.push_back(std::move(event));
    Wake(lock);
  }
  // A value of which only the newest of its type is needed.
  void PushLatest(sweep::Event event) {
    MutexLock lock(mutex_);
    std::erase_if(latest_, [&](const auto& waiting) { return waiting.index() == event.index(); });
    latest_.push_back(std::move(event));
    Wake(lock);
  }
  void WantLanes(std::span<const NodeIndex> nodes) {
    MutexLock lock(mutex_);
    lanes_wanted_.insert(nodes.begin(), nodes.end());
    Wake(lock);
  }
  // False: full or closed.
  [[nodiscard]] bool PushCommand(sweep::Event event) {
    MutexLock lock(mutex_);
    if (closed_ || commands_.size() >= kCommands) return false;
    commands_.push_back(std::move(event));
    Wake(lock);
    return true;
  }

  // Waits until there is an event, `deadline` has come or Interrupt() was called. Then appends all
  // events: traps and port events first, then answers, values and commands, then replies.
  void Take(std::vector<sweep::Event>& out, std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    waiting_ = true;
    not_empty_.WaitUntil(lock, deadline,
                         [this]() FABRICD_REQUIRES(mutex_) { return interrupted_ || !IsEmpty(); });
    waiting_ = false;
    interrupted_ = false;
    const bool was_full = replies_.size() >= kReplies;
    Move(traps_, out);
    Move(port_events_, out);
    Move(answers_, out);
    Move(latest_, out);
    if (!lanes_wanted_.empty()) {
      out.emplace_back(sweep::ReadLanes{{lanes_wanted_.begin(), lanes_wanted_.end()}});
      lanes_wanted_.clear();
    }
    Move(commands_, out);
    Move(replies_, out);
    lock.Unlock();
    if (was_full) not_full_.NotifyAll();
  }
  void Interrupt() {
    MutexLock lock(mutex_);
    interrupted_ = true;
    Wake(lock);
  }
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = interrupted_ = true;
    }
    not_empty_.NotifyAll();
    not_full_.NotifyAll();
  }
  uint64_t dropped_traps() const {
    MutexLock lock(mutex_);
    return dropped_traps_;
  }

 private:
  template <typename T>
  static void Move(std::vector<T>& lane, std::vector<sweep::Event>& out) {
    std::move(lane.begin(), lane.end(), std::back_inserter(out));
    lane.clear();
  }
  bool IsEmpty() const FABRICD_REQUIRES(mutex_) {
    return replies_.empty() && traps_.empty() && port_events_.empty() && answers_.empty() &&
           latest_.empty() && lanes_wanted_.empty() && commands_.empty();
  }
  // A wake-up costs a system call, so it is made only when the consumer sleeps.
  void Wake(MutexLock& lock) FABRICD_REQUIRES(mutex_) FABRICD_NO_THREAD_SAFETY_ANALYSIS {
    const bool wake = std::exchange(waiting_, false);
    lock.Unlock();
    if (wake) not_empty_.NotifyOne();
  }

  mutable Mutex mutex_;
  Condition not_empty_, not_full_;
  std::vector<sweep::Event> replies_ FABRICD_GUARDED_BY(mutex_);
  std::vector<sweep::Event> traps_ FABRICD_GUARDED_BY(mutex_);
  std::vector<sweep::Event> answers_ FABRICD_GUARDED_BY(mutex_);
  std::vector<sweep::Event> latest_ FABRICD_GUARDED_BY(mutex_);
  std::vector<sweep::Event> commands_ FABRICD_GUARDED_BY(mutex_);
  std::vector<mad::LocalPortEvent> port_events_ FABRICD_GUARDED_BY(mutex_);
  std::set<NodeIndex> lanes_wanted_ FABRICD_GUARDED_BY(mutex_);
  uint64_t dropped_traps_ FABRICD_GUARDED_BY(mutex_) = 0;
  bool waiting_ FABRICD_GUARDED_BY(mutex_) = false;
  bool interrupted_ FABRICD_GUARDED_BY(mutex_) = false;
  bool closed_ FABRICD_GUARDED_BY(mutex_) = false;
};

}  // namespace fabricd::daemon
