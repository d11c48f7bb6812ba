// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/mastership.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "sweep/device/completion.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;
using Order = Mastership::Order;

// An SM that is not master is polled this often while this SM stands by for it, however long the
// configured interval is.
constexpr Duration kPollOfNoMaster = std::chrono::milliseconds(500);

mad::RequestContext ContextOf(Mastership::Ask ask) {
  return mad::RequestContext::Of(Activity::kMastership, ask);
}

}  // namespace

Mastership::SharedState::SharedState(const SmOptions& options, const DeviceTable& devices,
                                     mad::TransactionEngine& engine, OpenQuestions& questions)
    : last_master(options, devices, engine, ContextOf(Ask::kMasterPort)),
      watcher(devices, engine, last_master,
              {ContextOf(Ask::kWatchMaster), ContextOf(Ask::kWatchedPort)}),
      claim(questions) {}

Mastership::Mastership(const CoreOptions& options, const mad::LocalPort& local,
                       const DeviceTable& devices, mad::TransactionEngine& engine,
                       OpenQuestions& questions, Effects& effects)
    : options_(options),
      local_port_(local),
      devices_(devices),
      engine_(engine),
      effects_(effects),
      priority_(options.sm.priority),
      checks_(devices, engine, ContextOf(Ask::kCheck)),
      watch_(devices, engine, ContextOf(Ask::kWatch)),
      proof_(devices, engine, ContextOf(Ask::kProof)),
      shared_(options.sm, devices, engine, questions),
      poll_(options.sm, devices, engine, ContextOf(Ask::kPoll)),
      notice_(devices, engine, ContextOf(Ask::kOwnPort)) {}

void Mastership::Start() {
  if (!OnlyReads()) return SetState(SmState::kDiscovering);
  Log(LogLevel::kInfo, fmt::format("{} mode: this SM only reads, and changes nothing",
                                   SmModeName(options_.sm.mode)));
}

void Mastership::SetState(SmState state) {
  if (state == state_) return;
  Log(LogLevel::kInfo,
      fmt::format("SM state {} -> {}", wire::SmStateName(state_), wire::SmStateName(state)));
  state_ = state;
  if (!IsMaster()) return shared_.claim.End();
  step_down_.OnRisen(priority_);
  shared_.last_master.Set(local_port_.port_guid);
}

wire::SmInfo Mastership::Own() const {
  wire::SmInfo info;
  info.guid = local_port_.port_guid;
  info.sm_key = options_.sm.sm_key;
  info.activity_count = activity_count_;
  info.priority = priority_;
  info.state = state_;
  return info;
}

// ---- after discovery

void Mastership::OnSweepStart() {
  OnRequestsDropped();
  checks_.OnSweepStart();
  watch_.OnSweepStart();
  watched_.reset();
  poll_.Stop();
  shared_.claim.Cancel();
  step_down_.OnSweepStart();
}

void Mastership::OnLightSweep(std::vector<RemoteSm> others, Instant now) {
  others_ = std::move(others);
  if (IsMaster()) watch_.Follow(others_, now);
}

ElectionVerdict Mastership::ElectNow(Instant now) {
  patience_.Expire(now);
  return Elect(
      {state_, priority_, local_port_.port_guid, patience_.idle(), patience_.passed_over()},
      others_);
}

Order Mastership::OnDiscovered(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                               std::vector<RemoteSm> found, const std::vector<Unread>& unread,
                               Instant now) {
  snapshot_ = std::move(snapshot);
  others_ = std::move(found);
  shared_.last_master.OnFound(others_, shared_.watcher.master(), now);
  if (OnlyReads()) {
    Order order{Order::Kind::kOnlyRead};
    if (options_.sm.shares_state) order.shows_others = shared_.watcher.OnFound(others_, now);
    return order;
  }
  // Another SM may be master by now, and have answered. Then that one counts.
  if (const auto busy = shared_.last_master.FindBusy(unread, *snapshot_, now)) {
    Log(LogLevel::kWarning,
        fmt::format("SM {} does not answer, but is there: it counts as master", busy->guid));
    if (IsMaster()) return WaitFor(*busy, now);
    others_.push_back(*busy);
  }
  const ElectionVerdict verdict = ElectNow(now);
  if (!Rises(verdict) ||
      !checks_.Start(others_, WithoutUnresponsiveMaster(unread), local_port_.port_guid, *snapshot_))
    return Follow(verdict, now);
  return checks_.done() ? FinishCheck(now) : Order();
}

// Discovery has just asked it for the last time.
std::vector<Unread> Mastership::WithoutUnresponsiveMaster(std::vector<Unread> unread) const {
  const Guid unresponsive = options_.sm.unresponsive_master;
  std::erase_if(unread, [&](const Unread& each) {
    const fabric::Port* port = snapshot_->port(each.port);
    return unresponsive && each.attribute == wire::AttributeId::kSmInfo && port != nullptr &&
           port->guid == unresponsive;
  });
  return unread;
}

bool Mastership::Rises(const ElectionVerdict& verdict) const {
  return !IsMaster() && (verdict.kind == ElectionVerdict::Kind::kMaster ||
                         verdict.kind == ElectionVerdict::Kind::kTake);
}

Order Mastership::FinishCheck(Instant now) {
  PreMasterChecks::Result result = checks_.Take();
  others_ = std::move(result.sms);
  std::erase_if(others_, [&](const RemoteSm& sm) { return sm.guid == local_port_.port_guid; });
  for (RemoteSm& sm : others_) {
    if (sm.port.IsNone()) sm.port = FindPort(sm.guid);
    if (sm.port.IsNone())
      return {Order::Kind::kGiveUp, fmt::format("SM {} is on a port that was not found", sm.guid)};
  }
  const ElectionVerdict verdict = ElectNow(now);
  // An SM that was known, or sent a request, does not respond now: it has failed, or the route to
  // it has. Its state must be known before this SM becomes master beside it.
  if (result.lost && Rises(verdict) && checks_.MayRepeatSweep())
    return Order::Sweep("an SM that was there a moment ago does not answer");
  // Requests received during the check matter only if this SM is about to become master.
  if (Rises(verdict) && checks_.StartAgain(others_, local_port_.port_guid, *snapshot_))
    return checks_.done() ? FinishCheck(now) : Order();
  return Follow(verdict, now);
}

PortRef Mastership::FindPort(Guid port_guid) const {
  PortRef found;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.AllPorts())
      if (port.guid == port_guid && port_guid) found = ref;
  });
  return found;
}

// An SM that is master by a handover claims too.
bool Mastership::MustClaim(const ElectionVerdict& verdict) const {
  return options_.sm.shares_state && !shared_.claim.is_granted() &&
         (Rises(verdict) || (IsMaster() && verdict.kind == ElectionVerdict::Kind::kMaster));
}

Order Mastership::OnClaimed(const MastershipClaimed& claimed, Instant now) {
  if (!claimed.status.ok())
    return {Order::Kind::kGiveUp,
            fmt::format("this SM may not be master: {}", Message(claimed.status))};
  shared_.claim.OnGranted(claimed);
  const ElectionVerdict verdict = ElectNow(now);
  // As after a check: requests of other SMs may have arrived meanwhile.
  if (Rises(verdict) && checks_.StartAgain(others_, local_port_.port_guid, *snapshot_))
    return checks_.done() ? FinishCheck(now) : Order();
  return Follow(verdict, now);
}

Order Mastership::Follow(const ElectionVerdict& verdict, Instant now) {
  Order order;
  if (MustClaim(verdict)) {
    shared_.claim.Ask();
    return order;
  }
  const bool was_given = shared_.claim.TakeGiven() && IsMaster();
  if (Rises(verdict) || was_given) {
    order.rose = order.tables_unknown = true;
    order.continues = shared_.claim.continues();
    checks_.OnDecided();
    SetState(SmState::kMaster);
  }
  if (IsMaster()) watch_.Follow(others_, now);
  switch (verdict.kind) {
    case ElectionVerdict::Kind::kMaster:
      shared_.last_master.Set(local_port_.port_guid);
      order.kind = Order::Kind::kProgram;
      break;
    case ElectionVerdict::Kind::kTake: HandOver(*verdict.other); break;
    case ElectionVerdict::Kind::kStandby: return StandBy(*verdict.other, now);
    case ElectionVerdict::Kind::kHandover: HandOver(*verdict.other); break;
    case ElectionVerdict::Kind::kWait:
      Log(LogLevel::kWarning,
          fmt::format("SM {} is a lower master: waiting for it to hand over", verdict.other->guid));
      order.kind = WaitFor(*verdict.other, now).kind;
      break;
  }
  return order;
}

// This SM is master, and another one too, which has to hand over or end.
Order Mastership::WaitFor(const RemoteSm& master, Instant now) {
  watched_ = master;
  poll_.Start(now + std::min(options_.sm.polling_timeout, Duration(std::chrono::seconds(1))));
  return {Order::Kind::kWait};
}

Order Mastership::StandBy(const RemoteSm& other, Instant now) {
  Log(LogLevel::kInfo, fmt::format("SM {} (priority {}, {}) is preferred: standing by", other.guid,
                                   other.priority, wire::SmStateName(other.state)));
  patience_.Begin(/*handed_over=*/IsMaster(), now);
  if (IsMaster()) shared_.last_master.Set(Guid());
  SetState(SmState::kStandby);
  if (!shared_.last_master.is_busy()) shared_.last_master.OnAnswer(other.guid, other.state, now);
  watch_.Stop();
  checks_.Stop();
  checks_.OnDecided();
  poll_.ForgetLostHandovers();
  watched_ = other;
  poll_.Stop();
  poll_.Start(now + options_.sm.polling_timeout);
  if (other.state != SmState::kMaster) poll_.ScheduleBy(now + kPollOfNoMaster);
  return {Order::Kind::kBeStandby};
}

// ---- requests to other SMs

Order Mastership::OnCompletion(const mad::Completion& completion, Instant now) {
  switch (completion.context.kind_as<Ask>()) {
    case Ask::kPoll: return OnPollAnswer(completion, now);
    case Ask::kHandover: return OnHandoverAnswer(completion, now);
    case Ask::kCheck:
      if (!checks_.active()) break;
      checks_.OnCompletion(completion);
      if (checks_.done()) return FinishCheck(now);
      break;
    case Ask::kOwnPort: SendPriorityNotice(completion); break;
    case Ask::kWatchMaster: {
      Order order;
      const auto answer = shared_.watcher.OnCompletion(completion, now);
      order.shows_others = answer.is_new;
      if (answer.from) shared_.last_master.OnAnswer(answer.from, answer.state, now);
      return order;
    }
    case Ask::kWatchedPort: shared_.watcher.OnPort(completion); break;
    case Ask::kMasterPort: return OnMasterPort(completion);
    case Ask::kProof: AnswerHeld(proof_.OnCompletion(completion, options_.sm.sm_key)); break;
    case Ask::kWatch:
      if (const auto seen = watch_.OnCompletion(completion)) {
        Order order = OnSeen(*seen, now);
        order.shows_others = true;
        watch_.Follow(others_, now);
        return order;
      }
      break;
  }
  return {};
}

void Mastership::OnTimer(Instant now) {
  if (now >= watch_.NextDeadline()) watch_.OnTimer(now);
  if (now >= shared_.watcher.NextDeadline()) shared_.watcher.OnTimer(now);
  if (now >= poll_.next()) poll_.Send(watched_ ? &*watched_ : nullptr, now);
}

Order Mastership::OnPollAnswer(const mad::Completion& completion, Instant now) {
  poll_.OnCompletion();
  if (!watched_) return {};
  return IsMaster() ? OnLowerMaster(completion, now) : OnWatchedMaster(completion, now);
}

// This SM is master and waits for a lower master to hand over.
Order Mastership::OnLowerMaster(const mad::Completion& completion, Instant now) {
  bool is_gone = false;
  if (IsOk(completion)) {
    const SmState state = wire::SmInfo::Decode(completion.response.data).state;
    is_gone = state != SmState::kMaster;
    shared_.last_master.OnAnswer(watched_->guid, state, now);
    poll_.NoteAnswered();
    if (!is_gone && poll_.NoteUnchanged())
      return Order::Sweep(fmt::format("SM {} does not hand over", watched_->guid));
  }
  if (!is_gone && (IsOk(completion) || !poll_.NoteMissed())) return {};
  if (!is_gone && shared_.last_master.MayBeBusy(watched_->guid, now)) {
    shared_.last_master.AskPort(*watched_);
    return {};
  }
  return Order::Sweep(fmt::format("SM {} is master no longer", watched_->guid));
}

Order Mastership::OnWatchedMaster(const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) {
    if (!poll_.NoteMissed()) return {};
    if (!shared_.last_master.MayBeBusy(watched_->guid, now)) return DiscoverAgain();
    shared_.last_master.AskPort(*watched_);
    return {};
  }
  poll_.NoteAnswered();
  const auto info = wire::SmInfo::Decode(completion.response.data);
  const bool had_master = has_other_master();
  shared_.last_master.OnAnswer(watched_->guid, info.state, now);
  if (info.state == SmState::kMaster) {
    patience_.OnMaster(watched_->guid, now);
    watched_->state = SmState::kMaster;
    const bool lower = !IsHigher(info.priority, watched_->guid, priority_, local_port_.port_guid);
    if (lower) notice_.BeginSeldom(OwnPort(), now);
    Order order;
    order.shows_others = !had_master;
    return order;
  }
  if (info.state == SmState::kNotActive || patience_.IsOver(*watched_, info.state, now))
    return DiscoverAgain();
  poll_.ScheduleBy(now + kPollOfNoMaster);
  return {};
}

// The port of an SM that may be busy was read.
Order Mastership::OnMasterPort(const mad::Completion& completion) {
  if (shared_.last_master.OnCompletion(completion) || !watched_) return {};
  if (IsMaster()) return Order::Sweep(fmt::format("SM {} has ended", watched_->guid));
  return state_ == SmState::kStandby ? DiscoverAgain() : Order();
}

Order Mastership::DiscoverAgain() {
  const fabric::Port* port = snapshot_ ? snapshot_->port(watched_->port) : nullptr;
  if (port != nullptr && devices_.Has(watched_->port.node))
    checks_.NoteFormerMaster(devices_.PathTo(watched_->port.node), port->peer);
  SetState(SmState::kDiscovering);
  return Order::Sweep(fmt::format("SM {} is not master", watched_->guid));
}

void Mastership::HandOver(const RemoteSm& other) {
  Log(LogLevel::kInfo,
      fmt::format("handing over to SM {} (priority {})", other.guid, other.priority));
  watched_ = other;
  auto request = devices_.Set(other.port, static_cast<uint32_t>(wire::SmControl::kHandover), Own());
  request.context = ContextOf(Ask::kHandover);
  request.priority = 0;
  engine_.Submit(request);
}

Order Mastership::OnHandoverAnswer(const mad::Completion& completion, Instant now) {
  if (!watched_ || !IsMaster()) return {};
  const RemoteSm other = *std::exchange(watched_, std::nullopt);
  if (IsOk(completion)) return StandBy(other, now);
  // If only the response was lost, the other SM is master now: sweep again before continuing as
  // master.
  const bool lost = completion.outcome != mad::Completion::Outcome::kResponse;
  if (lost) shared_.last_master.OnAnswer(other.guid, SmState::kMaster, now);
  if (lost && !poll_.NoteLostHandover())
    return Order::Sweep(fmt::format("SM {} did not answer the handover", other.guid));
  poll_.ForgetLostHandovers();
  // The other SM was too busy. Resetting its state makes the next SMInfo a change. Otherwise both
  // would stay masters.
  if (!lost && (completion.status & wire::kStatusBusy) != 0) {
    for (RemoteSm& sm : others_)
      if (sm.guid == other.guid) sm.state = SmState::kDiscovering;
    watch_.Follow(others_, now);
  }
  Log(LogLevel::kWarning, fmt::format("SM {} did not take the handover ({}): staying master",
                                      other.guid, WhyNot(completion)));
  return {Order::Kind::kProgram};
}

}  // namespace fabricd::sweep
