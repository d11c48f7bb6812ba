// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/stuck_calls.h"

#include <algorithm>
#include <utility>

namespace fabricd::rpc {

void StuckCalls::Tracker::Waits() { waits_since_ = Clock::now().time_since_epoch().count(); }

void StuckCalls::Tracker::End() {
  std::lock_guard lock(mutex_);
  context_ = nullptr;
}

void StuckCalls::Tracker::CancelIfSince(Clock::time_point earliest) {
  const Clock::rep since = waits_since_;
  if (since == 0 || since > earliest.time_since_epoch().count()) return;
  std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

StuckCalls::StuckCalls(std::chrono::milliseconds limit)
    : limit_(limit), thread_([this] { Run(); }) {}

StuckCalls::~StuckCalls() {
  stop_.Close();
  thread_.join();
}

std::shared_ptr<StuckCalls::Tracker> StuckCalls::Track(grpc::ServerContextBase* context) {
  auto tracker = std::make_shared<Tracker>(context);
  MutexLock lock(mutex_);
  if (calls_.size() >= clean_at_) {
    std::erase_if(calls_, [](const auto& each) { return each.expired(); });
    clean_at_ = std::max<size_t>(64, 2 * calls_.size());
  }
  calls_.push_back(tracker);
  return tracker;
}

void StuckCalls::Run() {
  std::vector<int> nothing;
  // Looked at six times within the limit: a call is ended a sixth of it late at most.
  while (stop_.DrainUntil(nothing, std::chrono::steady_clock::now() + limit_ / 6)) {
    std::vector<std::shared_ptr<Tracker>> alive;
    {
      MutexLock lock(mutex_);
      for (const auto& each : calls_)
        if (auto held = each.lock()) alive.push_back(std::move(held));
    }
    const auto earliest = Tracker::Clock::now() - limit_;
    for (const auto& each : alive) each->CancelIfSince(earliest);
  }
}

}  // namespace fabricd::rpc
