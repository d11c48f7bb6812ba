// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/mastership.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "mad/replies.h"
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

Order Sweep(std::string why) { return {Order::Kind::kSweep, std::move(why)}; }

}  // namespace

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
      shared_{MasterWatcher(devices, engine, ContextOf(Ask::kWatchMaster)),
              MastershipClaim(questions)},
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
  if (IsMaster())
    step_down_.OnRisen(priority_);
  else
    shared_.claim.End();
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

// ---- requests of other SMs

mad::OutgoingMad Mastership::Reply(const mad::IncomingMad& mad, const wire::Smp& request,
                                   uint16_t status, bool shows_key) const {
  wire::Smp response = request;
  response.status = status;
  wire::SmInfo own = Own();
  if (!shows_key) own.sm_key = SmKey();
  own.Encode(response.data);
  return mad::MakeSmpResponse(mad, response);
}

void Mastership::AnswerGet(const mad::IncomingMad& mad, const wire::Smp& request,
                           const std::optional<wire::DirectedPath>& back,
                           std::vector<mad::OutgoingMad>& send) {
  const mad::DeviceId host = back ? DeviceBehind(*back) : kAskerDevice;
  const KeyProof::Keys own{options_.sm.sm_key, devices_.ConfiguredMKey(local_port_.port_guid)};
  const KeyProof::Verdict verdict = proof_.OnRequest({mad, request}, own, back, host);
  if (verdict == KeyProof::Verdict::kWait) return;
  send.push_back(Reply(mad, request, wire::kStatusOk, verdict == KeyProof::Verdict::kShow));
}

void Mastership::AnswerHeld(const KeyProof::Proof& proof) {
  for (const KeyProof::Request& request : proof.requests)
    effects_.send.push_back(Reply(request.mad, request.smp, wire::kStatusOk, proof.proven));
}

Order Mastership::OnRequest(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now,
                            std::vector<mad::OutgoingMad>& send) {
  ++activity_count_;
  if (OnlyReads()) {
    AnswerAsReader(mad, smp, send);
    return {};
  }
  if (smp.method == wire::Method::kGet) {
    const auto back = PathBack(smp);
    if (back) NoteRequester(*back);
    AnswerGet(mad, smp, back, send);
    return {};
  }
  const auto sent = wire::SmInfo::Decode(smp.data);
  const auto control = static_cast<wire::SmControl>(smp.modifier);
  const bool has_key = sent.sm_key == options_.sm.sm_key;
  auto next = has_key ? StateAfterControl(state_, control) : std::nullopt;
  const bool sweeps =
      control == wire::SmControl::kHandover || control == wire::SmControl::kDiscover;
  // The handover that this master waits for is not limited: other SMs may have used up the budget.
  const bool is_awaited = IsMaster() && watched_ && watched_->guid == sent.guid &&
                          control == wire::SmControl::kHandover;
  const bool too_many = next && sweeps && !is_awaited && !budget_.Take(now);
  if (too_many) next.reset();
  const uint16_t refusal = too_many ? wire::kStatusBusy : wire::kStatusInvalidAttributeValue;
  send.push_back(Reply(mad, smp, next ? wire::kStatusOk : refusal, has_key));
  Log(next ? LogLevel::kInfo : LogLevel::kWarning,
      fmt::format("SM {} sent Set SMInfo {} in state {}{}", sent.guid, smp.modifier,
                  wire::SmStateName(state_),
                  next       ? ""
                  : too_many ? ": refused, too many of them"
                             : ": refused"));
  return next ? OnControl(sent, control, *next, now) : Order();
}

// A NOT-ACTIVE SM would follow the control STANDBY (IBA vol 1 §14.4.1). This one follows none. In
// observe mode a request only arrives if it names this port by mistake.
void Mastership::AnswerAsReader(const mad::IncomingMad& mad, const wire::Smp& smp,
                                std::vector<mad::OutgoingMad>& send) {
  if (!IsSeenByOthers(options_.sm.mode)) return;
  if (smp.method == wire::Method::kGet) return AnswerGet(mad, smp, PathBack(smp), send);
  send.push_back(Reply(mad, smp, wire::kStatusInvalidAttributeValue, /*shows_key=*/false));
  Log(LogLevel::kWarning, fmt::format("SM {} sent Set SMInfo {} in standby mode: refused",
                                      wire::SmInfo::Decode(smp.data).guid, smp.modifier));
}

Order Mastership::OnControl(const wire::SmInfo& sender, wire::SmControl control, SmState next,
                            Instant now) {
  if (control == wire::SmControl::kHandover) return OnHandoverRequest(sender.guid);
  if (control == wire::SmControl::kDiscover) {
    SetState(SmState::kDiscovering);
    return Sweep(fmt::format("SM {} asks to discover", sender.guid));
  }
  if (next != state_) {
    SetState(next);
    poll_.Schedule(next == SmState::kStandby ? now : kNever);
  }
  return {};
}

// Restarts a discovery under way: it may have read the sender as master.
Order Mastership::OnHandoverRequest(Guid from) {
  Order order = Sweep(fmt::format("handover from SM {}", from));
  // Sent to a master, it means that two subnets were joined and the sender programmed one of them.
  order.tables_unknown = true;
  // Where the state is shared, the claim says what this mastership follows.
  const bool rises = !IsMaster();
  order.rose = rises && !options_.sm.shares_state;
  SetState(SmState::kMaster);
  if (rises && options_.sm.shares_state) shared_.claim.OnGiven();
  return order;
}

// The route to the sender. nullopt: it is unknown, or a tool on this node sent the request.
std::optional<wire::DirectedPath> Mastership::PathBack(const wire::Smp& request) {
  if (!request.path || request.path->hops() == 0) return std::nullopt;
  wire::DirectedPath back;
  for (size_t hop = request.path->hops(); hop > 0; --hop)
    back = back.Then(PortNum(request.return_path[hop]));
  return back;
}

// Another SM is present, perhaps one that started too late for the discovery.
void Mastership::NoteRequester(const wire::DirectedPath& back) {
  if (!MaySweep()) return;
  if (IsMaster()) return watch_.OnAsked(back, DeviceBehind(back));
  checks_.NoteRequester(back);
}

// Uses the links of the last heavy sweep, because only limits depend on it.
mad::DeviceId Mastership::DeviceBehind(const wire::DirectedPath& path) const {
  if (!snapshot_ || path.hops() == 0) return kAskerDevice;
  // Discovery begins at the SM's own node, so its index is 0. A search for it would make floods of
  // requests more expensive.
  PortRef at{NodeIndex(0), PortNum(path[0])};
  const fabric::Port* own = snapshot_->port(at);
  if (own == nullptr || own->guid != local_port_.port_guid) return kAskerDevice;
  for (size_t hop = 0; hop < path.hops() && !at.IsNone(); ++hop) {
    const fabric::Port* out = snapshot_->port({at.node, PortNum(path[hop])});
    at = out == nullptr ? PortRef() : out->peer;
  }
  return at.IsNone() ? kAskerDevice : at.node.value();
}

// This SM is master and has read the SMInfo of another SM.
Order Mastership::OnSeen(const RemoteSm& seen, Instant now) {
  if (!IsMaster() || seen.guid == local_port_.port_guid) return {};
  const auto known = std::find_if(others_.begin(), others_.end(),
                                  [&](const RemoteSm& sm) { return sm.guid == seen.guid; });
  const RemoteSm before = known == others_.end() ? RemoteSm() : *known;
  const bool is_change =
      known == others_.end() || before.state != seen.state || before.priority != seen.priority;
  if (known != others_.end()) {
    known->priority = seen.priority;
    known->state = seen.state;
    known->activity_count = seen.activity_count;
  }
  if (!is_change || watched_) return {};  // A pending handover or lower master is decided soon.
  Order order;
  const bool both = seen.state == SmState::kMaster;
  const OwnSm own{state_, priority_, local_port_.port_guid, {}, patience_.passed_over()};
  // If both are masters and write, the decision between them is most urgent.
  if (both)
    order = Sweep(fmt::format("SM {} is master too", seen.guid));
  else if (known == others_.end())
    order = {Order::Kind::kLookSoon, fmt::format("SM {}, which was not known, asks", seen.guid)};
  else if (Elect(own, others_).kind == ElectionVerdict::Kind::kHandover)
    order = {Order::Kind::kLookSoon, fmt::format("SM {} (priority {}) stands by and is preferred",
                                                 seen.guid, seen.priority)};
  if (order.kind == Order::Kind::kNothing || budget_.Take(now)) return order;
  if (known != others_.end()) *known = before;  // To notice the change again.
  return {};
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
  if (OnlyReads()) {
    Order order{Order::Kind::kOnlyRead};
    if (options_.sm.shares_state) order.shows_others = shared_.watcher.OnFound(others_, now);
    return order;
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
    return Sweep("an SM that was there a moment ago does not answer");
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
    case ElectionVerdict::Kind::kMaster: order.kind = Order::Kind::kProgram; break;
    case ElectionVerdict::Kind::kTake: HandOver(*verdict.other); break;
    case ElectionVerdict::Kind::kStandby: return StandBy(*verdict.other, now);
    case ElectionVerdict::Kind::kHandover: HandOver(*verdict.other); break;
    case ElectionVerdict::Kind::kWait:
      Log(LogLevel::kWarning,
          fmt::format("SM {} is a lower master: waiting for it to hand over", verdict.other->guid));
      watched_ = verdict.other;
      poll_.Start(now + std::min(options_.sm.polling_timeout, Duration(std::chrono::seconds(1))));
      order.kind = Order::Kind::kWait;
      break;
  }
  return order;
}

Order Mastership::StandBy(const RemoteSm& other, Instant now) {
  Log(LogLevel::kInfo, fmt::format("SM {} (priority {}, {}) is preferred: standing by", other.guid,
                                   other.priority, wire::SmStateName(other.state)));
  patience_.Begin(/*handed_over=*/IsMaster(), now);
  SetState(SmState::kStandby);
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
      order.shows_others = shared_.watcher.OnCompletion(completion);
      return order;
    }
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
  return IsMaster() ? OnLowerMaster(completion) : OnWatchedMaster(completion, now);
}

// This SM is master and waits for a lower master to hand over.
Order Mastership::OnLowerMaster(const mad::Completion& completion) {
  bool is_gone = false;
  if (IsOk(completion)) {
    is_gone = wire::SmInfo::Decode(completion.response.data).state != SmState::kMaster;
    poll_.NoteAnswered();
    if (!is_gone && poll_.NoteUnchanged())
      return Sweep(fmt::format("SM {} does not hand over", watched_->guid));
  }
  if (!is_gone && (IsOk(completion) || !poll_.NoteMissed())) return {};
  return Sweep(fmt::format("SM {} is master no longer", watched_->guid));
}

Order Mastership::OnWatchedMaster(const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) return poll_.NoteMissed() ? DiscoverAgain() : Order();
  poll_.NoteAnswered();
  const auto info = wire::SmInfo::Decode(completion.response.data);
  if (info.state == SmState::kMaster) {
    patience_.OnMaster(watched_->guid, now);
    watched_->state = SmState::kMaster;
    const bool lower = !IsHigher(info.priority, watched_->guid, priority_, local_port_.port_guid);
    if (lower) notice_.BeginSeldom(OwnPort(), now);
    return {};
  }
  if (info.state == SmState::kNotActive || patience_.IsOver(*watched_, info.state, now))
    return DiscoverAgain();
  poll_.ScheduleBy(now + kPollOfNoMaster);
  return {};
}

Order Mastership::DiscoverAgain() {
  const fabric::Port* port = snapshot_ ? snapshot_->port(watched_->port) : nullptr;
  if (port != nullptr && devices_.Has(watched_->port.node))
    checks_.NoteFormerMaster(devices_.PathTo(watched_->port.node), port->peer);
  SetState(SmState::kDiscovering);
  return Sweep(fmt::format("SM {} is not master", watched_->guid));
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
  if (lost && !poll_.NoteLostHandover())
    return Sweep(fmt::format("SM {} did not answer the handover", other.guid));
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
