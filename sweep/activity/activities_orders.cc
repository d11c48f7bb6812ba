// SPDX-License-Identifier: Apache-2.0
// The orders of Mastership, and what is done where this SM must not write: it reads everything,
// shows what it would write, and watches.
#include <utility>

#include "common/status.h"
#include "sweep/activity/activities.h"

namespace fabricd::sweep {
namespace {

// An SM that watches sweeps so often, but less than a tenth of the time.
constexpr Duration kWatchInterval = std::chrono::minutes(1);
constexpr int kRestPerSweep = 9;

constexpr char kHeldText[] =
    "the fabric was managed with other settings: nothing is written until the takeover report is "
    "accepted";

}  // namespace

void Activities::Apply(Mastership::Order order, Instant now) {
  view_.ShowState(mastership_.state());
  if (order.shows_others) view_.MarkChanged();
  if (order.tables_unknown) programming_.ForgetTables();
  if (order.rose) {
    programming_.desired().SetReregistration(true);
    guard_.OnBecameMaster();
  }
  using Kind = Mastership::Order::Kind;
  switch (order.kind) {
    case Kind::kNothing: break;
    case Kind::kProgram:
      if (IsStoppedByGuard()) return StartReading(now);
      programming_.desired().pending().MarkAll();
      Program(now);
      break;
    case Kind::kOnlyRead: StartReading(now); break;
    case Kind::kSweep: StartHeavySweep(order.why, now); break;
    case Kind::kLookSoon: agenda_.WantSweep(std::move(order.why)); break;
    case Kind::kBeStandby: EnterStandby(now); break;
    case Kind::kWait: EndSweep(SweepKind::kHeavy, false, CoreEvent::kWaitForOther, now); break;
    case Kind::kGiveUp:
      ground_.problems.Add(ProblemKind::kUnknownSm, ProblemSubject::Subnet(), std::move(order.why));
      EndSweep(SweepKind::kHeavy, true, CoreEvent::kEnd, now);
      break;
  }
}

void Activities::EnterStandby(Instant now) {
  guard_.OnNoLongerMaster();
  view_.SetSubnetUp(false);
  EndEverything();
  mastership_.OnRequestsDropped();
  agenda_.DropSweep();
  commands_.RefuseWaiting(FailedPrecondition("another SM has become master"));
  EndSweep(SweepKind::kHeavy, false, CoreEvent::kOtherIsMaster, now);
}

// ---- reading only

// Before the first Set of a mastership. What discovery has read is enough to decide.
bool Activities::IsStoppedByGuard() {
  if (!guard_.IsArmed()) return false;
  const bool was_held = guard_.is_held();
  const bool stops = guard_.Stops(programming_.Preview(), ground_.devices.applied(),
                                  programming_.lids(), observed_.own().port_guid);
  if (was_held && !stops) journal_.Log(LogLevel::kInfo, "the takeover goes on");
  return stops;
}

void Activities::StartReading(Instant now) {
  view_.SetSubnetUp(false);
  programming_.ShowObservedLids();
  machine_.On(CoreEvent::kMustNotWrite);
  programming_.StartReading(now);
  FinishProgrammingIfDone(now);
}

void Activities::FinishReading(Instant now) {
  const SharedTakeoverReport before = guard_.report();
  const TakeoverReport& report =
      guard_.MakeReport(programming_.desired_to_show(), ground_.devices.applied(),
                        programming_.lids(), *programming_.multicast().groups());
  programming_.EndReading();
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  if (guard_.is_held()) {
    ground_.problems.Add(ProblemKind::kTakeoverHeld, ProblemSubject::Subnet(),
                         fmt::format("{} (fabricctl takeover plan; id {})", kHeldText, report.id));
    if (before == nullptr || before->id != report.id) EmitHeld(report);
  }
  const Duration lasted = journal_.Elapsed(now);
  EndSweep(SweepKind::kHeavy, false, CoreEvent::kEnd, now);
  agenda_.WatchAgain(now + std::max(kWatchInterval, kRestPerSweep * lasted));
}

void Activities::EmitHeld(const TakeoverReport& report) {
  fabric::FabricEvent event;
  event.type = "TakeoverHeld";
  event.severity = fabric::Severity::kError;
  event.subject = "subnet";
  event.message = kHeldText;
  event.facts = {{"id", report.id}};
  for (const TakeoverChange& risk : report.risks)
    event.facts.emplace_back(TakeoverRiskName(risk.risk),
                             fmt::format("{} -> {} at {} ports", risk.from, risk.to, risk.ports));
  journal_.EmitEvent(std::move(event));
}

void Activities::OnCommand(const AcceptTakeover& command, Instant now) {
  absl::Status status = guard_.Accept(command.id);
  if (status.ok()) StartHeavySweep("the takeover was accepted", now);
  commands_.Finish(command.command, std::move(status));
}

}  // namespace fabricd::sweep
