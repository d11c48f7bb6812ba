// SPDX-License-Identifier: Apache-2.0
// CoreExecutor: the threads that work for the core: its own two for computing, and the store's.
//   core ──► urgent, compute    16 each (shell::CapacityOf); one job at a time
//   core ──► store              bounds: store_thread.h
#pragma once

#include <atomic>
#include <utility>

#include "daemon/base/store_thread.h"
#include "daemon/base/worker.h"
#include "shell/ports.h"

namespace fabricd::daemon {

class CoreExecutor final : public shell::Executor {
 public:
  // `store` outlives this, and ends by itself.
  explicit CoreExecutor(StoreThread& store) : store_(store) {}

  bool Post(shell::Queue queue, Job job) override {
    switch (queue) {
      case shell::Queue::kStore: return store_.PostWrite(std::move(job));
      case shell::Queue::kUrgent: return urgent_.Post(std::move(job));
      case shell::Queue::kCompute: break;
    }
    return compute_.Post(std::move(job));
  }
  // Any thread. What is queued for computing is of no use any more, and is not begun.
  void Cancel() { cancelled_ = true; }
  // A plan that is being made cannot be interrupted.
  void Stop() {
    Cancel();
    urgent_.Stop();
    compute_.Stop();
  }

 private:
  void Do(const Job& job) {
    if (!cancelled_) job();
  }

  StoreThread& store_;
  std::atomic<bool> cancelled_ = false;
  Worker<Job> urgent_{shell::CapacityOf(shell::Queue::kUrgent),
                      [this](const Job& job) { Do(job); }};
  Worker<Job> compute_{shell::CapacityOf(shell::Queue::kCompute),
                       [this](const Job& job) { Do(job); }};
};

}  // namespace fabricd::daemon
