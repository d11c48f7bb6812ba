// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/activities.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/breakage.h"
#include "common/status.h"

namespace fabricd::sweep {

using wire::SmState;

Activities::Activities(const Ground& ground, CoreOptions& options, ObservedFabric& observed,
                       Agenda& agenda, CommandQueue& commands, Mastership& mastership,
                       Remediation& remediation, PartitionKeeper& partitions, TakeoverGuard& guard,
                       Programming& programming, SweepJournal& journal, ViewPublisher& view)
    : ground_(ground),
      options_(options),
      observed_(observed),
      agenda_(agenda),
      commands_(commands),
      mastership_(mastership),
      remediation_(remediation),
      partitions_(partitions),
      guard_(guard),
      programming_(programming),
      journal_(journal),
      view_(view),
      own_port_(ground, observed),
      light_sweeps_(ground, observed),
      follower_(ground, observed),
      reads_(ground, observed) {}

// ---- events and commands

void Activities::OnCommand(const SweepCommand& command, Instant now) {
  if (!mastership_.MaySweep()) {
    commands_.Finish(command.command, FailedPrecondition("this SM is {}: the master sweeps",
                                                         wire::SmStateName(mastership_.state())));
    return;
  }
  if (!command.heavy && !mastership_.OnlyReads() && machine_.Allows(Start::kLightSweep) &&
      !agenda_.WantsSweep()) {
    commands_.Run(command.command);
    if (!light_sweeps_.under_way()) StartLightSweep(now);
    return;
  }
  commands_.Wait(command.command);
  agenda_.WantCheck("command", now);
}

void Activities::OnLocalPort(mad::LocalPortEvent::Kind kind) {
  using Kind = mad::LocalPortEvent::Kind;
  switch (kind) {
    case Kind::kPortActive:
      // The SM's own Set of ACTIVE also causes this. It is a change only if the port had no link.
      if (machine_.Allows(Start::kHeavySweep) &&
          !(own_port_.has_link() && observed_.HasOwnPortUp()))
        agenda_.WantSweep("the local port came up");
      own_port_.Note(true);
      view_.MarkChanged();
      break;
    case Kind::kPortDown:
      own_port_.Note(false);
      view_.MarkChanged();
      journal_.Log(LogLevel::kWarning, "the local port went down");
      agenda_.WantSweep("local port went down");
      break;
    case Kind::kDeviceRemoved:
      journal_.Log(LogLevel::kError, "the local device was removed");
      break;
    default: break;
  }
}

void Activities::ReadVlTables(const ReadLanes& wanted) {
  // A standby's routes to the devices may be stale.
  if (mastership_.IsMaster()) reads_.WantVlTables(wanted.nodes);
}

// ---- progress

void Activities::OnCompletion(const mad::Completion& completion, Instant now) {
  switch (completion.context.owner_as<Activity>()) {
    case Activity::kNone: break;
    case Activity::kDiscovery:
      if (discovery_) discovery_->OnCompletion(completion, now);
      break;
    case Activity::kProgrammer:
      if (programming_.OnCompletion(completion))
        follower_.ReportThorough({completion.context.node}, "a port changed meanwhile", now);
      break;
    case Activity::kSurvey: follower_.OnCompletion(completion, now); break;
    case Activity::kExplorer: follower_.OnExplorerCompletion(completion, now); break;
    case Activity::kLightSweep: light_sweeps_.OnCompletion(completion); break;
    case Activity::kLaneReader: reads_.OnVlTables(completion); break;
    case Activity::kReadBack: reads_.OnReadBack(completion); break;
    case Activity::kOwnPort:
      if (const auto change = own_port_.OnCompletion(completion)) OnLocalPort(*change);
      break;
    case Activity::kMastership: Apply(mastership_.OnCompletion(completion, now), now); break;
  }
  programming_.OnRead(completion);
}

void Activities::OnTimer(Instant now) {
  if (discovery_ && now >= discovery_->NextDeadline()) discovery_->OnTimer(now);
  if (now >= mastership_.NextDeadline()) mastership_.OnTimer(now);
  if (WatchesOwnPort() && now >= own_port_.next()) own_port_.OnTimer(now);
  if (now >= agenda_.next_retry()) Retry(now);
  if (MaySurvey() && follower_.SurveyReported(now)) machine_.On(CoreEvent::kSurveyStarts);
  if (IsWatchDue(now)) agenda_.WantSweep("watching");
  if (!MayAsMaster(Start::kLightSweep) || light_sweeps_.under_way()) return;
  if (now >= agenda_.next_heavy())
    agenda_.WantCheck("interval", now);
  else if (now >= programming_.planner().NextStepTime())
    StartWholePlan(now);
  else if (now >= agenda_.next_light())
    StartLightSweep(now);
}

void Activities::Advance(Instant now) {
  if (discovery_ && discovery_->done()) FinishDiscovery(now);
  if (programming_.under_way()) programming_.Advance(now);
  FinishProgrammingIfDone(now);
  SurveyUnresponsivePaths(now);
  AdvanceSurveys(now);
  if (const auto ended = light_sweeps_.TakeEnded()) FinishLightSweep(*ended, now);
  AdvanceReadBack(now);
  StartWhatIsWanted(now);
  if (reads_.AdvanceVlTables(MayRead(), UsesVls())) view_.MarkChanged();
}

void Activities::StartWhatIsWanted(Instant now) {
  const bool may_sweep =
      machine_.Allows(Start::kHeavySweep) && follower_.empty() && mastership_.MaySweep();
  if (std::string why = partitions_.TakeChange(); !why.empty()) {
    agenda_.WantReroute(std::move(why));
    view_.MarkChanged();
  }
  if (std::string why = remediation_.TakeReroute(); !why.empty())
    agenda_.WantReroute(std::move(why));
  if (may_sweep && agenda_.IsSweepDue(follower_.IsReported(now), now))
    StartHeavySweep(agenda_.why(), now, MayBeginPatient(now));
  else if (agenda_.WantsReroute() && MayReroute() && programming_.planner().plan())
    Reroute({}, agenda_.TakeReroute(), "subnet", now, now);
  else if (MayMakeTrees())
    StartTrees(now);
}

Instant Activities::NextDeadline() const {
  Instant next = std::min({mastership_.NextDeadline(), agenda_.next_retry(),
                           follower_.NextDeadline(), MayRead() ? reads_.NextDeadline() : kNever});
  if (WatchesOwnPort()) next = std::min(next, own_port_.next());
  if (state() == CoreState::kWatching) next = std::min(next, agenda_.next_heavy());
  if (MayAsMaster(Start::kLightSweep) && !light_sweeps_.under_way())
    next = std::min(
        {next, agenda_.next_light(), agenda_.next_heavy(), programming_.planner().NextStepTime()});
  if (MaySurvey()) next = std::min(next, follower_.due());
  if (follower_.HasChanges() && !programming_.planner().AwaitsPlan())
    next = std::min(next, programming_.changes_wait_until());
  return discovery_ ? std::min(next, discovery_->NextDeadline()) : next;
}

bool Activities::MayBePatient(Instant now) const {
  const bool reads = discovery_ || state() == CoreState::kReading;
  return reads && !programming_.multicast().HasChanges() && !follower_.IsReported(now);
}

Phase Activities::phase() const {
  switch (state()) {
    case CoreState::kIdle:
    case CoreState::kWatching: return Phase::kIdle;
    case CoreState::kDiscovering:
    case CoreState::kReading: return Phase::kDiscovering;
    case CoreState::kElecting: return Phase::kElecting;
    case CoreState::kStoringLids: return Phase::kAssigningLids;
    case CoreState::kProgramming: return programming_.phase();
    case CoreState::kSurveying: return Phase::kSurveying;
    case CoreState::kStandby: return Phase::kStandby;
  }
  return Phase::kIdle;
}

Progress Activities::progress() const {
  if (discovery_) return {phase(), "nodes", discovery_->nodes_found(), 0};
  if (programming_.under_way()) return programming_.progress();
  return {phase(), "", 0, 0};
}

// ---- heavy sweep

// Drops all requests and activities. Only waiting commands are kept.
void Activities::EndEverything() {
  ground_.engine.CancelAll();
  own_port_.OnRequestsDropped();
  ground_.devices.applied().AbandonInFlight();
  discovery_.reset();
  light_sweeps_.Clear();
  follower_.Clear();
  programming_.Cancel();
  if (reads_.reads_all()) agenda_.ReadBackAgain();
  commands_.Wait(reads_.Drop());
  journal_.DropReroute();
}

void Activities::StartHeavySweep(std::string why, Instant now, bool is_patient) {
  journal_.Log(LogLevel::kInfo, fmt::format("heavy sweep: {}", why));
  EndEverything();
  ground_.devices.applied().ForgetGuids();
  mastership_.OnSweepStart();
  AdoptOptions(now);
  agenda_.OnSweepStart(is_patient);
  ground_.problems = ProblemList();
  commands_.StartWaiting();
  journal_.BeginSweep(SweepKind::kHeavy, now);
  machine_.On(CoreEvent::kSweepStarts);
  discovery_ = std::make_unique<Discovery>(ground_, observed_.own().port, Activity::kDiscovery);
  discovery_->Start(now);
}

void Activities::AdoptOptions(Instant now) {
  std::optional<CoreOptions> options = agenda_.TakeOptions();
  if (!options) return;
  options_ = *std::move(options);
  programming_.planner().ReoptimiseNow(now);
  remediation_.OnOptions(now);
  partitions_.OnOptions();
}

void Activities::FinishDiscovery(Instant now) {
  const std::unique_ptr<Discovery> ended = std::move(discovery_);
  if (ended->local_failed()) {
    ground_.problems.Add(ProblemKind::kUnresponsive, ProblemSubject::Named(observed_.own().device),
                         "the SM's own node does not answer");
    EndSweep(SweepKind::kHeavy, true, CoreEvent::kEnd, now);
    return;
  }
  ended->Finish(now);
  observed_.OnDiscovered(ended->local(), ended->unread());
  own_port_.OnDiscovered();
  agenda_.OnDiscovered();
  remediation_.OnSnapshot(now);
  programming_.OnDiscovered();
  view_.MarkChanged();
  if (!HasNeighbour()) {
    EndSweep(SweepKind::kHeavy, true, CoreEvent::kEnd, now);
    return;
  }
  machine_.On(CoreEvent::kDiscovered);
  Apply(
      mastership_.OnDiscovered(observed_.snapshot(), ended->remote_sms(), observed_.unread(), now),
      now);
}

// Returns false and adds a problem if the SM's own link is down or leads to no responsive node.
// Then there is no subnet to be master of, and another SM may be master beyond that link.
bool Activities::HasNeighbour() {
  const std::string fault = observed_.OwnLinkFault(remediation_.HoldsOnOwnLink());
  if (!fault.empty())
    ground_.problems.Add(ProblemKind::kLocalPortDown, ProblemSubject::Named(observed_.own().device),
                         fault);
  return fault.empty();
}

void Activities::EndSweep(SweepKind kind, bool failed, CoreEvent event, Instant now) {
  if (kind != SweepKind::kLight && failed) view_.SetSubnetUp(false);
  view_.OnSweepEnd(journal_.EndSweep(kind, *observed_.snapshot(), ground_.problems, now),
                   kind == SweepKind::kHeavy);
  commands_.FinishRunning();
  if (!failed && mastership_.IsMaster() && !observed_.IsAlone())
    guard_.OnSwept(remediation_.Wall(now), programming_.planner().follows_options());
  if (kind == SweepKind::kHeavy) mastership_.OnSweepEnd();
  agenda_.OnSweepEnd({kind, failed, mastership_.state() == SmState::kStandby, observed_.IsAlone(),
                      !observed_.unread().empty()},
                     now);
  machine_.On(event);
}

// ---- programming

void Activities::Program(Instant now) {
  machine_.On(CoreEvent::kAssignLids);
  if (programming_.AssignLids()) ProgramIfDurable(now);
}

// What has to be durable before the first Set.
void Activities::ProgramIfDurable(Instant now) {
  if (!guard_.AwaitsRecord() && programming_.AreLidsDurable()) StartProgramming(now);
}

void Activities::OnLidsStored(const Persisted& stored, Instant now) {
  programming_.OnLidsStored(stored.status);
  if (stored.status.ok()) {
    ground_.problems.Remove(ProblemKind::kStoreFailed);
    return ProgramIfDurable(now);
  }
  ground_.problems.Add(ProblemKind::kStoreFailed, ProblemSubject::Named("state"),
                       Message(stored.status));
  journal_.Log(LogLevel::kError,
               fmt::format("LIDs could not be stored: {}", Message(stored.status)));
  // Their ports stay without, and are tried again. All others are served: jobs come first. Only
  // without a LID of its own this SM can serve nobody.
  if (programming_.AreLidsDurable()) return ProgramIfDurable(now);
  EndSweep(SweepKind::kHeavy, true, CoreEvent::kEnd, now);
}

void Activities::StartProgramming(Instant now) {
  agenda_.TakeReroute();  // This run includes it.
  machine_.On(CoreEvent::kProgram);
  programming_.Start(now);
}

void Activities::StartWholePlan(Instant now) {
  agenda_.TakeReroute();  // This run includes it.
  machine_.On(CoreEvent::kUpdateProgram);
  programming_.StartWholePlan(now);
}

// Any other activity under way, or due now, makes the trees too.
bool Activities::MayMakeTrees() const {
  return programming_.WantsTrees() && MayAsMaster(Start::kTrees) && MaySurvey() &&
         follower_.empty() && !light_sweeps_.under_way() && !agenda_.WantsSweep();
}

void Activities::StartTrees(Instant now) {
  machine_.On(CoreEvent::kUpdateProgram);
  programming_.StartTrees(now);
  FinishProgrammingIfDone(now);
}

void Activities::FinishProgrammingIfDone(Instant now) {
  if (!programming_.done()) return;
  if (programming_.reads_only()) return FinishReading(now);
  FinishProgramming(programming_.Finish(now), now);
}

void Activities::FinishProgramming(const Programming::Outcome& outcome, Instant now) {
  if (outcome.trees_only) {
    if (!outcome.complete) agenda_.WantRetrySoon(now);
    view_.MarkChanged();
    machine_.On(CoreEvent::kEnd);
    return;
  }
  const bool done = AllLinksActive() && outcome.complete && !IsBroken(Breakage::kNeverUp);
  const bool up = done && outcome.forwards_by_plan;
  if (IsBroken(Breakage::kErrorLogged)) journal_.Log(LogLevel::kError, "logged deliberately");
  if (up != view_.subnet_up())
    journal_.Log(up ? LogLevel::kInfo : LogLevel::kWarning, up ? "subnet up" : "subnet not up");
  view_.SetSubnetUp(up);
  const SweepKind kind = journal_.kind();
  // Light sweeps retry the ports that did not respond, but not those that were passed over.
  if (kind == SweepKind::kHeavy)
    follower_.ReportThorough(observed_.SwitchesPassedOver(), "ports were not read", now);
  StartReadBack(kind, now);
  EndSweep(kind, !done, CoreEvent::kEnd, now);
  // A trap between the reads of a device and the Set of its MasterSMLID went to another SM or to
  // nobody, and not every device repeats its traps. No table is read back: all were
  // just written, or are known to be right.
  if (outcome.is_first && MayAsMaster(Start::kLightSweep) && !light_sweeps_.under_way())
    StartLightSweep(now, /*reads_tables=*/false);
  // Ports that came up during the run may have been armed before they were configured.
  follower_.ReportThorough(outcome.to_reread, "a port changed meanwhile", now);
}

bool Activities::AllLinksActive() {
  if (!HasNeighbour()) return false;
  ground_.problems.Remove(ProblemKind::kNotActive);
  bool all_active = true;
  for (const PortRef inactive : observed_.InactivePorts()) {
    const fabric::Node& node = *observed_.snapshot()->node(inactive.node);
    const fabric::Port& port = node.port(inactive.port);
    // Links of new nodes that are not programmed yet were not left undone.
    if (follower_.Gathers(node.index) || follower_.Gathers(port.peer.node)) continue;
    all_active = false;
    programming_.desired().pending().Mark(node.index);
    ground_.problems.Add(ProblemKind::kNotActive, ProblemSubject::Of(node, inactive.port),
                         fmt::format("is {}", wire::PortStateName(port.info.port_state)));
  }
  return all_active;
}

// ---- changes

bool Activities::MayReroute() const {
  return MayAsMaster(Start::kReroute) && programming_.AreLidsDurable();
}

// A requested heavy sweep waits until all surveys have ended, and then reads everything.
bool Activities::MaySurvey() const {
  return MayAsMaster(Start::kSurvey) && programming_.AreLidsDurable() &&
         follower_.HasRoom(/*waits=*/agenda_.WantsSweep());
}

void Activities::SurveyUnresponsivePaths(Instant now) {
  const std::vector<mad::DeviceId> unresponsive = ground_.engine.TakeSuspects();
  if (!unresponsive.empty() && MaySurvey() && follower_.SurveyPathsTo(unresponsive, now))
    machine_.On(CoreEvent::kSurveyStarts);
}

void Activities::AdvanceSurveys(Instant now) {
  if (follower_.empty()) return;
  follower_.Advance(now);
  if (follower_.HasChanges() && !programming_.ComesBeforeChanges(now))
    OnChanges(follower_.TakeChanges(), now);
  if (discovery_) return;  // The changes started a heavy sweep, which has cancelled the surveys.
  follower_.TakeUpEnded(now);
  if (programming_.under_way() || !follower_.empty()) return;
  observed_.Rebuild();  // For changes that need no write, such as the peer port of a lost link.
  remediation_.OnSnapshot(now);
  machine_.On(CoreEvent::kSurveysEnd);
}

void Activities::OnChanges(Surveys::Changes taken, Instant now) {
  SurveyChanges& found = taken.found;
  if (!found.come.empty()) programming_.planner().NoteArrivals(now);
  if (found.meets_sm) return StartHeavySweep(found.needs_sweep, now);
  if (!found.needs_sweep.empty()) agenda_.WantSweep(found.needs_sweep);
  for (const NodeIndex index : found.touched)
    if (const fabric::Node* node = ground_.builder.node(index))
      ground_.problems.RemoveAbout(node->guid());
  if (found.touched.empty() && found.gone.empty()) return;
  std::string subject = found.about.IsNone() ? "subnet" : observed_.NameOf(found.about, found.peer);
  Reroute(found.touched, taken.cause, std::move(subject), taken.since, now);
}

// Plans for the touched nodes and programs them.
void Activities::Reroute(const std::vector<NodeIndex>& touched, const std::string& cause,
                         std::string subject, Instant since, Instant now) {
  PendingChanges& pending = programming_.desired().pending();
  pending.Mark(touched);
  programming_.desired().SetGoal(routing::ReplanGoal::kUrgent);
  // If the superseded run covered the whole fabric, or waits for durable LIDs, so does this one.
  const bool is_whole = programming_.IsPending() && pending.is_all();
  const SweepKind kind = is_whole ? journal_.kind() : SweepKind::kTargeted;
  if (programming_.under_way())
    follower_.ReportThorough(programming_.Supersede(now), "a port changed meanwhile", now);
  if (kind == SweepKind::kTargeted) journal_.BeginSweep(kind, now);
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  view_.MarkChanged();
  journal_.BeginReroute(cause, std::move(subject), since, now);
  Program(now);
}

// Reads and programs again what the last run left undone. After too many retries, sweeps.
void Activities::Retry(Instant now) {
  const std::set<NodeIndex>& undone = programming_.desired().pending().nodes();
  const bool may = !undone.empty() && machine_.Allows(Start::kLightSweep) && MaySurvey();
  if (!agenda_.TakeRetry(may)) return agenda_.WantSweep("something was left undone");
  follower_.SurveyUndone(undone, now);
  machine_.On(CoreEvent::kSurveyStarts);
}

}  // namespace fabricd::sweep
