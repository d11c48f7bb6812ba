// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/master_watcher.h"

#include <utility>

#include "sweep/device/completion.h"

namespace fabricd::sweep {

bool MasterWatcher::OnFound(const std::vector<RemoteSm>& found, Instant now) {
  const RemoteSm* watched = nullptr;
  for (const RemoteSm& sm : found) {
    if (sm.state == wire::SmState::kNotActive) continue;
    if (watched == nullptr || sm.state == wire::SmState::kMaster) watched = &sm;
  }
  sweeps_without_sm_ = watched != nullptr ? 0 : sweeps_without_sm_ + 1;
  const bool is_master = watched != nullptr && watched->state == wire::SmState::kMaster;
  if (!is_master && state_ == WatchedMaster::kThere) return Set(WatchedMaster::kUnresponsive);
  if (sweeps_without_sm_ >= kMostWithoutSm) return Set(WatchedMaster::kNone);
  if (watched != nullptr) {
    watched_ = *watched;
    next_ = now;
  }
  if (is_master) return Set(WatchedMaster::kThere);
  return state_ == WatchedMaster::kUnknown && Set(WatchedMaster::kNoMaster);
}

bool MasterWatcher::OnCompletion(const mad::Completion& completion) {
  is_out_ = false;
  if (!IsOk(completion)) return Set(WatchedMaster::kUnresponsive);
  if (wire::SmInfo::Decode(completion.response.data).state == wire::SmState::kMaster)
    return Set(WatchedMaster::kThere);
  if (state_ == WatchedMaster::kThere) return Set(WatchedMaster::kUnresponsive);
  return ++polls_without_master_ >= kMostWithoutMaster && Set(WatchedMaster::kNone);
}

void MasterWatcher::OnTimer(Instant now) {
  if (now < next_) return;
  next_ = is_over() || !watched_ ? kNever : now + kInterval;
  if (next_ == kNever || is_out_ || !devices_.Has(watched_->port.node)) return;
  is_out_ = true;
  auto request = devices_.Get(watched_->port, wire::AttributeId::kSmInfo, 0);
  request.context = context_;
  request.pace = kPoll;
  request.priority = 0;
  engine_.Submit(request);
}

bool MasterWatcher::Set(WatchedMaster state) {
  if (is_over()) return false;
  const bool is_new = std::exchange(state_, state) != state;
  if (is_over()) next_ = kNever;
  return is_new;
}

}  // namespace fabricd::sweep
