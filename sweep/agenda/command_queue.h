// SPDX-License-Identifier: Apache-2.0
// CommandQueue: the commands that request a sweep. Each waits for the next heavy sweep or belongs
// to the current activity, and is finished exactly once.
#pragma once

#include <cstdint>
#include <vector>

#include "sweep/interface/events.h"

namespace fabricd::sweep {

class CommandQueue {
 public:
  // Must outlive this; finished commands are appended.
  explicit CommandQueue(std::vector<FinishedCommand>& finished) : finished_(finished) {}

  // Adds a command that waits for the next heavy sweep.
  void Wait(uint64_t command) { waiting_.push_back(command); }
  void Wait(const std::vector<uint64_t>& commands);
  // Adds a command to the current activity.
  void Run(uint64_t command) { running_.push_back(command); }
  void Run(const std::vector<uint64_t>& commands);

  // A heavy sweep starts: all waiting commands now belong to it.
  void StartWaiting();
  // The current activity has led to a heavy sweep: its commands wait for that sweep.
  void WaitAgain();
  // Hands the running commands to another activity, such as the read-back that follows a sweep.
  std::vector<uint64_t> TakeRunning();

  // The current activity has ended: finishes its commands.
  void FinishRunning();
  // No sweep will start: finishes the waiting commands with `status`.
  void RefuseWaiting(const absl::Status& status);
  // Finishes at once a command that never waited here, or was taken.
  void Finish(uint64_t command, absl::Status status);
  void Finish(const std::vector<uint64_t>& commands);

 private:
  std::vector<FinishedCommand>& finished_;
  std::vector<uint64_t> waiting_, running_;
};

}  // namespace fabricd::sweep
