// SPDX-License-Identifier: Apache-2.0
#include "sweep/core.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "common/check.h"
#include "common/sort_unique.h"
#include "common/status.h"
#include "mad/wire/notice.h"
#include "sweep/device/completion.h"
#include "sweep/device/spoil.h"
#include "sweep/interface/activity.h"
#include "sweep/observe/paths.h"

namespace fabricd::sweep {

using wire::SmState;

namespace {
constexpr uint32_t kMostRetries = 3;  // Before everything is read again.
// What one lost cable changes is written in less, on the largest fabrics too.
constexpr Duration kTimeToWrite = std::chrono::milliseconds(50);
// How long a sweep that nothing waits for lets go first what is reported.
constexpr Duration kLongestWait = std::chrono::seconds(1);
}  // namespace

Core::Core(CoreOptions options, mad::LocalPort local, std::vector<LidRecord> records,
           policy::StoredHolds holds, std::shared_ptr<const fabric::MulticastGroups> groups,
           policy::PartitionState partitions, std::shared_ptr<const fabric::AliasGuids> aliases)
    : options_(std::move(options)),
      local_port_(std::move(local)),
      engine_(IsBroken(Breakage::kWindowsTooWide) ? Widened(options_.smp) : options_.smp),
      devices_(options_.sm, local_port_.port_guid),
      snapshot_(builder_.Build()),
      lids_(std::make_shared<fabric::LidTable>()),
      read_back_(builder_, devices_, engine_),
      suspects_(options_.sweep.report_window),
      surveys_({builder_, devices_, engine_, problems_, options_}),
      questions_(effects_.questions),
      mastership_(options_, local_port_, devices_, engine_, effects_),
      planner_(options_, questions_, effects_.log),
      multicast_(std::move(groups), questions_),
      remediation_({snapshot_, lids_, planner_.routes(), local_, options_}, effects_, questions_,
                   IsBroken(Breakage::kHoldsForgotten) ? policy::StoredHolds() : std::move(holds)),
      partitions_(options_, effects_, questions_,
                  IsBroken(Breakage::kPartitionsForgotten) ? policy::PartitionState()
                                                           : std::move(partitions)),
      aliases_(aliases != nullptr ? std::move(aliases)
                                  : std::make_shared<const fabric::AliasGuids>()) {
  for (const LidRecord& record : records) records_[record.port_guid] = record;
}

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
          changed_ = true;
          Obey(mastership_.On(value), now);
        } else if constexpr (std::is_same_v<T, OptionsChanged>) {
          new_options_ = std::move(value.options);
          changed_ = true;
          mastership_.OnReload(new_options_->sm.priority);
          WantPatientSweep("the configuration was changed", now);
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
    case Open::KindOf<JudgeIntent>():
      remediation_.On(std::get<IntentJudged>(std::move(answer.what)), now);
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
  if (std::exchange(changed_, false) || remediation_.HasNews()) {
    ++view_generation_;
    effects_.publish = MakeView(now);
  }
  return std::exchange(effects_, {});
}

void Core::Pump(Instant now) {
  patient_ = patient_ && discovery_ && wanted_reroute_.empty() && !multicast_.HasNews() &&
             !IsReported(now);
  engine_.SetPatient(patient_);
  engine_.Pump(now, effects_.send, completions_);
}

Instant Core::NextDeadline() const {
  Instant next = std::min({engine_.NextDeadline(), mastership_.NextDeadline(), next_retry_,
                           remediation_.NextDeadline()});
  if (IsIdleMaster() && !light_)
    next = std::min({next, next_light_, next_heavy_, planner_.NextStepTime()});
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
        Programmer::OnLateAnswer(completion, builder_, devices_);
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
  if (notice.changes_sm_priority())
    next_light_ = std::min(next_light_, now + options_.sweep.retry_min);
  if (!options_.sweep.on_trap) return;
  switch (notice.generic ? notice.trap : 0) {
    case wire::kTrapLinkStateChange:
    case wire::kTrapCapabilityMaskChanged:
    case wire::kTrapSystemImageGuidChanged: {
      const std::string cause = fmt::format("trap {}", notice.trap);
      const PortRef port = SwitchPortOf(notice.issuer_lid);
      if (!port.IsNone())
        Suspect(port, cause, now);
      else  // Whoever has this LID is not known here: look whether anything has changed.
        next_light_ = std::min(next_light_, now + options_.sweep.retry_min);
      break;
    }
    default:
      Log(LogLevel::kWarning, fmt::format("trap {} from LID {}", notice.trap, notice.issuer_lid));
  }
}

PortRef Core::SwitchPortOf(Lid lid) const {
  const PortRef owner = lids_->Owner(lid);
  const fabric::Node* node = owner.IsNone() ? nullptr : snapshot_->node(owner.node);
  if (node == nullptr || node->IsSwitch()) return node == nullptr ? PortRef{} : owner;
  return node->port(owner.port).peer;
}

// A switch (port 0), or what is behind one of its ports.
void Core::Suspect(PortRef port, const std::string& cause, Instant now) {
  const fabric::Node* node = snapshot_->node(port.node);
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
      const fabric::Port* local = snapshot_->port(local_);
      if (phase_ == Phase::kIdle && (local == nullptr || !local->IsUp()))
        WantSweep("the local port came up");
      break;
    }
    case Kind::kPortDown:
      Log(LogLevel::kWarning, "the local port went down");
      WantSweep("local port went down");
      break;
    case Kind::kDeviceRemoved: Log(LogLevel::kError, "the local device was removed"); break;
    default: break;
  }
}

void Core::OnCommand(const SweepCommand& command, Instant now) {
  if (!mastership_.MaySweep()) {
    effects_.finished.push_back(
        {command.command, FailedPrecondition("this SM is {}: the master sweeps",
                                             wire::SmStateName(mastership_.state()))});
    return;
  }
  if (!command.heavy && phase_ == Phase::kIdle && !wanted_sweep_) {
    running_commands_.push_back(command.command);
    if (!light_) StartLightSweep(now);
    return;
  }
  waiting_commands_.push_back(command.command);
  WantPatientSweep("command", now);
}

// Holds are the master's: a standby's store may be behind.
template <typename Command>
void Core::OnHoldCommand(Command command, Instant now) {
  if (mastership_.IsMaster())
    remediation_.On(std::move(command), now);
  else
    effects_.finished.push_back(
        {command.command, FailedPrecondition("this SM is {}: the master keeps the holds",
                                             wire::SmStateName(mastership_.state()))});
}

void Core::OnPartitionCommand(ChangePartitions command) {
  if (mastership_.IsMaster() || command.of_this_host)
    partitions_.On(std::move(command));
  else
    effects_.finished.push_back(
        {command.command, FailedPrecondition("this SM is {}: the master keeps the partitions",
                                             wire::SmStateName(mastership_.state()))});
}

void Core::OnTimer(Instant now) {
  if (now >= remediation_.NextDeadline()) remediation_.OnTimer(now);
  if (discovery_ && now >= discovery_->NextDeadline()) discovery_->OnTimer(now);
  if (now >= mastership_.NextDeadline()) mastership_.OnTimer(now);
  if (now >= next_retry_) Retry(now);
  if (MaySurvey() && now >= suspects_.due()) {
    const auto is_at = [this](NodeIndex node) { return surveys_.AreAt(node); };
    SurveyTask task = suspects_.Take(is_at, now);
    if (!task.switches.empty() || !task.ports.empty()) StartSurvey(std::move(task), now);
  }
  if (!IsIdleMaster() || light_) return;
  if (now >= next_heavy_)
    WantPatientSweep("interval", now);
  else if (now >= planner_.NextStepTime())
    StartSettling(now);
  else if (now >= next_light_)
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
    wanted_reroute_ = std::move(why);
    changed_ = true;
  }
  if (std::string why = remediation_.TakeReroute(); !why.empty()) wanted_reroute_ = std::move(why);
  if (wanted_sweep_ && idle && mastership_.MaySweep() &&
      (now >= wanted_sweep_->waits_until || !IsReported(now)))
    StartHeavySweep(wanted_sweep_->why, now, subnet_up_ && now < wanted_sweep_->waits_until);
  else if (!wanted_reroute_.empty() && MayReroute() && planner_.plan())
    Reroute({}, std::exchange(wanted_reroute_, {}), "subnet", now, now);
  else if (MayMakeTrees())
    StartTrees(now);
  AdvanceLaneReader();
}

// ---- heavy sweep

void Core::WantSweep(std::string why) {
  if (wanted_sweep_ && wanted_sweep_->waits_until == Instant::min()) return;
  wanted_sweep_ = {std::move(why), Instant::min(), wanted_sweep_ && wanted_sweep_->reads_back};
}

void Core::WantPatientSweep(std::string why, Instant now) {
  if (!wanted_sweep_) wanted_sweep_ = {std::move(why), now + kLongestWait};
  wanted_sweep_->reads_back = true;
}

// What tells of a change is about to be followed up.
bool Core::IsReported(Instant now) const {
  return suspects_.due() <= now + options_.sweep.report_window;
}

void Core::StartHeavySweep(std::string why, Instant now, bool patient) {
  Log(LogLevel::kInfo, fmt::format("heavy sweep: {}", why));
  patient_ = patient;
  engine_.CancelAll();
  devices_.applied().AbandonInFlight();
  devices_.applied().ForgetGuids();
  light_.reset();
  lane_reader_.reset();
  for (uint64_t command : read_back_.Drop()) waiting_commands_.push_back(command);
  programmer_.reset();
  surveys_.Clear();
  suspects_.Clear();  // All of it is read now.
  silent_switches_.clear();
  reroute_.Drop();
  undone_.clear();
  retries_ = 0;
  mastership_.OnSweepStart();
  if (new_options_) {
    options_ = *std::exchange(new_options_, std::nullopt);
    planner_.SettleNow(now);
    remediation_.OnOptions(now);
    partitions_.OnOptions();
  }
  planner_.Cancel();
  questions_.Drop<CheckCables>();
  questions_.Drop<PersistLids>();
  reads_back_ = wanted_sweep_ && wanted_sweep_->reads_back;
  wanted_sweep_.reset();
  next_retry_ = kNever;
  planner_.AllowSettling(false);
  problems_ = ProblemList();
  running_commands_.insert(running_commands_.end(), waiting_commands_.begin(),
                           waiting_commands_.end());
  waiting_commands_.clear();
  report_.Begin(SweepKind::kHeavy, now, engine_.statistics());
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
  local_ = done->local();
  unread_ = done->unread();
  unread_wait_ = Duration::zero();
  snapshot_ = builder_.Build();
  remediation_.OnSnapshot(now);
  scope_.reset();
  lids_of_ = nullptr;
  goal_ = options_.sweep.settle_after == Duration::zero() ? routing::ReplanGoal::kIdeal
                                                          : routing::ReplanGoal::kWhole;
  changed_ = true;
  if (!HasNeighbour()) {
    EndSweep(SweepKind::kHeavy, true, now);
    return;
  }
  SetPhase(Phase::kElecting);
  Obey(mastership_.OnDiscovered(snapshot_, done->remote_sms(), unread_, now), now);
}

void Core::Obey(Mastership::Order order, Instant now) {
  const SmState state = mastership_.state();
  changed_ = changed_ || order.shows_others || state != std::exchange(shown_state_, state);
  if (order.tables_unknown) devices_.applied().ForgetTables(), multicast_.Forget();
  if (order.rose) first_master_sweep_ = true;
  using Kind = Mastership::Order::Kind;
  switch (order.kind) {
    case Kind::kNothing: break;
    case Kind::kProgram: AssignLidsAndGo(now); break;
    case Kind::kSweep: StartHeavySweep(std::move(order.why), now); break;
    case Kind::kLookSoon: WantSweep(std::move(order.why)); break;
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
  subnet_up_ = false;
  engine_.CancelAll();
  mastership_.OnRequestsDropped();
  devices_.applied().AbandonInFlight();
  lane_reader_.reset();
  for (uint64_t command : read_back_.Drop()) waiting_commands_.push_back(command);
  programmer_.reset();
  surveys_.Clear();
  suspects_.Clear();
  reroute_.Drop();
  wanted_sweep_.reset();
  for (uint64_t command : std::exchange(waiting_commands_, {}))
    effects_.finished.push_back({command, FailedPrecondition("another SM has become master")});
  EndSweep(SweepKind::kHeavy, false, now);
}

// False, and a problem added: the SM's own link is down or leads to nothing that answers. There is
// nothing to be master of, and perhaps another is master behind it.
bool Core::HasNeighbour() {
  const fabric::Port* local = snapshot_->port(local_);
  std::string fault;
  if (local == nullptr)
    fault = "the SM's own port cannot be read";
  else if (snapshot_->node(local_.node)->IsSwitch())
    return true;
  else if (!local->IsUp())
    fault = "the SM's own port has no link" + remediation_.HoldsOnOwnLink();
  else if (local->peer.IsNone())
    fault = "what the SM's own port is linked to does not answer";
  if (!fault.empty()) problems_.Add("LocalPortDown", local_port_.device, fault);
  return fault.empty();
}

void Core::AssignLids() {
  problems_.Remove("NoLid");
  LidAssignment assignment =
      sweep::AssignLids(*snapshot_, records_, options_.lmc, options_.lmc_enhanced_port0);
  for (PortRef port : assignment.without) {
    const fabric::Node& node = *snapshot_->node(port.node);
    problems_.Add("NoLid",
                  fmt::format("\"{}\" ({}) port {}", node.description, node.guid(), port.port),
                  "no LID is left for it, or another port has its GUID: it stays without");
  }
  // A port that goes, perhaps for a while, must not change LinearFDBTop on all switches, nor one
  // that comes be left out there.
  assignment.table.KeepTop(lids_->top());
  const Lid top = assignment.table.top();
  if (top > lids_->top() && !PortConfig::TopsSuffice(*snapshot_, top)) scope_.reset();
  lids_ = std::make_shared<fabric::LidTable>(std::move(assignment.table));
  lids_of_ = assignment.without.empty() ? snapshot_ : nullptr;
  for (const LidRecord& record : assignment.changed)
    records_[record.port_guid] = undurable_[record.port_guid] = record;
}

void Core::AssignLidsAndGo(Instant now) {
  SetPhase(Phase::kAssigningLids);
  if (lids_of_ == nullptr || !SameEndPorts(*lids_of_, *snapshot_)) AssignLids();
  if (undurable_.empty()) {
    StartProgramming(now);
    return;
  }
  PersistLids write;
  for (const auto& [guid, record] : undurable_) write.records.push_back(record);
  std::sort(write.records.begin(), write.records.end(),
            [](const LidRecord& a, const LidRecord& b) { return a.port_guid < b.port_guid; });
  questions_.Ask(std::move(write));
}

void Core::OnPersisted(const Persisted& persisted, Instant now) {
  if (persisted.status.ok()) {
    undurable_.clear();  // The write held all of them, and none came since.
    StartProgramming(now);
    return;
  }
  // What is not durable is not programmed; it is written again with the next sweep.
  problems_.Add("StoreFailed", "state", Message(persisted.status));
  Log(LogLevel::kError, fmt::format("LIDs could not be stored: {}", Message(persisted.status)));
  EndSweep(SweepKind::kHeavy, true, now);
}

void Core::StartProgramming(Instant now) {
  wanted_reroute_.clear();
  trees_only_ = false;
  keys_wanted_ = {partitions_.generation(), remediation_.intent().unpartitioned};
  programmer_ = std::make_unique<Programmer>(InputOfProgrammer(), builder_, devices_, engine_,
                                             problems_, options_);
  programmer_->Start();
  hold_news_until_ = now + kTimeToWrite;
  // Switches that come back with their tables may serve pairs, which a plan has to leave alone.
  // What the last run asked for was made from what was known before they are read.
  if (planner_.plan() && devices_.HasUnreadTables(*snapshot_)) {
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
  ComputePlan question =
      planner_.MakeQuestion(snapshot_, lids_, remediation_.intent(), goal_, devices_, now);
  question.needs_room = multicast_.HasWork(devices_);
  question.has_trees = !multicast_.plan()->empty();
  question.trees = multicast_.held();
  multicast_.NoteQuestion(question);
  questions_.Ask(std::move(question));
  // What an earlier question would say is of an older snapshot.
  if (std::exchange(cables_changed_, false) || !scope_ || questions_.IsOpen<CheckCables>())
    questions_.Ask(CheckCables{snapshot_, options_.routing.host_patterns});
}

KeyInput Core::MakeKeyInput() {
  KeyInput keys{partitions_.index(), options_.policy.partitions,
                remediation_.intent().unpartitioned, local_};
  keys.all = keys_wanted_ != keys_looked_at_;
  // Who comes later is in the scope, and looked at if anybody was missed before.
  if (keys.all || !scope_) misses_guids_ = NamesStrangers(*keys.index, *snapshot_);
  return keys;
}

// After MakeKeyInput().
GuidInput Core::MakeGuidInput() const {
  return {aliases_, misses_guids_, {aliases_changed_.begin(), aliases_changed_.end()}};
}

void Core::OnAliases(AliasesChanged changed) {
  const std::vector<Guid> ports = fabric::ChangedPorts(*aliases_, *changed.aliases);
  aliases_ = std::move(changed.aliases);
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports)
      if (port.guid && std::binary_search(ports.begin(), ports.end(), port.guid))
        aliases_changed_.insert(node.index);
  });
  if (!aliases_changed_.empty()) wanted_reroute_ = "alias GUIDs";
}

// What it left undone is in the scope of the next one.
void Core::NoteKeys(const Programmer& done) {
  if (!done.keys_done()) return;
  keys_looked_at_ = keys_wanted_;
  if (done.aliases() != aliases_) return;
  if (!done.scope()) aliases_changed_.clear();
  for (NodeIndex node : done.aliases_changed()) aliases_changed_.erase(node);
}

// What is known stays as it is; only the plan is made anew, and what differs is written, also of
// what the last run left undone.
void Core::StartSettling(Instant now) {
  goal_ = routing::ReplanGoal::kWhole;
  report_.Begin(SweepKind::kSettle, now, engine_.statistics());
  reroute_.Begin(planner_.is_urgent() ? "what was left pending" : "settling", "subnet", now, now,
                 engine_.statistics());
  scope_.emplace(undone_.begin(), undone_.end());
  StartProgramming(now);
}

void Core::OnPlan(PlanReady ready, Instant now) {
  const bool keeps_trees = ready.keeps_trees, mixes_trees = ready.mixes_trees;
  if (!programmer_) return;
  planner_.OnPlan(std::move(ready), *snapshot_, problems_, now);
  const bool has_order = planner_.plan() && !planner_.plan()->order.empty();
  multicast_.NotePlan(keeps_trees, mixes_trees, has_order);
  if (multicast_.MustWithdraw()) programmer_->WithdrawTrees();
  if (planner_.plan()) reroute_.OnPlan(planner_.plan()->engine, planner_.is_provisional(), now);
  programmer_->SetPlan(planner_.has_answer() ? planner_.plan() : nullptr);
  hold_news_until_ = now + kTimeToWrite;
  changed_ = true;
}

void Core::OnOrder(TablesOrdered ordered, Instant now) {
  if (!programmer_) return;
  Happen(reroute_.OnOrder(ordered.push, now));
  programmer_->SetPush(std::move(ordered.push));
}

void Core::OnCables(CablesChecked checked) {
  problems_.Remove("MisplacedCable");
  for (Problem& problem : checked.problems)
    problems_.Add(std::move(problem.kind), std::move(problem.subject), std::move(problem.message));
  changed_ = true;
}

void Core::AdvanceProgramming(Instant now) {
  programmer_->Feed();
  if (programmer_->NeedsPlan() && !planner_.AwaitsPlan()) AskPlan(now);
  if (programmer_->NeedsPush() && !planner_.AwaitsOrder()) planner_.AskOrder(devices_);
  AdvanceTrees();
  if (programmer_->tables_done())
    Happen(reroute_.Finish(*programmer_, /*superseded=*/false, now, engine_.statistics()));
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
  if (std::exchange(trees_only_, false)) return FinishTrees(now);
  const std::unique_ptr<Programmer> done = std::move(programmer_);
  NoteKeys(*done);
  if (const auto plan = planner_.plan())
    for (uint32_t i = 0; i < plan->rows.size(); ++i)
      if (plan->rows[i]) devices_.applied().Lft(NodeIndex(i)).ShareMemory(*plan->rows[i]);
  snapshot_ = builder_.Build();
  remediation_.OnSnapshot(now);
  first_master_sweep_ = false;
  undone_.clear();
  undone_.insert(done->undone().begin(), done->undone().end());
  const bool complete = done->failures() == 0 && done->has_plan();
  if (complete) {
    remediation_.OnApplied(planned_intent_, now);
    partitions_.OnApplied(keys_wanted_.generation);
  }
  const bool up = AllLinksActive() && complete && !IsBroken(Breakage::kNeverUp);
  if (IsBroken(Breakage::kErrorLogged)) Log(LogLevel::kError, "logged deliberately");
  if (up != subnet_up_)
    Log(up ? LogLevel::kInfo : LogLevel::kWarning, up ? "subnet up" : "subnet not up");
  subnet_up_ = up;
  if (report_.kind() == SweepKind::kHeavy) SuspectUnknownPorts(now);
  StartReadBack(report_.kind(), now);
  EndSweep(report_.kind(), !complete || !up, now);
  LookAgain(done->ToLookAt(), now);
}

// The discovery did not wait for the ports of slow switches that are down. Light sweeps ask for
// those that did not answer.
void Core::SuspectUnknownPorts(Instant now) {
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    const auto was_passed_over = [&](const fabric::Port& port) {
      const PortRef ref{node.index, PortNum(static_cast<uint8_t>(&port - node.ports.data()))};
      return !port.known && std::none_of(unread_.begin(), unread_.end(),
                                         [&](const Unread& each) { return each.port == ref; });
    };
    if (node.IsSwitch() && std::any_of(node.ports.begin(), node.ports.end(), was_passed_over))
      suspects_.Add(node.index, "ports were not read", now, /*thorough=*/true);
  });
}

// Ports that came up while they were programmed may have been armed before they were configured:
// their nodes are read and programmed again.
void Core::LookAgain(const std::vector<NodeIndex>& nodes, Instant now) {
  std::vector<NodeIndex> switches;
  for (NodeIndex index : nodes) {
    const fabric::Node* node = snapshot_->node(index);
    if (node == nullptr) continue;
    if (node->IsSwitch()) switches.push_back(index);
    for (const fabric::Port& port : node->ports)
      if (!node->IsSwitch() && !port.peer.IsNone()) switches.push_back(port.peer.node);
  }
  std::sort(switches.begin(), switches.end());
  for (NodeIndex index : switches)
    suspects_.Add(index, "a port changed meanwhile", now, /*thorough=*/true);
}

bool Core::AllLinksActive() {
  if (!HasNeighbour()) return false;
  problems_.Remove("NotActive");
  active_links_.Update(snapshot_);
  const Explorer& explorer = surveys_.explorer();
  bool all_active = true;
  for (PortRef inactive : active_links_.inactive()) {
    const fabric::Node& node = *snapshot_->node(inactive.node);
    // Arrivals that are not programmed yet were not left undone.
    if (explorer.Gathers(node.index) || explorer.Gathers(node.port(inactive.port).peer.node))
      continue;
    all_active = false;
    undone_.insert(node.index);
    problems_.Add(
        "NotActive",
        fmt::format("\"{}\" ({}) port {}", node.description, node.guid(), inactive.port),
        fmt::format("is {}", wire::PortStateName(node.port(inactive.port).info.port_state)));
  }
  return all_active;
}

void Core::EndSweep(SweepKind kind, bool failed, Instant now) {
  last_report_ = report_.Finish(now, engine_.statistics());
  sweeps_done_ += kind == SweepKind::kHeavy;
  if (kind != SweepKind::kLight) {
    if (failed) subnet_up_ = false;
    for (const Problem& problem : problems_.List())
      Log(LogLevel::kWarning,
          fmt::format("{}: {}: {}", problem.kind, problem.subject, problem.message));
    Log(LogLevel::kInfo,
        fmt::format("{} ended: {} nodes, {} switches, {:.1f} ms, {} SMPs ({} Sets, {} time-outs)",
                    kind == SweepKind::kHeavy      ? "heavy sweep"
                    : kind == SweepKind::kTargeted ? "change"
                                                   : "settling",
                    snapshot_->node_count(), snapshot_->switch_count(), last_report_.duration_ms,
                    last_report_.smps_sent, last_report_.sets_sent, last_report_.timeouts));
  }
  for (uint64_t command : std::exchange(running_commands_, {}))
    if (!IsBroken(Breakage::kSweepCommandNotEnded))
      effects_.finished.push_back({command, absl::OkStatus()});
  const auto& sweep = options_.sweep;
  const Duration until_light = UntilLightSweep();
  next_light_ = until_light > Duration::zero() ? now + until_light : kNever;
  if (kind == SweepKind::kHeavy) mastership_.OnSweepEnd();
  if (kind == SweepKind::kHeavy)
    next_heavy_ = sweep.heavy_interval > Duration::zero() ? now + sweep.heavy_interval : kNever;
  if (kind != SweepKind::kLight && mastership_.state() != SmState::kStandby) {
    // To look whether the SM's own link leads anywhere again costs no more than a light sweep.
    const bool alone = snapshot_->node_count() <= 1 && sweep.light_interval > Duration::zero();
    const Duration cap = alone ? std::min(sweep.retry_max, sweep.light_interval) : sweep.retry_max;
    retry_wait_ =
        failed ? std::min(std::max(retry_wait_ * 2, sweep.retry_min), cap) : Duration::zero();
    next_retry_ = failed ? now + retry_wait_ : kNever;
  }
  changed_ = true;
  SetPhase(mastership_.state() == SmState::kStandby ? Phase::kStandby : Phase::kIdle);
}

// ---- changes

bool Core::MayReroute() const {
  return mastership_.IsMaster() && !discovery_ && undurable_.empty() &&
         (phase_ == Phase::kIdle || phase_ == Phase::kSurveying || programmer_);
}

// A sweep that is wanted waits until nothing else is going on, and looks at everything.
bool Core::MaySurvey() const {
  return MayReroute() && !surveys_.full() && (surveys_.empty() || !wanted_sweep_);
}

void Core::StartSurvey(SurveyTask task, Instant now) {
  if (phase_ == Phase::kIdle) SetPhase(Phase::kSurveying);
  surveys_.Start(std::move(task), local_, now);
}

// A request that timed out may have met a lost link whose traps were lost with it: to wait until it
// is given up would take seconds. At most the engine's window of devices, and the hops to each.
void Core::LookAtSilentPaths(Instant now) {
  const std::vector<mad::DeviceId> silent = engine_.TakeSuspects();
  if (silent.empty() || !MaySurvey()) return;
  SurveyTask task{{}, {}, {}, "a time-out", now};
  for (mad::DeviceId device : silent) {
    if (!devices_.Has(NodeIndex(device))) continue;
    for (PortRef link : LinksOnPath(builder_, local_, devices_, NodeIndex(device)))
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
    NoteUnread(done->TakeUnread());
  }
  Explorer& explorer = surveys_.explorer();
  NoteUnread(explorer.TakeUnread());
  for (NodeIndex node : explorer.TakeSuspects()) suspects_.Add(node, "a new neighbour", now);
  if (programmer_ || !surveys_.empty()) return;
  snapshot_ = builder_.Build();  // What needs no writing, such as the other end of what is lost.
  remediation_.OnSnapshot(now);
  if (phase_ == Phase::kSurveying) SetPhase(Phase::kIdle);
}

// A plan that is being made comes first, and its tables for a while, or changes that keep coming
// would starve all of them. What that did not suffice for is a difference like any other.
bool Core::IsHoldingNews(Instant now) const {
  if (!programmer_ || !scope_ || goal_ != routing::ReplanGoal::kUrgent) return false;
  return planner_.AwaitsPlan() || (!programmer_->tables_done() && now < hold_news_until_);
}

void Core::NoteUnread(std::vector<Unread> unread) {
  for (const Unread& each : unread)
    if (unread_.size() < kMaxUnread) unread_.push_back(each);
}

void Core::OnNews(Surveys::News taken, Instant now) {
  SurveyNews& news = taken.found;
  cables_changed_ |= news.links_rose;
  if (!news.come.empty()) planner_.NoteArrivals(now);
  if (news.meets_sm) return StartHeavySweep(news.needs_sweep, now);
  if (!news.needs_sweep.empty()) WantSweep(news.needs_sweep);
  for (NodeIndex node : news.touched)
    if (const fabric::Node* found = builder_.node(node))
      problems_.RemoveAbout(fmt::format("{}", found->guid()));
  if (!news.touched.empty() || !news.gone.empty())
    Reroute(std::move(news.touched), taken.cause, SubjectOf(news), taken.since, now);
}

// What was touched is planned for and programmed. Programming that is under way ends: what it wrote
// is applied, what it has in flight is not written again before it is known, and what it left is a
// difference like any other.
void Core::Reroute(std::vector<NodeIndex> touched, const std::string& cause, std::string subject,
                   Instant since, Instant now) {
  // Of the programming, or of what waits for its LIDs to be durable before it is programmed.
  const auto unfinished = programmer_ ? programmer_->scope() : std::move(scope_);
  scope_ = std::move(touched);
  goal_ = routing::ReplanGoal::kUrgent;
  SweepKind kind = SweepKind::kTargeted;
  const bool is_under_way = programmer_ || questions_.IsOpen<PersistLids>();
  if (is_under_way && unfinished) {
    scope_->insert(scope_->end(), unfinished->begin(), unfinished->end());
  } else if (is_under_way) {
    scope_.reset();
    kind = report_.kind();
  }
  if (programmer_) {
    Happen(reroute_.Finish(*programmer_, /*superseded=*/true, now, engine_.statistics()));
    NoteKeys(*programmer_);
    undone_.insert(programmer_->undone().begin(), programmer_->undone().end());
    std::vector<mad::Completion> dropped;
    engine_.CancelQueuedOf(Activity::kProgrammer, dropped);
    for (const mad::Completion& completion : dropped)
      Programmer::OnLateAnswer(completion, builder_, devices_);
    LookAgain(std::exchange(programmer_, nullptr)->ToLookAt(), now);
  }
  if (scope_) {
    scope_->insert(scope_->end(), undone_.begin(), undone_.end());
    SortUnique(*scope_);
  }
  if (kind == SweepKind::kTargeted) report_.Begin(kind, now, engine_.statistics());
  snapshot_ = builder_.Build();
  remediation_.OnSnapshot(now);
  changed_ = true;
  reroute_.Begin(cause, std::move(subject), since, now, engine_.statistics());
  AssignLidsAndGo(now);
}

// What the last run left undone is read and programmed again; where that does not help, everything.
void Core::Retry(Instant now) {
  next_retry_ = kNever;
  if (undone_.empty() || !IsIdleMaster() || !MaySurvey() || ++retries_ > kMostRetries) {
    WantSweep("something was left undone");
    return;
  }
  SurveyTask task{{}, {}, {}, "something was left undone", now, /*thorough=*/true};
  for (NodeIndex index : undone_) {
    const fabric::Node* node = snapshot_->node(index);
    if (node == nullptr) continue;
    if (node->IsSwitch()) task.switches.push_back(index);
    for (const fabric::Port& port : node->ports)
      if (!node->IsSwitch() && !port.peer.IsNone()) task.ports.push_back(port.peer);
  }
  StartSurvey(std::move(task), now);
}

// The first link of what was found.
std::string Core::SubjectOf(const SurveyNews& news) const {
  if (news.about.IsNone()) return "subnet";
  if (news.peer.IsNone()) return NameOf(news.about);
  return fmt::format("{} ↔ {}", NameOf(news.about), NameOf(news.peer));
}

std::string Core::NameOf(PortRef port) const {
  const fabric::Node* node = builder_.node(port.node);
  if (node == nullptr) node = snapshot_->node(port.node);
  if (node == nullptr) return fmt::format("node index {}", port.node);
  const std::string name =
      node->description.empty() ? fmt::format("{}", node->guid()) : node->description;
  return port.port == PortNum(0) ? name : fmt::format("{}/{}", name, port.port);
}

void Core::Happen(std::optional<fabric::FabricEvent> event) {
  if (!event) return;
  Log(event->severity == fabric::Severity::kInfo ? LogLevel::kInfo : LogLevel::kWarning,
      fmt::format("{}: {}: {}", event->type, event->subject, event->message));
  effects_.events.push_back(*std::move(event));
}

// ---- light sweep

// What was not read is asked for again soon, then ever more seldom, down to the usual pace.
Duration Core::UntilLightSweep() {
  const auto& sweep = options_.sweep;
  if (unread_.empty()) return sweep.light_interval;
  const Duration cap =
      sweep.light_interval > Duration::zero() ? sweep.light_interval : sweep.retry_max;
  unread_wait_ = std::min(std::max(unread_wait_ * 2, sweep.retry_min), cap);
  return unread_wait_;
}

void Core::StartLightSweep(Instant now) {
  report_.Begin(SweepKind::kLight, now, engine_.statistics());
  light_ = std::make_unique<LightSweep>(snapshot_, devices_, engine_, mastership_.others(), unread_,
                                        std::exchange(silent_switches_, {}));
  light_->Start();
}

void Core::FinishLightSweep(Instant now) {
  const std::unique_ptr<LightSweep> done = std::move(light_);
  mastership_.OnLightSweep(done->remote_sms(), now);
  silent_switches_ = done->silent();
  for (const auto& [port, cause] : done->changed()) Suspect(port, cause, now);
  if (!done->reason().empty()) {
    // A command that asked for a light sweep is answered by what it led to.
    waiting_commands_.insert(waiting_commands_.end(), running_commands_.begin(),
                             running_commands_.end());
    running_commands_.clear();
    WantSweep(done->reason());
  }
  StartReadBack(SweepKind::kLight, now);
  EndSweep(SweepKind::kLight, false, now);
}

// ---- what is shown

void Core::SetPhase(Phase phase) {
  changed_ = changed_ || phase != phase_;
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
  auto view = std::make_shared<FabricView>();
  view->generation = Generation(view_generation_);
  view->snapshot = snapshot_;
  view->lids = lids_;
  view->plan = planner_.plan();
  view->plan_stands = view->plan != nullptr && !planner_.AwaitsPlan() &&
                      phase_ != Phase::kElecting && phase_ != Phase::kAssigningLids;
  view->groups = multicast_.groups();
  view->multicast = multicast_.plan();
  view->chain = planner_.chain();
  view->sm = {mastership_.state(),
              local_port_.port_guid,
              lids_->Of(local_).base,
              mastership_.priority(),
              mastership_.Own().activity_count,
              local_,
              mastership_.others()};
  if (const fabric::Port* local = snapshot_->port(local_);
      local != nullptr && !mastership_.IsMaster())
    view->sm.lid = local->info.lid;
  // While everything is read anew, what was read before is truer than half of it.
  if (port_tables_ == nullptr || phase_ == Phase::kIdle)
    port_tables_ = devices_.applied().PortTables(*snapshot_);
  view->tables = port_tables_;
  view->routing = options_.routing;
  view->isolated = remediation_.intent().isolated;
  view->phase = phase_;
  view->subnet_up = subnet_up_;
  view->sweeps_done = sweeps_done_;
  view->last_sweep = last_report_;
  view->problems = problems_.List();
  view->partitions = partitions_.state();
  view->partitions_in_effect = partitions_.in_effect();
  view->policy = remediation_.View(now);
  return view;
}

}  // namespace fabricd::sweep
