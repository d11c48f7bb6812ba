// SPDX-License-Identifier: Apache-2.0
// Commands of operators about mastership: the priority, and to step down.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "sweep/mastership/mastership.h"

namespace fabricd::sweep {

using wire::SmState;
using Order = Mastership::Order;

void Mastership::Answer(uint64_t command, absl::Status status, MastershipOutcome outcome) {
  std::shared_ptr<const MastershipOutcome> told;
  if (status.ok()) told = std::make_shared<const MastershipOutcome>(std::move(outcome));
  effects_.finished.push_back({command, std::move(status), nullptr, nullptr, std::move(told)});
}

// Other SMs see the new priority in the next SMInfo response, which every master requests from time
// to time. A standby also notifies its master by a trap (IBA vol 1 §14.2.5.1, trap 144).
void Mastership::ChangePriority(uint8_t priority) {
  if (priority == priority_) return;
  Log(LogLevel::kInfo, fmt::format("SM priority {} -> {}", priority_, priority));
  priority_ = priority;
  if (IsMaster()) step_down_.OnPriorityAsMaster(priority);
  if (state_ == SmState::kStandby) notice_.Begin(OwnPort());
}

void Mastership::SendPriorityNotice(const mad::Completion& own_port) {
  if (state_ != SmState::kStandby) return;
  if (auto trap = notice_.Finish(own_port)) effects_.send.push_back(*std::move(trap));
}

Order Mastership::On(const SetPriority& command) {
  if (OnlyReads()) {
    Answer(command.command, FailedPrecondition("fabricd only reads ({} mode): its priority counts "
                                               "for nothing",
                                               SmModeName(options_.sm.mode)));
    return {};
  }
  MastershipOutcome outcome{priority_, command.priority, std::nullopt, false};
  std::vector<RemoteSm> expected = others_;  // Discovering SMs will become STANDBY.
  for (RemoteSm& sm : expected)
    if (sm.state == SmState::kDiscovering) sm.state = SmState::kStandby;
  const ElectionVerdict verdict = Elect(
      {state_, command.priority, local_port_.port_guid, patience_.idle(), patience_.passed_over()},
      expected);
  const bool yields = IsMaster() && verdict.kind == ElectionVerdict::Kind::kHandover;
  if (yields) outcome.successor = verdict.other;
  if (!command.validate_only) ChangePriority(command.priority);
  Answer(command.command, absl::OkStatus(), std::move(outcome));
  // A sweep reads the successor again before the handover.
  if (!yields || command.validate_only) return {};
  return {Order::Kind::kLookSoon, "another SM is preferred now"};
}

// Null: no SM stands by. An SM that was discovering when last seen counts as a standby, as it
// becomes one.
const RemoteSm* Mastership::BestStandby() const {
  const RemoteSm* best = nullptr;
  for (const RemoteSm& sm : others_) {
    const bool waits = sm.state == SmState::kStandby || sm.state == SmState::kDiscovering;
    if (sm.guid == local_port_.port_guid || !waits) continue;
    if (best == nullptr || IsHigher(sm.priority, sm.guid, best->priority, best->guid)) best = &sm;
  }
  return best;
}

Order Mastership::On(const StepDown& command) {
  if (auto finished = step_down_.FindFinished(command.request_id)) {
    finished->existing = true;
    Answer(command.command, absl::OkStatus(), *std::move(finished));
    return {};
  }
  if (!IsMaster()) {
    Answer(command.command, FailedPrecondition("this SM is {}: only the master can step down",
                                               wire::SmStateName(state_)));
    return {};
  }
  if (step_down_.active() && !command.validate_only) {
    step_down_.Join(command.command);
    return {};
  }
  const RemoteSm* best = BestStandby();
  if (best == nullptr) {
    Answer(command.command, NotFound("no other SM stands by"));
    return {};
  }
  const uint8_t below = best->guid < local_port_.port_guid ? 0 : 1;
  if (best->priority < below) {
    Answer(command.command,
           NotFound("SM {} stands by with priority 0, and its GUID is the higher: no priority is "
                    "below its own",
                    best->guid));
    return {};
  }
  const uint8_t lowered = std::min<uint8_t>(priority_, best->priority - below);
  MastershipOutcome outcome{priority_, lowered, *best, false};
  if (command.validate_only) {
    Answer(command.command, absl::OkStatus(), std::move(outcome));
    return {};
  }
  Log(LogLevel::kInfo, fmt::format("stepping down for SM {}", best->guid));
  ChangePriority(lowered);
  step_down_.Begin(command.command, command.request_id, std::move(outcome));
  return {Order::Kind::kLookSoon, "stepping down"};
}

void Mastership::OnSweepEnd() {
  if (!step_down_.IsOver(IsMaster())) return;
  const bool failed = IsMaster();
  const StepDownBook::Ended ended =
      failed ? step_down_.TakeFailed() : step_down_.TakeDone(watched_, priority_);
  absl::Status status;
  if (failed) {
    status = absl::AbortedError(fmt::format("SM {} has not taken the subnet: this SM stays master",
                                            ended.outcome.successor->guid));
    // Unless another priority was set since.
    if (priority_ == ended.outcome.priority) ChangePriority(ended.outcome.before);
  }
  for (uint64_t command : ended.commands) Answer(command, status, ended.outcome);
}

}  // namespace fabricd::sweep
