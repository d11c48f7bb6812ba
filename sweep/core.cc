// SPDX-License-Identifier: Apache-2.0
#include "sweep/core.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "common/check.h"
#include "common/sort_unique.h"
#include "common/status.h"
#include "mad/replies.h"
#include "mad/wire/notice.h"
#include "sweep/device/completion.h"
#include "sweep/device/spoil.h"
#include "sweep/interface/activity.h"
#include "sweep/observe/paths.h"

namespace fabricd::sweep {

using wire::SmState;

namespace {
// What one lost cable changes is written in less, on the largest fabrics too.
constexpr Duration kTimeToWrite = std::chrono::milliseconds(50);
}  // namespace

Core::Core(CoreOptions options, mad::LocalPort local, const std::vector<LidRecord>& records,
           policy::StoredHolds holds, std::shared_ptr<const fabric::MulticastGroups> groups,
           policy::PartitionState partitions, std::shared_ptr<const fabric::AliasGuids> aliases)
    : options_(std::move(options)),
      local_port_(std::move(local)),
      engine_(IsBroken(Breakage::kWindowsTooWide) ? Widened(options_.smp) : options_.smp),
      devices_(options_.sm, local_port_.port_guid),
      read_back_(observed_.builder(), devices_, engine_),
      suspects_(options_.sweep.report_window),
      surveys_({observed_.builder(), devices_, engine_, problems_, options_}),
      questions_(effects_.questions),
      lids_(options_, questions_, records),
      mastership_(options_, local_port_, devices_, engine_, effects_),
      planner_(options_, questions_, effects_.log),
      multicast_(std::move(groups), questions_),
      remediation_(
          {observed_.snapshot(), lids_.table(), planner_.routes(), observed_.local(), options_},
          effects_, questions_,
          IsBroken(Breakage::kHoldsForgotten) ? policy::StoredHolds() : std::move(holds)),
      partitions_(options_, effects_, questions_,
                  IsBroken(Breakage::kPartitionsForgotten) ? policy::PartitionState()
                                                           : std::move(partitions)),
      desired_(std::move(aliases)) {}

Core::~Core() = default;

// ---- events

void Core::Step(Event event, Instant now) {
  std::visit(
      [&](auto&& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, StartEvent>) {
          remediation_.Begin(value.epoch, now);
          mastership_.Start();
          effects_.set_is_sm = true;
          StartHeavySweep("start", now);
        } else if constexpr (std::is_same_v<T, TimerEvent>) {
          OnTimer(now);
        } else if constexpr (std::is_same_v<T, mad::IncomingMad>) {
          OnMad(value, now);
        } else if constexpr (std::is_same_v<T, mad::LocalPortEvent>) {
          OnLocalPort(value, now);
        } else if constexpr (std::is_same_v<T, Answer>) {
          OnAnswer(std::move(value), now);
        } else if constexpr (std::is_same_v<T, SweepCommand>) {
          OnCommand(value, now);
        } else if constexpr (std::is_same_v<T, CreateHold> || std::is_same_v<T, DeleteHold> ||
                             std::is_same_v<T, AckHold>) {
          OnHoldCommand(std::move(value), now);
        } else if constexpr (std::is_same_v<T, WallClockSet>) {
          remediation_.On(value, now);
        } else if constexpr (std::is_same_v<T, GroupsChanged>) {
          multicast_.SetGroups(std::move(value.groups));
        } else if constexpr (std::is_same_v<T, AliasesChanged>) {
          OnAliases(std::move(value));
        } else if constexpr (std::is_same_v<T, ReadLanes>) {
          OnReadLanes(value);
        } else if constexpr (std::is_same_v<T, ChangePartitions>) {
          OnPartitionCommand(std::move(value));
        } else if constexpr (std::is_same_v<T, SetPriority> || std::is_same_v<T, StepDown>) {
          view_.MarkChanged();
          Obey(mastership_.On(value), now);
        } else if constexpr (std::is_same_v<T, OptionsChanged>) {
          view_.MarkChanged();
          mastership_.OnReload(value.options.sm.priority);
          agenda_.WantOptions(std::move(value.options));
          agenda_.WantCheck("the configuration was changed", now);
        }
      },
      std::move(event));
  Advance(now);
}

void Core::OnAnswer(Answer answer, Instant now) {
  using Open = OpenQuestions;
  const std::optional<Open::Kind> kind = questions_.Close(answer);
  if (!kind) return;
  switch (*kind) {
    case Open::KindOf<PersistLids>(): OnPersisted(std::get<Persisted>(answer.what), now); break;
    case Open::KindOf<PersistHolds>():
      remediation_.On(std::get<Persisted>(answer.what), now);
      break;
    case Open::KindOf<PersistPartitions>():
      partitions_.On(std::get<Persisted>(answer.what), now);
      break;
    case Open::KindOf<ComputePlan>():
      OnPlan(std::get<PlanReady>(std::move(answer.what)), now);
      break;
    case Open::KindOf<CheckCables>():
      OnCables(std::get<CablesChecked>(std::move(answer.what)));
      break;
    case Open::KindOf<OrderTables>():
      OnOrder(std::get<TablesOrdered>(std::move(answer.what)), now);
      break;
    case Open::KindOf<ComputeTrees>(): OnTrees(std::get<TreesReady>(std::move(answer.what))); break;
    case Open::KindOf<EvaluateIntent>():
      remediation_.On(std::get<IntentEvaluated>(std::move(answer.what)), now);
      break;
  }
}

Effects Core::TakeEffects(Instant now) {
  completions_.clear();
  Pump(now);
  // A completion may start work that wants to be sent at once.
  while (!completions_.empty()) {
    const std::vector<mad::Completion> batch = std::exchange(completions_, {});
    for (const mad::Completion& completion : batch) OnCompletion(completion, now);
    Advance(now);
    Pump(now);
  }
  if (view_.TakeChanged() || remediation_.HasNews()) effects_.publish = MakeView(now);
  return std::exchange(effects_, {});
}

void Core::Pump(Instant now) {
  engine_.SetPatient(agenda_.StaysPatient(discovery_ && !multicast_.HasNews() && !IsReported(now)));
  engine_.Pump(now, effects_.send, completions_);
}

Instant Core::NextDeadline() const {
  Instant next = std::min({engine_.NextDeadline(), mastership_.NextDeadline(), agenda_.next_retry(),
                           remediation_.NextDeadline()});
  if (IsIdleMaster() && !light_)
    next = std::min({next, agenda_.next_light(), agenda_.next_heavy(), planner_.NextStepTime()});
  if (MaySurvey()) next = std::min(next, suspects_.due());
  next = std::min(next, surveys_.NextDeadline());
  if (surveys_.HasNews() && !planner_.AwaitsPlan()) next = std::min(next, hold_news_until_);
  return discovery_ ? std::min(next, discovery_->NextDeadline()) : next;
}

void Core::OnMad(const mad::IncomingMad& mad, Instant now) {
  if (mad::IsForEngine(mad)) {
    completions_.clear();
    engine_.OnIncoming(mad, now, completions_);
    const std::vector<mad::Completion> batch = std::exchange(completions_, {});
    for (const mad::Completion& completion : batch) OnCompletion(completion, now);
    return;
  }
  if (mad.kind != mad::IncomingMad::Kind::kReceived || mad.payload.size() < wire::kMadBytes) return;
  const auto bytes = std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
  const auto smp = wire::Smp::Decode(bytes);
  if (!smp) return;
  const bool asked = smp->method == wire::Method::kGet || smp->method == wire::Method::kSet;
  if (smp->method == wire::Method::kTrap)
    OnTrap(mad, now);
  else if (asked && smp->attribute == wire::AttributeId::kSmInfo)
    Obey(mastership_.OnRequest(mad, *smp, now, effects_.send), now);
}

void Core::OnCompletion(const mad::Completion& completion, Instant now) {
  remediation_.OnCompletion(completion, now);
  if (completion.outcome == mad::Completion::Outcome::kResponse)
    devices_.NoteAnswer(completion.device, completion.path_used);
  switch (completion.context.owner_as<Activity>()) {
    case Activity::kNone: break;
    case Activity::kDiscovery:
      if (discovery_) discovery_->OnCompletion(completion, now);
      break;
    case Activity::kProgrammer:
      if (programmer_ && programmer_->IsMine(completion))
        programmer_->OnCompletion(completion);
      else
        Programmer::OnLateAnswer(completion, observed_.builder(), devices_);
      break;
    case Activity::kSurvey: surveys_.OnCompletion(completion, now); break;
    case Activity::kExplorer: surveys_.OnExplorerCompletion(completion, now); break;
    case Activity::kLightSweep:
      if (light_) light_->OnCompletion(completion);
      break;
    case Activity::kLaneReader:
      if (lane_reader_ && lane_reader_->IsMine(completion)) lane_reader_->OnCompletion(completion);
      break;
    case Activity::kReadBack:
      if (read_back_.IsMine(completion)) read_back_.OnCompletion(completion);
      break;
    case Activity::kMastership: Obey(mastership_.OnCompletion(completion, now), now); break;
  }
  if (programmer_) programmer_->OnRead(completion);
}

void Core::OnTrap(const mad::IncomingMad& mad, Instant now) {
  effects_.send.push_back(mad::MakeTrapRepress(mad));
  if (!mastership_.IsMaster()) return;
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  const auto notice = wire::Notice::Decode(smp->data);
  remediation_.OnTrap(notice, now);
  // A light sweep reads SMInfo, and who is preferred now is handed the subnet.
  if (notice.changes_sm_priority()) agenda_.WantLightSweepSoon(now);
  if (!options_.sweep.on_trap) return;
  switch (notice.generic ? notice.trap : 0) {
    case wire::kTrapLinkStateChange:
    case wire::kTrapCapabilityMaskChanged:
    case wire::kTrapSystemImageGuidChanged: {
      const std::string cause = fmt::format("trap {}", notice.trap);
      const PortRef port = observed_.SwitchPortOf(lids_.table()->Owner(notice.issuer_lid));
      if (!port.IsNone())
        Suspect(port, cause, now);
      else  // Whoever has this LID is not known here: look whether anything has changed.
        agenda_.WantLightSweepSoon(now);
      break;
    }
    default:
      journal_.Log(LogLevel::kWarning,
                   fmt::format("trap {} from LID {}", notice.trap, notice.issuer_lid));
  }
}

// A switch (port 0), or what is behind one of its ports.
void Core::Suspect(PortRef port, const std::string& cause, Instant now) {
  const fabric::Node* node = observed_.snapshot()->node(port.node);
  if (node == nullptr || !node->IsSwitch()) return;
  if (port.port == PortNum(0))
    suspects_.Add(port.node, cause, now);
  else
    suspects_.AddPort(port, cause, now);
}

void Core::OnLocalPort(mad::LocalPortEvent event, Instant) {
  using Kind = mad::LocalPortEvent::Kind;
  switch (event.kind) {
    case Kind::kPortActive: {
      // Our own Set of ACTIVE tells it too; news is only a port that had no link.
      const fabric::Port* local = observed_.snapshot()->port(observed_.local());
      if (phase_ == Phase::kIdle && (local == nullptr || !local->IsUp()))
        agenda_.WantSweep("the local port came up");
      break;
    }
    case Kind::kPortDown:
      journal_.Log(LogLevel::kWarning, "the local port went down");
      agenda_.WantSweep("local port went down");
      break;
    case Kind::kDeviceRemoved:
      journal_.Log(LogLevel::kError, "the local device was removed");
      break;
    default: break;
  }
}

void Core::OnCommand(const SweepCommand& command, Instant now) {
  if (!mastership_.MaySweep()) {
    commands_.Finish(command.command, FailedPrecondition("this SM is {}: the master sweeps",
                                                         wire::SmStateName(mastership_.state())));
    return;
  }
  if (!command.heavy && phase_ == Phase::kIdle && !agenda_.WantsSweep()) {
    commands_.Run(command.command);
    if (!light_) StartLightSweep(now);
    return;
  }
  commands_.Wait(command.command);
  agenda_.WantCheck("command", now);
}

// Holds are the master's: a standby's store may be behind.
template <typename Command>
void Core::OnHoldCommand(Command command, Instant now) {
  if (mastership_.IsMaster())
    remediation_.On(std::move(command), now);
  else
    commands_.Finish(command.command,
                     FailedPrecondition("this SM is {}: the master keeps the holds",
                                        wire::SmStateName(mastership_.state())));
}

void Core::OnPartitionCommand(ChangePartitions command) {
  if (mastership_.IsMaster() || command.of_this_host)
    partitions_.On(std::move(command));
  else
    commands_.Finish(command.command,
                     FailedPrecondition("this SM is {}: the master keeps the partitions",
                                        wire::SmStateName(mastership_.state())));
}

void Core::OnTimer(Instant now) {
  if (now >= remediation_.NextDeadline()) remediation_.OnTimer(now);
  if (discovery_ && now >= discovery_->NextDeadline()) discovery_->OnTimer(now);
  if (now >= mastership_.NextDeadline()) mastership_.OnTimer(now);
  if (now >= agenda_.next_retry()) Retry(now);
  if (MaySurvey() && now >= suspects_.due()) {
    const auto is_at = [this](NodeIndex node) { return surveys_.AreAt(node); };
    SurveyTask task = suspects_.Take(is_at, now);
    if (!task.switches.empty() || !task.ports.empty()) StartSurvey(std::move(task), now);
  }
  if (!IsIdleMaster() || light_) return;
  if (now >= agenda_.next_heavy())
    agenda_.WantCheck("interval", now);
  else if (now >= planner_.NextStepTime())
    StartSettling(now);
  else if (now >= agenda_.next_light())
    StartLightSweep(now);
}

// Goes on with whatever has become possible.
void Core::Advance(Instant now) {
  if (discovery_ && discovery_->done()) FinishDiscovery(now);
  if (programmer_) AdvanceProgramming(now);
  LookAtSilentPaths(now);
  AdvanceSurveys(now);
  if (light_ && light_->done()) FinishLightSweep(now);
  AdvanceReadBack(now);
  const bool idle = phase_ == Phase::kIdle && !discovery_ && !programmer_ && surveys_.empty();
  if (std::string why = partitions_.TakeChange(); !why.empty()) {
    agenda_.WantReroute(std::move(why));
    view_.MarkChanged();
  }
  if (std::string why = remediation_.TakeReroute(); !why.empty())
    agenda_.WantReroute(std::move(why));
  if (idle && mastership_.MaySweep() && agenda_.IsSweepDue(IsReported(now), now))
    StartHeavySweep(agenda_.why(), now, view_.subnet_up() && agenda_.IsCheck(now));
  else if (agenda_.WantsReroute() && MayReroute() && planner_.plan())
    Reroute({}, agenda_.TakeReroute(), "subnet", now, now);
  else if (MayMakeTrees())
    StartTrees(now);
  AdvanceLaneReader();
}

// ---- heavy sweep

// What tells of a change is about to be followed up.
bool Core::IsReported(Instant now) const {
  return suspects_.due() <= now + options_.sweep.report_window;
}

void Core::StartHeavySweep(std::string why, Instant now, bool patient) {
  journal_.Log(LogLevel::kInfo, fmt::format("heavy sweep: {}", why));
  engine_.CancelAll();
  devices_.applied().AbandonInFlight();
  devices_.applied().ForgetGuids();
  light_.reset();
  lane_reader_.reset();
  commands_.Wait(read_back_.Drop());
  programmer_.reset();
  surveys_.Clear();
  suspects_.Clear();  // All of it is read now.
  silent_switches_.clear();
  journal_.DropReroute();
  desired_.pending().OnSweepStart();
  mastership_.OnSweepStart();
  if (std::optional<CoreOptions> options = agenda_.TakeOptions()) {
    options_ = *std::move(options);
    planner_.SettleNow(now);
    remediation_.OnOptions(now);
    partitions_.OnOptions();
  }
  planner_.Cancel();
  questions_.Drop<CheckCables>();
  lids_.Cancel();
  agenda_.OnSweepStart(patient);
  planner_.AllowSettling(false);
  problems_ = ProblemList();
  commands_.StartWaiting();
  journal_.BeginSweep(SweepKind::kHeavy, now);
  SetPhase(Phase::kDiscovering);
  discovery_ =
      std::make_unique<Discovery>(surveys_.ground(), local_port_.port, Activity::kDiscovery);
  discovery_->Start(now);
}

void Core::FinishDiscovery(Instant now) {
  const std::unique_ptr<Discovery> done = std::move(discovery_);
  if (done->local_failed()) {
    problems_.Add("Unresponsive", local_port_.device, "the SM's own node does not answer");
    EndSweep(SweepKind::kHeavy, true, now);
    return;
  }
  done->Finish();
  observed_.OnDiscovered(done->local(), done->unread());
  agenda_.OnDiscovered();
  remediation_.OnSnapshot(now);
  lids_.Invalidate();
  desired_.SetGoal(options_.sweep.settle_after == Duration::zero() ? routing::ReplanGoal::kIdeal
                                                                   : routing::ReplanGoal::kWhole);
  view_.MarkChanged();
  if (!HasNeighbour()) {
    EndSweep(SweepKind::kHeavy, true, now);
    return;
  }
  SetPhase(Phase::kElecting);
  Obey(mastership_.OnDiscovered(observed_.snapshot(), done->remote_sms(), observed_.unread(), now),
       now);
}

void Core::Obey(Mastership::Order order, Instant now) {
  const SmState state = mastership_.state();
  view_.ShowState(state);
  if (order.shows_others) view_.MarkChanged();
  if (order.tables_unknown) devices_.applied().ForgetTables(), multicast_.Forget();
  if (order.rose) desired_.SetReregistration(true);
  using Kind = Mastership::Order::Kind;
  switch (order.kind) {
    case Kind::kNothing: break;
    case Kind::kProgram:
      desired_.pending().MarkAll();
      AssignLidsAndGo(now);
      break;
    case Kind::kSweep: StartHeavySweep(std::move(order.why), now); break;
    case Kind::kLookSoon: agenda_.WantSweep(std::move(order.why)); break;
    case Kind::kStandBy: StandBy(now); break;
    case Kind::kWait:
      EndSweep(SweepKind::kHeavy, false, now);
      SetPhase(Phase::kElecting);
      break;
    case Kind::kGiveUp:
      problems_.Add("UnknownSm", "subnet", std::move(order.why));
      EndSweep(SweepKind::kHeavy, true, now);
      break;
  }
}

void Core::StandBy(Instant now) {
  view_.SetSubnetUp(false);
  engine_.CancelAll();
  mastership_.OnRequestsDropped();
  devices_.applied().AbandonInFlight();
  lane_reader_.reset();
  commands_.Wait(read_back_.Drop());
  programmer_.reset();
  surveys_.Clear();
  suspects_.Clear();
  journal_.DropReroute();
  agenda_.DropSweep();
  commands_.RefuseWaiting(FailedPrecondition("another SM has become master"));
  EndSweep(SweepKind::kHeavy, false, now);
}

// False, and a problem added: the SM's own link is down or leads to nothing that answers. There is
// nothing to be master of, and perhaps another is master behind it.
bool Core::HasNeighbour() {
  const std::string fault = observed_.OwnLinkFault(remediation_.HoldsOnOwnLink());
  if (!fault.empty()) problems_.Add("LocalPortDown", local_port_.device, fault);
  return fault.empty();
}

void Core::AssignLidsAndGo(Instant now) {
  SetPhase(Phase::kAssigningLids);
  if (!lids_.Update(observed_.snapshot(), problems_)) desired_.pending().MarkAll();
  if (lids_.IsDurable()) {
    StartProgramming(now);
    return;
  }
  lids_.AskToStore();
}

void Core::OnPersisted(const Persisted& persisted, Instant now) {
  lids_.OnStored(persisted.status);
  if (persisted.status.ok()) {
    StartProgramming(now);
    return;
  }
  // What is not durable is not programmed; it is written again with the next sweep.
  problems_.Add("StoreFailed", "state", Message(persisted.status));
  journal_.Log(LogLevel::kError,
               fmt::format("LIDs could not be stored: {}", Message(persisted.status)));
  EndSweep(SweepKind::kHeavy, true, now);
}

void Core::StartProgramming(Instant now) {
  agenda_.TakeReroute();  // Is part of this.
  programmer_ =
      std::make_unique<Programmer>(InputOfProgrammer(/*trees_only=*/false), observed_.builder(),
                                   devices_, engine_, problems_, options_);
  programmer_->Start();
  hold_news_until_ = now + kTimeToWrite;
  // Switches that come back with their tables may serve pairs, which a plan has to leave alone.
  // What the last run asked for was made from what was known before they are read.
  if (planner_.plan() && devices_.HasUnreadTables(*observed_.snapshot())) {
    planner_.Cancel();
    multicast_.Cancel();
    AdvanceProgramming(now);  // Whoever starts it may have no events to come.
  } else {
    AskPlan(now);
    SetPhase(Phase::kProgramming);
  }
}

void Core::AskPlan(Instant now) {
  planned_intent_ = remediation_.generation();
  ComputePlan question = planner_.MakeQuestion(
      observed_.snapshot(), lids_.table(), remediation_.intent(), desired_.goal(), devices_, now);
  question.needs_room = multicast_.HasWork(devices_);
  question.has_trees = !multicast_.plan()->empty();
  question.trees = multicast_.held();
  multicast_.NoteQuestion(question);
  questions_.Ask(std::move(question));
  // What an earlier question would say is of an older snapshot.
  if (cables_.MustCheck(*observed_.snapshot()) || !programmer_->scope().nodes ||
      questions_.IsOpen<CheckCables>()) {
    questions_.Ask(CheckCables{observed_.snapshot(), options_.routing.host_patterns});
    cables_.OnChecked(observed_.snapshot());
  }
}

void Core::OnAliases(AliasesChanged changed) {
  if (desired_.SetAliases(std::move(changed.aliases), *observed_.snapshot()))
    agenda_.WantReroute("alias GUIDs");
}

void Core::NoteKeys(const Programmer& done) {
  if (done.keys_done()) desired_.OnKeysProgrammed(done.desired(), done.scope());
}

// What is known stays as it is; only the plan is made anew, and what differs is written, also of
// what the last run left undone.
void Core::StartSettling(Instant now) {
  desired_.SetGoal(routing::ReplanGoal::kWhole);
  journal_.BeginSweep(SweepKind::kSettle, now);
  journal_.BeginReroute(planner_.is_urgent() ? "what was left pending" : "settling", "subnet", now,
                        now);
  StartProgramming(now);
}

void Core::OnPlan(PlanReady ready, Instant now) {
  const bool keeps_trees = ready.keeps_trees, mixes_trees = ready.mixes_trees;
  if (!programmer_) return;
  planner_.OnPlan(std::move(ready), *observed_.snapshot(), problems_, now);
  const bool has_order = planner_.plan() && !planner_.plan()->order.empty();
  multicast_.NotePlan(keeps_trees, mixes_trees, has_order);
  if (multicast_.MustWithdraw()) programmer_->WithdrawTrees();
  if (planner_.plan()) journal_.OnPlan(planner_.plan()->engine, planner_.is_provisional(), now);
  programmer_->SetPlan(planner_.has_answer() ? planner_.plan() : nullptr);
  hold_news_until_ = now + kTimeToWrite;
  view_.MarkChanged();
}

void Core::OnOrder(TablesOrdered ordered, Instant now) {
  if (!programmer_) return;
  journal_.OnOrder(ordered.push, now);
  programmer_->SetPush(std::move(ordered.push));
}

void Core::OnCables(CablesChecked checked) {
  problems_.Remove("MisplacedCable");
  for (Problem& problem : checked.problems)
    problems_.Add(std::move(problem.kind), std::move(problem.subject), std::move(problem.message));
  view_.MarkChanged();
}

void Core::AdvanceProgramming(Instant now) {
  programmer_->Feed();
  if (programmer_->NeedsPlan() && !planner_.AwaitsPlan()) AskPlan(now);
  if (programmer_->NeedsPush() && !planner_.AwaitsOrder()) planner_.AskOrder(devices_);
  AdvanceTrees();
  if (programmer_->tables_done()) journal_.EndReroute(*programmer_, /*superseded=*/false, now);
  using Stage = Programmer::Stage;
  const Stage stage = programmer_->stage();
  if (stage == Stage::kTables && planner_.AwaitsPlan())
    SetPhase(Phase::kRouting);
  else
    SetPhase(stage >= Stage::kArm ? Phase::kBringingUp : Phase::kProgramming);
  if (programmer_->done() && !questions_.IsOpen<CheckCables>()) FinishProgramming(now);
}

void Core::FinishProgramming(Instant now) {
  if (programmer_->trees_done()) multicast_.NoteDone();
  if (programmer_->trees_only()) return FinishTrees(now);
  const std::unique_ptr<Programmer> done = std::move(programmer_);
  NoteKeys(*done);
  if (const auto plan = planner_.plan())
    for (uint32_t i = 0; i < plan->rows.size(); ++i)
      if (plan->rows[i]) devices_.applied().Lft(NodeIndex(i)).ShareMemory(*plan->rows[i]);
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  desired_.SetReregistration(false);
  desired_.pending().OnRunEnded(done->undone());
  const bool complete = done->failures() == 0 && done->has_plan();
  if (complete) {
    remediation_.OnApplied(planned_intent_, now);
    partitions_.OnApplied(done->desired().keys.generation);
  }
  const bool up = AllLinksActive() && complete && !IsBroken(Breakage::kNeverUp);
  if (IsBroken(Breakage::kErrorLogged)) journal_.Log(LogLevel::kError, "logged deliberately");
  if (up != view_.subnet_up())
    journal_.Log(up ? LogLevel::kInfo : LogLevel::kWarning, up ? "subnet up" : "subnet not up");
  view_.SetSubnetUp(up);
  if (journal_.kind() == SweepKind::kHeavy) SuspectUnknownPorts(now);
  StartReadBack(journal_.kind(), now);
  EndSweep(journal_.kind(), !complete || !up, now);
  LookAgain(done->ToLookAt(), now);
}

// The discovery did not wait for the ports of slow switches that are down. Light sweeps ask for
// those that did not answer.
void Core::SuspectUnknownPorts(Instant now) {
  for (const NodeIndex node : observed_.SwitchesPassedOver())
    suspects_.Add(node, "ports were not read", now, /*thorough=*/true);
}

// Ports that came up while they were programmed may have been armed before they were configured:
// their nodes are read and programmed again.
void Core::LookAgain(const std::vector<NodeIndex>& nodes, Instant now) {
  for (const NodeIndex node : observed_.SwitchesOf(nodes))
    suspects_.Add(node, "a port changed meanwhile", now, /*thorough=*/true);
}

bool Core::AllLinksActive() {
  if (!HasNeighbour()) return false;
  problems_.Remove("NotActive");
  const Explorer& explorer = surveys_.explorer();
  bool all_active = true;
  for (PortRef inactive : observed_.InactivePorts()) {
    const fabric::Node& node = *observed_.snapshot()->node(inactive.node);
    // Arrivals that are not programmed yet were not left undone.
    if (explorer.Gathers(node.index) || explorer.Gathers(node.port(inactive.port).peer.node))
      continue;
    all_active = false;
    desired_.pending().Mark(node.index);
    problems_.Add(
        "NotActive",
        fmt::format("\"{}\" ({}) port {}", node.description, node.guid(), inactive.port),
        fmt::format("is {}", wire::PortStateName(node.port(inactive.port).info.port_state)));
  }
  return all_active;
}

void Core::EndSweep(SweepKind kind, bool failed, Instant now) {
  if (kind != SweepKind::kLight && failed) view_.SetSubnetUp(false);
  view_.OnSweepEnd(journal_.EndSweep(kind, *observed_.snapshot(), problems_, now),
                   kind == SweepKind::kHeavy);
  commands_.FinishRunning();
  if (kind == SweepKind::kHeavy) mastership_.OnSweepEnd();
  agenda_.OnSweepEnd({kind, failed, mastership_.state() == SmState::kStandby,
                      observed_.snapshot()->node_count() <= 1, !observed_.unread().empty()},
                     now);
  view_.MarkChanged();
  SetPhase(mastership_.state() == SmState::kStandby ? Phase::kStandby : Phase::kIdle);
}

// ---- changes

bool Core::MayReroute() const {
  return mastership_.IsMaster() && !discovery_ && lids_.IsDurable() &&
         (phase_ == Phase::kIdle || phase_ == Phase::kSurveying || programmer_);
}

// A sweep that is wanted waits until nothing else is going on, and looks at everything.
bool Core::MaySurvey() const {
  return MayReroute() && !surveys_.full() && (surveys_.empty() || !agenda_.WantsSweep());
}

void Core::StartSurvey(SurveyTask task, Instant now) {
  if (phase_ == Phase::kIdle) SetPhase(Phase::kSurveying);
  surveys_.Start(std::move(task), observed_.local(), now);
}

// A request that timed out may have met a lost link whose traps were lost with it: to wait until it
// is given up would take seconds. At most the engine's window of devices, and the hops to each.
void Core::LookAtSilentPaths(Instant now) {
  const std::vector<mad::DeviceId> silent = engine_.TakeSuspects();
  if (silent.empty() || !MaySurvey()) return;
  SurveyTask task{{}, {}, {}, "a time-out", now};
  for (mad::DeviceId device : silent) {
    if (!devices_.Has(NodeIndex(device))) continue;
    for (PortRef link :
         LinksOnPath(observed_.builder(), observed_.local(), devices_, NodeIndex(device)))
      if (!surveys_.AreAt(link.node)) task.links.push_back(link);
  }
  SortUnique(task.links);
  if (!task.links.empty()) StartSurvey(std::move(task), now);
}

void Core::AdvanceSurveys(Instant now) {
  if (surveys_.empty()) return;
  surveys_.Advance(now);
  if (surveys_.HasNews() && !IsHoldingNews(now)) OnNews(surveys_.TakeNews(), now);
  if (discovery_) return;  // They led to a heavy sweep, and have ended with it.
  for (const std::unique_ptr<Survey>& done : surveys_.TakeDone()) {
    for (NodeIndex node : done->task().switches) suspects_.OnLooked(node, done->Changed(node), now);
    observed_.AddUnread(done->TakeUnread());
  }
  Explorer& explorer = surveys_.explorer();
  observed_.AddUnread(explorer.TakeUnread());
  for (NodeIndex node : explorer.TakeSuspects()) suspects_.Add(node, "a new neighbour", now);
  if (programmer_ || !surveys_.empty()) return;
  observed_.Rebuild();  // What needs no writing, such as the other end of what is lost.
  remediation_.OnSnapshot(now);
  if (phase_ == Phase::kSurveying) SetPhase(Phase::kIdle);
}

// A plan that is being made comes first, and its tables for a while, or changes that keep coming
// would starve all of them. What that did not suffice for is a difference like any other.
bool Core::IsHoldingNews(Instant now) const {
  if (!programmer_ || !programmer_->scope().nodes ||
      desired_.goal() != routing::ReplanGoal::kUrgent)
    return false;
  return planner_.AwaitsPlan() || (!programmer_->tables_done() && now < hold_news_until_);
}

void Core::OnNews(Surveys::News taken, Instant now) {
  SurveyNews& news = taken.found;
  if (!news.come.empty()) planner_.NoteArrivals(now);
  if (news.meets_sm) return StartHeavySweep(news.needs_sweep, now);
  if (!news.needs_sweep.empty()) agenda_.WantSweep(news.needs_sweep);
  for (NodeIndex node : news.touched)
    if (const fabric::Node* found = observed_.builder().node(node))
      problems_.RemoveAbout(fmt::format("{}", found->guid()));
  if (news.touched.empty() && news.gone.empty()) return;
  std::string subject = news.about.IsNone() ? "subnet" : observed_.NameOf(news.about, news.peer);
  Reroute(std::move(news.touched), taken.cause, std::move(subject), taken.since, now);
}

// What was touched is planned for and programmed. Programming that is under way ends: what it wrote
// is applied, what it has in flight is not written again before it is known, and what it left is a
// difference like any other.
void Core::Reroute(std::vector<NodeIndex> touched, const std::string& cause, std::string subject,
                   Instant since, Instant now) {
  desired_.pending().Mark(touched);
  desired_.SetGoal(routing::ReplanGoal::kUrgent);
  // What is superseded was at all of the fabric, or waits for its LIDs to be durable: so is this.
  const bool is_whole = (programmer_ || lids_.IsAwaited()) && desired_.pending().is_all();
  const SweepKind kind = is_whole ? journal_.kind() : SweepKind::kTargeted;
  if (programmer_) {
    journal_.EndReroute(*programmer_, /*superseded=*/true, now);
    NoteKeys(*programmer_);
    desired_.pending().Mark(programmer_->undone());
    std::vector<mad::Completion> dropped;
    engine_.CancelQueuedOf(Activity::kProgrammer, dropped);
    for (const mad::Completion& completion : dropped)
      Programmer::OnLateAnswer(completion, observed_.builder(), devices_);
    LookAgain(std::exchange(programmer_, nullptr)->ToLookAt(), now);
  }
  if (kind == SweepKind::kTargeted) journal_.BeginSweep(kind, now);
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  view_.MarkChanged();
  journal_.BeginReroute(cause, std::move(subject), since, now);
  AssignLidsAndGo(now);
}

// What the last run left undone is read and programmed again; where that does not help, everything.
void Core::Retry(Instant now) {
  if (!agenda_.TakeRetry(!desired_.pending().nodes().empty() && IsIdleMaster() && MaySurvey())) {
    agenda_.WantSweep("something was left undone");
    return;
  }
  SurveyTask task{{}, {}, {}, "something was left undone", now, /*thorough=*/true};
  for (NodeIndex index : desired_.pending().nodes()) {
    const fabric::Node* node = observed_.snapshot()->node(index);
    if (node == nullptr) continue;
    if (node->IsSwitch()) task.switches.push_back(index);
    for (const fabric::Port& port : node->ports)
      if (!node->IsSwitch() && !port.peer.IsNone()) task.ports.push_back(port.peer);
  }
  StartSurvey(std::move(task), now);
}

// ---- light sweep

void Core::StartLightSweep(Instant now) {
  journal_.BeginSweep(SweepKind::kLight, now);
  light_ =
      std::make_unique<LightSweep>(observed_.snapshot(), devices_, engine_, mastership_.others(),
                                   observed_.unread(), std::exchange(silent_switches_, {}));
  light_->Start();
}

void Core::FinishLightSweep(Instant now) {
  const std::unique_ptr<LightSweep> done = std::move(light_);
  mastership_.OnLightSweep(done->remote_sms(), now);
  silent_switches_ = done->silent();
  for (const auto& [port, cause] : done->changed()) Suspect(port, cause, now);
  if (!done->reason().empty()) {
    // A command that asked for a light sweep is answered by what it led to.
    commands_.WaitAgain();
    agenda_.WantSweep(done->reason());
  }
  StartReadBack(SweepKind::kLight, now);
  EndSweep(SweepKind::kLight, false, now);
}

// ---- what is shown

void Core::SetPhase(Phase phase) {
  if (phase != phase_) view_.MarkChanged();
  phase_ = phase;
}

Progress Core::progress() const {
  if (discovery_) return {phase_, "nodes", discovery_->nodes_found(), 0};
  if (programmer_)
    return {phase_, std::string(StageName(programmer_->stage())), programmer_->stage_position(),
            programmer_->stage_total()};
  return {phase_, "", 0, 0};
}

std::shared_ptr<const FabricView> Core::MakeView(Instant now) {
  return view_.Make(
      {options_, local_port_.port_guid, phase_, observed_, lids_, planner_, multicast_, mastership_,
       partitions_, problems_, remediation_.intent().isolated, remediation_.View(now)},
      devices_.applied());
}

}  // namespace fabricd::sweep
