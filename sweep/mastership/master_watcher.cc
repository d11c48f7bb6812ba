// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/master_watcher.h"

#include <algorithm>
#include <utility>

#include "sweep/device/completion.h"

namespace fabricd::sweep {

namespace {

// Of the reads of the port. For the device itself one request is in flight while it does not
// respond, and that is the poll.
constexpr mad::DeviceId kPortDevice = kProbeDevices + kProbeDeviceCount;

const RemoteSm* Find(const std::vector<RemoteSm>& found, Guid guid) {
  const auto at =
      std::find_if(found.begin(), found.end(), [&](const auto& sm) { return sm.guid == guid; });
  return at == found.end() ? nullptr : &*at;
}

}  // namespace

bool MasterWatcher::OnFound(const std::vector<RemoteSm>& found, Instant now) {
  const RemoteSm* watched = nullptr;
  for (const RemoteSm& sm : found) {
    if (sm.state == wire::SmState::kNotActive) continue;
    if (watched == nullptr || sm.state == wire::SmState::kMaster) watched = &sm;
  }
  sweeps_without_sm_ = watched != nullptr ? 0 : sweeps_without_sm_ + 1;
  const bool is_master = watched != nullptr && watched->state == wire::SmState::kMaster;
  const bool is_doubted = !is_master && state_ == WatchedMaster::kThere;
  if (const RemoteSm* same = is_doubted ? Find(found, watched_->guid) : nullptr) {
    // The sweep may have asked it before it became master.
    watched_->port = same->port;
    next_ = now;
    return false;
  }
  const bool is_new = is_doubted && SetLost(*watched_);
  if (is_over()) return is_new;
  if (sweeps_without_sm_ >= kMostWithoutSm) return Set(WatchedMaster::kNone);
  const bool is_busy = !is_master && watched_ && watched_->guid == last_master_.guid() &&
                       last_master_.IsForeign(watched_->guid);
  if (watched != nullptr && !is_busy) {
    watched_ = *watched;
    next_ = now;
  }
  other_ = OtherOf(found);
  polls_other_ = false;
  if (!is_master)
    return is_new || (state_ == WatchedMaster::kUnknown && Set(WatchedMaster::kNoMaster));
  without_master_since_.reset();
  return Set(WatchedMaster::kThere);
}

std::optional<RemoteSm> MasterWatcher::OtherOf(const std::vector<RemoteSm>& found) const {
  const RemoteSm* other = nullptr;
  for (const RemoteSm& sm : found) {
    if (sm.state == wire::SmState::kNotActive || !watched_ || sm.guid == watched_->guid) continue;
    if (other == nullptr || !last_master_.IsForeign(sm.guid)) other = &sm;
  }
  return other == nullptr ? std::nullopt : std::optional(*other);
}

MasterWatcher::Answer MasterWatcher::OnCompletion(const mad::Completion& completion, Instant now) {
  is_out_ = false;
  const RemoteSm from = asked_;
  Answer answer;
  // A sweep has found another master since, or the same one again.
  const bool is_watched = watched_ && watched_->guid == from.guid;
  const bool may_become_master =
      state_ == WatchedMaster::kNoMaster && other_ && other_->guid == from.guid;
  polls_other_ = false;
  if (!is_watched && !may_become_master) return answer;
  if (IsOk(completion)) {
    answer.from = from.guid;
    answer.state = wire::SmInfo::Decode(completion.response.data).state;
  }
  answer.is_new = OnAnswer(from, answer.from ? std::optional(answer.state) : std::nullopt, now);
  polls_other_ = is_watched && other_ && state_ == WatchedMaster::kNoMaster;
  return answer;
}

// `state` nullopt: it did not respond.
bool MasterWatcher::OnAnswer(const RemoteSm& from, std::optional<wire::SmState> state,
                             Instant now) {
  if (state == wire::SmState::kMaster) {
    if (other_ && other_->guid == from.guid) std::swap(other_, watched_);
    without_master_since_.reset();
    return Set(WatchedMaster::kThere);
  }
  const bool is_lost = state_ == WatchedMaster::kThere || !state;
  const bool is_new = is_lost && SetLost(from);
  if (!without_master_since_) without_master_since_ = now;
  if (now - *without_master_since_ < kMostWithoutMaster) return is_new;
  return Set(WatchedMaster::kNone) || is_new;
}

void MasterWatcher::OnTimer(Instant now) {
  if (now < next_) return;
  next_ = is_over() || !watched_ ? kNever : now + kInterval;
  if (next_ == kNever) return;
  if (is_out_) return AskPort(now);
  if (!devices_.Has(polled().port.node)) return;
  is_out_ = true;
  asked_ = polled();
  asked_at_ = now;
  if (port_ == Port::kResponds) port_ = Port::kUnknown;
  auto request = devices_.Get(asked_.port, wire::AttributeId::kSmInfo, 0);
  request.context = contexts_.poll;
  request.pace = kPoll;
  request.priority = 0;
  engine_.Submit(request);
}

void MasterWatcher::AskPort(Instant now) {
  const bool is_due = now - asked_at_ >= kSilence && port_ == Port::kUnknown;
  if (!is_due || !devices_.Has(asked_.port.node)) return;
  port_ = Port::kAsked;
  port_asked_at_ = now;
  auto request = devices_.Get(asked_.port, wire::AttributeId::kPortInfo, asked_.port.port.value());
  request.context = contexts_.port;
  request.device = kPortDevice;
  request.pace = kPort;
  request.priority = 0;
  request.may_be_unknown = true;  // A lost read is no reason to doubt the device.
  engine_.Submit(request);
}

void MasterWatcher::OnPort(const mad::Completion& completion) {
  const bool is_of_poll = port_asked_at_ >= asked_at_;
  port_ = is_of_poll && IsOk(completion) ? Port::kResponds : Port::kUnknown;
}

// `sm`, which was polled or was master, does not respond, or is master no longer.
bool MasterWatcher::SetLost(const RemoteSm& sm) {
  if (last_master_.IsForeign(sm.guid)) return Set(WatchedMaster::kNoMaster);
  watched_ = sm;
  return Set(WatchedMaster::kUnresponsive);
}

bool MasterWatcher::Set(WatchedMaster state) {
  if (is_over()) return false;
  const bool is_new = std::exchange(state_, state) != state;
  if (is_over()) next_ = kNever;
  return is_new;
}

}  // namespace fabricd::sweep
