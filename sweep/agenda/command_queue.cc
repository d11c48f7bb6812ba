// SPDX-License-Identifier: Apache-2.0
#include "sweep/agenda/command_queue.h"

#include <utility>

#include "common/breakage.h"

namespace fabricd::sweep {
namespace {

void AppendTo(std::vector<uint64_t>& all, const std::vector<uint64_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void CommandQueue::Wait(const std::vector<uint64_t>& commands) { AppendTo(waiting_, commands); }

void CommandQueue::Run(const std::vector<uint64_t>& commands) { AppendTo(running_, commands); }

void CommandQueue::StartWaiting() { AppendTo(running_, std::exchange(waiting_, {})); }

void CommandQueue::WaitAgain() { AppendTo(waiting_, std::exchange(running_, {})); }

std::vector<uint64_t> CommandQueue::TakeRunning() { return std::exchange(running_, {}); }

void CommandQueue::FinishRunning() { Finish(TakeRunning()); }

void CommandQueue::RefuseWaiting(const absl::Status& status) {
  for (const uint64_t command : std::exchange(waiting_, {})) Finish(command, status);
}

void CommandQueue::Finish(uint64_t command, absl::Status status) {
  finished_.push_back({command, std::move(status)});
}

void CommandQueue::Finish(const std::vector<uint64_t>& commands) {
  if (IsBroken(Breakage::kSweepCommandNotEnded)) return;
  for (const uint64_t command : commands) Finish(command, absl::OkStatus());
}

}  // namespace fabricd::sweep
