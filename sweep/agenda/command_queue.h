// SPDX-License-Identifier: Apache-2.0
// CommandQueue: the commands that ask for a sweep. Each waits for the next heavy sweep or runs with
// the current activity, and is finished exactly once.
#pragma once

#include <cstdint>
#include <vector>

#include "sweep/interface/events.h"

namespace fabricd::sweep {

class CommandQueue {
 public:
  // Outlives this; finished commands are appended.
  explicit CommandQueue(std::vector<FinishedCommand>& finished) : finished_(finished) {}

  // For the next heavy sweep.
  void Wait(uint64_t command) { waiting_.push_back(command); }
  void Wait(const std::vector<uint64_t>& commands);
  // With the current activity.
  void Run(uint64_t command) { running_.push_back(command); }
  void Run(const std::vector<uint64_t>& commands);

  // A heavy sweep starts: all that wait run with it.
  void StartWaiting();
  // The current activity has led to a heavy sweep: its commands wait for that.
  void WaitAgain();
  // They go on elsewhere, such as with the read-back that follows a sweep.
  std::vector<uint64_t> TakeRunning();

  // The activity that running commands belong to has ended: they are finished.
  void FinishRunning();
  // No sweep will start.
  void RefuseWaiting(const absl::Status& status);
  // Of commands that never waited here, or were taken: at once.
  void Finish(uint64_t command, absl::Status status);
  void Finish(const std::vector<uint64_t>& commands);

 private:
  std::vector<FinishedCommand>& finished_;
  std::vector<uint64_t> waiting_, running_;
};

}  // namespace fabricd::sweep
