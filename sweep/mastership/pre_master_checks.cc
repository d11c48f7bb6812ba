// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/pre_master_checks.h"

#include <algorithm>
#include <utility>

namespace fabricd::sweep {
namespace {

constexpr size_t kMostRequestersKept = 16;
// Each unresponsive one delays this SM's mastership by the timeouts of a request.
constexpr size_t kMostAsked = 32;
// After so many checks, an SM that still sends requests was answered MASTER, or will be.
constexpr int kMostRepeats = 4;
constexpr int kMostLostSweeps = 2;

// Its SMInfo was lost, or the PortInfo that would have shown IsSM.
bool MayHideAnSm(const Unread& unread, const fabric::FabricSnapshot& snapshot) {
  if (unread.attribute == wire::AttributeId::kSmInfo) return true;
  const fabric::Node* node = snapshot.node(unread.port.node);
  return unread.attribute == wire::AttributeId::kPortInfo && node != nullptr && !node->IsSwitch();
}

}  // namespace

void PreMasterChecks::OnSweepStart() {
  check_.reset();
  repeats_ = 0;
  requesters_.clear();
}

void PreMasterChecks::NoteRequester(const wire::DirectedPath& back) {
  if (requesters_.size() < kMostRequestersKept &&
      std::find(requesters_.begin(), requesters_.end(), back) == requesters_.end())
    requesters_.push_back(back);
}

bool PreMasterChecks::IsFormerSilent(const fabric::FabricSnapshot& snapshot) const {
  const fabric::Port* port = former_ ? snapshot.port(former_->behind) : nullptr;
  return port != nullptr && port->IsUp() && port->peer.IsNone();
}

bool PreMasterChecks::Start(const std::vector<RemoteSm>& known, const std::vector<Unread>& unread,
                            Guid own, const fabric::FabricSnapshot& snapshot) {
  std::vector<PreMasterCheck::Question> questions;
  for (const RemoteSm& sm : known)
    if (sm.guid != own && !sm.port.IsNone()) questions.push_back({sm.port, {}});
  for (const Unread& each : unread)
    if (MayHideAnSm(each, snapshot) && questions.size() < kMostAsked)
      questions.push_back({each.port, {}, /*was_there=*/false});
  if (IsFormerSilent(snapshot)) questions.push_back({{}, former_->path, /*was_there=*/false});
  former_.reset();
  for (const wire::DirectedPath& path : std::exchange(requesters_, {}))
    questions.push_back({{}, path});
  if (questions.empty()) return false;
  check_ =
      std::make_unique<PreMasterCheck>(known, std::move(questions), devices_, engine_, context_);
  check_->Start();
  return true;
}

bool PreMasterChecks::StartAgain(const std::vector<RemoteSm>& known, Guid own,
                                 const fabric::FabricSnapshot& snapshot) {
  return !requesters_.empty() && ++repeats_ < kMostRepeats && Start(known, {}, own, snapshot);
}

PreMasterChecks::Result PreMasterChecks::Take() {
  const bool lost = check_->lost();
  return {std::exchange(check_, nullptr)->sms(), lost};
}

bool PreMasterChecks::MayRepeatSweep() {
  if (lost_sweeps_ >= kMostLostSweeps) return false;
  ++lost_sweeps_;
  return true;
}

}  // namespace fabricd::sweep
