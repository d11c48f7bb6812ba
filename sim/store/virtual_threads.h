// SPDX-License-Identifier: Apache-2.0
// VirtualThreads: simulated processes whose code blocks, in virtual time. Each has a stack of its
// own. One of them, or the caller of RunUntil(), runs at a time, and hands on only where it waits:
// so the order of all that happens follows from the times alone.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/time.h"

namespace fabricd::sim {

class VirtualThreads {
 public:
  class Thread;
  // Bytes; fabricd's stores need some 20 KiB.
  static constexpr size_t kStack = size_t{256} << 10;

  VirtualThreads() = default;
  VirtualThreads(const VirtualThreads&) = delete;
  VirtualThreads& operator=(const VirtualThreads&) = delete;
  // REQUIRES: every body has returned.
  ~VirtualThreads();

  Instant now() const { return now_; }
  // Called between the turns of threads. In order of insertion where times are equal.
  void At(Instant when, std::function<void()> what) { agenda_.emplace(when, std::move(what)); }
  void In(Duration after, std::function<void()> what) { At(now_ + after, std::move(what)); }

  // Begins at once, before anything else that is due now and was added later. The thread lives as
  // long as this.
  Thread& Start(std::function<void()> body, size_t stack = kStack);

  // The one that runs. REQUIRES: one does.
  Thread& current() { return *current_; }

  // Runs all that happens until `end`; the time is `end` afterwards.
  void RunUntil(Instant end);

 private:
  void Resume(Thread& thread);

  Instant now_{std::chrono::seconds(1)};
  std::multimap<Instant, std::function<void()>> agenda_;
  ucontext_t back_{};  // Of RunUntil(), while a thread runs.
  Thread* current_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
};

class VirtualThreads::Thread {
 public:
  Thread(VirtualThreads& all, std::function<void()> body, size_t stack);

  // Of the thread itself. Returns when `done` holds after a Wake(), at `deadline`, or once the
  // process is killed; while it is paused, it does not return.
  void WaitUntil(Instant deadline, const std::function<bool()>& done);
  void Sleep(Duration time) {
    WaitUntil(all_.now() + time, [] { return false; });
  }

  // The following are of events, and of other threads.

  // `done` may hold now.
  void Wake();
  // Its code goes on at `end`, if it is not killed before.
  void Pause(Instant end) { paused_until_ = std::max(paused_until_, end); }
  bool is_paused() const { return all_.now() < paused_until_; }
  // Its code returns from each wait at once from now on, and should end.
  void Kill();
  bool is_killed() const { return is_killed_; }
  bool has_ended() const { return has_ended_; }

 private:
  friend class VirtualThreads;
  static void Run();
  // Waits until an event resumes it.
  void Yield();

  VirtualThreads& all_;
  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;  // Null: it has ended.
  ucontext_t context_{};
  uint64_t wait_ = 0;  // Number of the present wait. An event that resumes an earlier one is void.
  bool is_waiting_ = false;
  bool is_killed_ = false;
  bool has_ended_ = false;
  Instant paused_until_{};
};

}  // namespace fabricd::sim
