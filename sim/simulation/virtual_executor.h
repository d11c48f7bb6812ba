// SPDX-License-Identifier: Apache-2.0
// VirtualExecutor: the disk and the computing threads of a simulated fabricd. A job is done when
// its time has come, on the caller's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "common/time.h"
#include "shell/ports.h"

namespace fabricd::sim {

class VirtualExecutor final : public shell::Executor {
 public:
  // `now` outlives this.
  explicit VirtualExecutor(const Instant& now) : now_(now) {}

  // How long a write takes, and a plan with what is asked along with it.
  Duration store_time{}, plan_time{};
  // By queue; 0: each job is refused.
  std::array<size_t, shell::kQueues> capacity{shell::CapacityOf(shell::Queue::kStore),
                                              shell::CapacityOf(shell::Queue::kUrgent),
                                              shell::CapacityOf(shell::Queue::kCompute)};

  // What a job posts itself is due at once.
  bool Post(shell::Queue queue, Job job) override;
  // kNever: nothing is waiting.
  Instant NextDue() const;
  // Does what is due, writes first. False: nothing was. `entering`: called before each job.
  bool RunDue(const std::function<void(shell::Queue)>& entering);
  // The process dies: a write under way is done all the same or, like all else that waits, is not.
  void Die(bool write_survives);

 private:
  struct Waiting {
    Instant due;
    uint64_t number;
    Job job;
  };
  std::deque<Waiting>& queue(shell::Queue which) { return queues_[static_cast<size_t>(which)]; }
  // The job that is due first; null: none is.
  std::deque<Waiting>* FindDue();
  void RunFirst(std::deque<Waiting>& queue);

  const Instant& now_;
  // Core → disk, core → computing: as long as the core asks before it has been answered.
  std::array<std::deque<Waiting>, shell::kQueues> queues_;
  uint64_t posted_ = 0;
  bool in_job_ = false;
};

}  // namespace fabricd::sim
