// SPDX-License-Identifier: Apache-2.0
// Worker<Task>: one thread that runs a handler on each queued task, in order. Stopping finishes
// what is queued: a durable write that was asked for is done.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "common/bounded_queue.h"
#include "daemon/base/niceness.h"

namespace fabricd::daemon {

template <typename Task>
class Worker {
 public:
  // `niceness` above 0: what runs here waits for what reroutes need of the processors.
  Worker(size_t capacity, std::function<void(Task)> handle, int niceness = 0)
      : queue_(capacity), handle_(std::move(handle)), thread_([this, niceness] {
          if (niceness > 0) SetNiceness(niceness);
          Run();
        }) {}
  ~Worker() { Stop(); }

  // False when full or stopped.
  [[nodiscard]] bool Post(Task task) { return queue_.TryPush(std::move(task)); }
  void Stop() {
    queue_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    std::vector<Task> tasks;
    while (queue_.DrainUntil(tasks, std::chrono::steady_clock::now() + std::chrono::hours(1)))
      for (Task& task : tasks) handle_(std::move(task));
  }

  BoundedQueue<Task> queue_;
  std::function<void(Task)> handle_;
  std::thread thread_;
};

}  // namespace fabricd::daemon
