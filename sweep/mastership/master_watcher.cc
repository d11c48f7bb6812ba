// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/master_watcher.h"

#include <utility>

#include "sweep/device/completion.h"

namespace fabricd::sweep {

bool MasterWatcher::OnFound(const std::vector<RemoteSm>& found, Instant now) {
  const RemoteSm* master = nullptr;
  bool any = false;
  for (const RemoteSm& sm : found) {
    any |= sm.state != wire::SmState::kNotActive;
    if (sm.state == wire::SmState::kMaster) master = &sm;
  }
  sweeps_without_sm_ = any ? 0 : sweeps_without_sm_ + 1;
  if (master != nullptr) {
    master_ = *master;
    next_ = now;
    return Set(WatchedMaster::kThere);
  }
  if (master_) return Set(WatchedMaster::kSilent);
  return sweeps_without_sm_ >= kMostWithoutSm && Set(WatchedMaster::kNobody);
}

bool MasterWatcher::OnCompletion(const mad::Completion& completion) {
  is_out_ = false;
  if (IsOk(completion) &&
      wire::SmInfo::Decode(completion.response.data).state == wire::SmState::kMaster)
    return false;
  return Set(WatchedMaster::kSilent);
}

void MasterWatcher::OnTimer(Instant now) {
  if (now < next_) return;
  next_ = state_ != WatchedMaster::kThere ? kNever : now + kInterval;
  if (next_ == kNever || is_out_ || !devices_.Has(master_->port.node)) return;
  is_out_ = true;
  auto request = devices_.Get(master_->port, wire::AttributeId::kSmInfo, 0);
  request.context = context_;
  request.pace = kPoll;
  request.priority = 0;
  engine_.Submit(request);
}

bool MasterWatcher::Set(WatchedMaster state) {
  if (state_ == WatchedMaster::kSilent || state_ == WatchedMaster::kNobody) return false;
  if (state != WatchedMaster::kThere) next_ = kNever;
  return std::exchange(state_, state) != state;
}

}  // namespace fabricd::sweep
