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

// By any end port that is known.
bool IsNamedAsMaster(Lid lid, const fabric::FabricSnapshot& snapshot) {
  bool is_named = false;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.EndPorts())
      is_named = is_named || (port.known && port.info.master_sm_lid == lid);
  });
  return is_named;
}

}  // namespace

void Activities::Apply(Mastership::Order order, Instant now) {
  view_.ShowState(mastership_.state());
  if (order.shows_others) view_.MarkChanged();
  if (order.tables_unknown) programming_.ForgetTables();
  if (order.rose) {
    const Lid before = order.continues ? guard_.PredecessorLid(programming_.lids()) : Lid();
    const Lid own = programming_.lids().RecordedLid(observed_.own().port_guid);
    const bool is_named = IsNamedAsMaster(own, *observed_.snapshot());
    programming_.desired().SetFirstRun(
        {.is_first = true, .predecessor = before, .own = is_named ? Lid() : own});
    ground_.devices.applied().TakeVouched(order.continues, *observed_.snapshot());
    programming_.planner().OnBecameMaster(
        guard_.OwnsTables(programming_.lids(), *observed_.snapshot()));
    guard_.OnBecameMaster();
  }
  using Kind = Mastership::Order::Kind;
  switch (order.kind) {
    case Kind::kNothing: break;
    case Kind::kProgram:
      if (IsStoppedByGuard(now)) return StartReading(now);
      programming_.desired().pending().MarkAll();
      Program(now);
      break;
    case Kind::kOnlyRead: StartReading(now); break;
    case Kind::kSweep: StartHeavySweep(order.why, now); break;
    case Kind::kLookSoon: agenda_.WantSweep(std::move(order.why)); break;
    case Kind::kBeStandby:
      if (machine_.state() == CoreState::kElecting) guard_.OnReadAsStandby(*observed_.snapshot());
      EnterStandby(now);
      break;
    case Kind::kWait: EndSweep(SweepKind::kHeavy, false, CoreEvent::kWaitForOther, now); break;
    case Kind::kGiveUp:
      ground_.problems.Add(ProblemKind::kUnknownSm, ProblemSubject::Subnet(), std::move(order.why));
      EndSweep(SweepKind::kHeavy, true, CoreEvent::kEnd, now);
      break;
  }
}

void Activities::EnterStandby(Instant now) {
  // The other SM writes tables of its own.
  ground_.devices.applied().SetVouched(nullptr);
  guard_.OnNotMaster(mastership_.was_given_away());
  view_.SetSubnetUp(false);
  EndEverything();
  mastership_.OnRequestsDropped();
  agenda_.DropSweep();
  commands_.RefuseWaiting(FailedPrecondition("another SM has become master"));
  EndSweep(SweepKind::kHeavy, false, CoreEvent::kOtherIsMaster, now);
}

// ---- reading only

// Before the first Set of a mastership. What discovery has read is enough to decide.
bool Activities::IsStoppedByGuard(Instant now) {
  if (!guard_.IsArmed()) {
    guard_.StoreAgain();
    return false;
  }
  const bool was_held = guard_.is_held();
  using Verdict = TakeoverGuard::Verdict;
  const Verdict verdict =
      guard_.Decide(programming_.Preview(), ground_.devices.applied(), programming_.lids(),
                    observed_.own().port_guid, remediation_.Wall(now));
  if (verdict == Verdict::kStop) return true;
  if (was_held) journal_.Log(LogLevel::kInfo, "the takeover goes on");
  if (verdict == Verdict::kTakeBack)
    journal_.Log(LogLevel::kWarning,
                 "this SM is back as master: what another one has changed meanwhile is undone");
  return false;
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
  if (options_.sm.FollowsOwner())
    view_.ShowReadTables(ground_.devices.applied().ReadLfts(*observed_.snapshot()),
                         mastership_.last_master());
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  if (guard_.is_held()) {
    ground_.problems.Add(ProblemKind::kTakeoverHeld, ProblemSubject::Subnet(),
                         fmt::format("{} (fabricctl takeover plan; id {})", kHeldText, report.id));
    if (before == nullptr || before->id != report.id) {
      EmitHeld(report);
      const std::string& accepted = options_.takeover.accept;
      if (!accepted.empty())
        journal_.Log(LogLevel::kWarning,
                     fmt::format("--accept-takeover names the report {}, but the fabric's has the "
                                 "id {}: read it again (fabricctl takeover plan)",
                                 accepted, report.id));
    }
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
  for (size_t i = 0; i < report.risks.size(); ++i)
    if (i == 0 || report.risks[i].risk != report.risks[i - 1].risk)
      event.message +=
          fmt::format("{}{}", i == 0 ? " (" : ", ", TakeoverRiskName(report.risks[i].risk));
  event.message += ")";
  event.facts = {{"id", report.id}};
  for (const TakeoverChange& risk : report.risks)
    event.facts.emplace_back(TakeoverRiskName(risk.risk),
                             fmt::format("{} -> {} at {} ports", risk.from, risk.to, risk.ports));
  journal_.EmitEvent(std::move(event));
}

void Activities::OnCommand(const AcceptTakeover& command, Instant) {
  absl::Status status = guard_.Accept(command.id, command.command);
  if (!status.ok()) commands_.Finish(command.command, std::move(status));
}

void Activities::OnTakeoverStored(const absl::Status& status, Instant now) {
  if (!status.ok())
    journal_.Log(LogLevel::kError,
                 fmt::format("the takeover could not be stored: {}", Message(status)));
  const std::vector<uint64_t> commands = guard_.OnStored(status);
  if (state() == CoreState::kStoringLids) ProgramIfDurable(now);
  if (commands.empty()) return;
  if (status.ok() && guard_.is_held()) StartHeavySweep("the takeover was accepted", now);
  for (const uint64_t command : commands) commands_.Finish(command, status);
}

}  // namespace fabricd::sweep
