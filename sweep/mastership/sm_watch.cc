// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/sm_watch.h"

#include <algorithm>
#include <utility>

#include "mad/wire/sm_info.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {
namespace {
constexpr Duration kPeriod = std::chrono::milliseconds(500);
constexpr Duration kBackPeriod = std::chrono::seconds(1);
constexpr size_t kMostOpenQuestions = 16;
}  // namespace

SmWatch::SmWatch(const DeviceTable& devices, mad::TransactionEngine& engine,
                 mad::RequestContext context)
    : devices_(devices), engine_(engine), context_(context) {}

void SmWatch::OnSweepStart() {
  watching_ = false;
  discovering_.clear();
  asked_.clear();
  next_ = kNever;
}

void SmWatch::Stop() {
  OnSweepStart();
  requesters_.clear();
}

void SmWatch::Follow(const std::vector<RemoteSm>& others, Instant now) {
  const bool was_idle = discovering_.empty();
  watching_ = true;
  discovering_.clear();
  for (const RemoteSm& sm : others)
    if (sm.state == wire::SmState::kDiscovering && !sm.port.IsNone())
      discovering_.push_back(sm.port);
  if (discovering_.empty())
    next_ = kNever;
  else if (was_idle)
    next_ = now + kPeriod;
}

void SmWatch::OnAsked(const wire::DirectedPath& back, mad::DeviceId device) {
  const bool waits = std::any_of(requesters_.begin(), requesters_.end(),
                                 [&](const Requester& each) { return each.back == back; });
  if (!waits && requesters_.size() < kMostOpenQuestions) requesters_.push_back({back, device});
}

Instant SmWatch::NextDeadline() const {
  if (!watching_) return kNever;
  return requesters_.empty() ? next_ : std::min(next_, next_back_);
}

void SmWatch::Ask(mad::SmpRequest request, PortRef port) {
  request.context = context_;
  request.context.number = next_number_;
  request.priority = 0;
  asked_[next_number_++] = port;
  engine_.Submit(request);
}

void SmWatch::OnTimer(Instant now) {
  if (!watching_) return;
  if (!requesters_.empty() && now >= next_back_) {
    next_back_ = now + kBackPeriod;
    for (const Requester& requester : std::exchange(requesters_, {}))
      Ask(devices_.GetSmInfo(requester.back, requester.device), PortRef());
  }
  if (now < next_) return;
  next_ = now + kPeriod;
  for (const PortRef port : discovering_)
    if (devices_.Has(port.node)) Ask(devices_.Get(port, wire::AttributeId::kSmInfo, 0), port);
}

std::optional<RemoteSm> SmWatch::OnCompletion(const mad::Completion& completion) {
  const auto asked = asked_.extract(completion.context.number);
  if (!watching_ || asked.empty() || !IsOk(completion)) return std::nullopt;
  const auto info = wire::SmInfo::Decode(completion.response.data);
  if (!info.guid || info.state == wire::SmState::kNotActive) return std::nullopt;
  return RemoteSm{asked.mapped(), info.guid, info.priority, info.state, info.activity_count};
}

}  // namespace fabricd::sweep
