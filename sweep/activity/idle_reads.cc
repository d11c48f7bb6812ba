// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/idle_reads.h"

#include <utility>

namespace fabricd::sweep {

void IdleReads::CancelQueued(Activity activity) {
  std::vector<mad::Completion> dropped;
  ground_.engine.CancelQueuedOf(activity, dropped);
}

void IdleReads::AddSample(bool uses_vls, std::vector<uint64_t> commands, Instant now) {
  if (ground_.options.audit.enabled) read_back_.AddSample(observed_.snapshot(), uses_vls, now);
  read_back_.Hold(std::move(commands));
}

void IdleReads::AddAll(bool uses_vls, std::vector<uint64_t> commands) {
  read_back_.AddAll(observed_.snapshot(), uses_vls);
  read_back_.Hold(std::move(commands));
}

std::optional<ReadBack::Result> IdleReads::AdvanceReadBack(bool may, Instant now) {
  if (!may) {
    if (read_back_.empty()) return std::nullopt;
    read_back_.Pause();
    CancelQueued(Activity::kReadBack);
    return std::nullopt;
  }
  read_back_.Feed(now);
  if (!read_back_.HasResult()) return std::nullopt;
  ReadBack::Result result = read_back_.TakeResult(now);
  ReportDrifting(result.drifting);
  return result;
}

void IdleReads::ReportDrifting(const std::vector<NodeIndex>& nodes) {
  ground_.problems.Remove(ProblemKind::kDrifts);
  for (const NodeIndex index : nodes)
    if (const fabric::Node* const node = observed_.snapshot()->node(index))
      ground_.problems.Add(ProblemKind::kDrifts, ProblemSubject::Of(*node),
                           "what it holds differs again and again from what was written: another "
                           "program writes to it, or it loses entries (events TableDiffers)");
}

void IdleReads::OnReadBack(const mad::Completion& completion) {
  if (read_back_.IsMine(completion)) read_back_.OnCompletion(completion);
}

void IdleReads::WantVlTables(const std::vector<NodeIndex>& nodes) {
  for (const NodeIndex node : nodes)
    if (observed_.snapshot()->node(node) != nullptr &&
        !ground_.devices.applied().vls().WasRead(node))
      wanted_.insert(node);
}

void IdleReads::StartVlTables(bool uses_vls) {
  // VL tables that the plan does not use are kept only up to a limit.
  AppliedVls& known = ground_.devices.applied().vls();
  if (!uses_vls && known.tables().size() > AppliedVls::kMostTables) known.Clear();
  reader_ = std::make_unique<LaneReader>(observed_.snapshot(),
                                         std::vector<NodeIndex>(wanted_.begin(), wanted_.end()),
                                         ground_.devices, ground_.engine, ++run_);
}

bool IdleReads::AdvanceVlTables(bool may, bool uses_vls) {
  if (!may) {
    if (!reader_) return false;
    CancelQueued(Activity::kLaneReader);
    reader_.reset();
    return false;
  }
  if (!reader_ && !wanted_.empty()) StartVlTables(uses_vls);
  if (!reader_) return false;
  reader_->Feed();
  if (!reader_->done()) return false;
  // If a client requests a table again that was not read, it is read again.
  for (const NodeIndex node : reader_->nodes()) wanted_.erase(node);
  reader_.reset();
  return true;
}

void IdleReads::OnVlTables(const mad::Completion& completion) {
  if (reader_ && reader_->IsMine(completion)) reader_->OnCompletion(completion);
}

std::vector<uint64_t> IdleReads::Drop() {
  reader_.reset();
  return read_back_.Drop();
}

}  // namespace fabricd::sweep
