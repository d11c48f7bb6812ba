// SPDX-License-Identifier: Apache-2.0
// CoreExecutor: runs the jobs of the core on three threads: two of its own, for computing, and the
// store's thread.
//   core ──► urgent, compute    16 jobs may wait for each (shell::CapacityOf)
//   core ──► store              bounds: base/store_thread.h
#pragma once

#include <atomic>
#include <utility>

#include "daemon/base/store_thread.h"
#include "daemon/base/worker.h"
#include "shell/ports.h"

namespace fabricd::daemon {

class CoreExecutor final : public shell::Executor {
 public:
  // `store` must outlive this. Its owner stops it.
  explicit CoreExecutor(StoreThread& store) : store_(store) {}

  bool Post(shell::Queue queue, Job job) override {
    switch (queue) {
      case shell::Queue::kStore: return store_.PostWrite(std::move(job));
      case shell::Queue::kUrgent: return urgent_.Post(std::move(job));
      case shell::Queue::kCompute: break;
    }
    return compute_.Post(std::move(job));
  }
  // Any thread. Drops the computing jobs that wait: their results are no longer needed. Writes are
  // not dropped.
  void Cancel() { cancelled_ = true; }
  // Waits for the job that each computing thread is running; it cannot be interrupted.
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
