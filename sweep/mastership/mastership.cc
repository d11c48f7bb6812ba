// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/mastership.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "mad/replies.h"
#include "mad/transactions.h"
#include "mad/wire/notice.h"
#include "sweep/device/completion.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;
using Order = Mastership::Order;

// After so many an SM that reads well but takes no handover is passed over.
constexpr uint32_t kMostLostHandovers = 3;
// Who asks later than so many is found by the next sweep.
constexpr size_t kMostAskers = 16;
// Each that is silent costs a round of time-outs before this SM may rise.
constexpr size_t kMostQuestions = 32;
// Who still asks after so many looks has been answered MASTER, or will be.
constexpr int kMostLooks = 4;
// Then the lower master is looked for anew: other things may have changed meanwhile.
constexpr uint32_t kMostVainPolls = 10;
// Who is stood by for without being master is polled so often, however seldom a master is.
constexpr Duration kPollOfNoMaster = std::chrono::milliseconds(500);
// How long an SM that stands by for another one, as far as it can be seen, has to become master: it
// finds its master dead, or takes a handover. OpenSM may need a minute for the former.
constexpr Duration kTimeToRise = std::chrono::seconds(1);
// And one that discovers a fabric of any size.
constexpr Duration kTimeToDiscover = std::chrono::seconds(60);
// Who takes a handover without becoming master is given no other one for so long.
constexpr Duration kPassOver = std::chrono::minutes(10);
constexpr size_t kMostIdle = 16;
// Sweeps in a row that end without a decision because an SM did not answer the last look.
constexpr int kMostLostLooks = 2;
// How often a standby of a higher priority tells its master so.
constexpr Duration kTrapPeriod = std::chrono::seconds(10);

mad::RequestContext ContextOf(Mastership::Ask ask) {
  return mad::RequestContext::Of(Activity::kMastership, ask);
}

Order Sweep(std::string why) { return {Order::Kind::kSweep, std::move(why)}; }

}  // namespace

Mastership::Mastership(const CoreOptions& options, const mad::LocalPort& local,
                       const DeviceTable& devices, mad::TransactionEngine& engine, Effects& effects)
    : options_(options),
      local_port_(local),
      devices_(devices),
      engine_(engine),
      effects_(effects),
      priority_(options.sm.priority),
      watch_(devices, engine, ContextOf(Ask::kWatch)),
      proof_(devices, engine, ContextOf(Ask::kProof)) {}

void Mastership::Start() { SetState(SmState::kDiscovering); }

void Mastership::SetState(SmState state) {
  if (state == state_) return;
  Log(LogLevel::kInfo,
      fmt::format("SM state {} -> {}", wire::SmStateName(state_), wire::SmStateName(state)));
  state_ = state;
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

// ---- asked by others

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
  if (smp.method == wire::Method::kGet) {
    const auto back = PathBack(smp);
    if (back) NoteAsker(*back);
    AnswerGet(mad, smp, back, send);
    return {};
  }
  const auto sent = wire::SmInfo::Decode(smp.data);
  const auto control = static_cast<wire::SmControl>(smp.modifier);
  const bool has_key = sent.sm_key == options_.sm.sm_key;
  auto next = has_key ? StateAfterControl(state_, control) : std::nullopt;
  const bool sweeps =
      control == wire::SmControl::kHandover || control == wire::SmControl::kDiscover;
  // The handover that this master waits for is not rationed: others may have used up the budget.
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

Order Mastership::OnControl(const wire::SmInfo& sender, wire::SmControl control, SmState next,
                            Instant now) {
  if (control == wire::SmControl::kHandover) return OnHandoverRequest(sender.guid);
  if (control == wire::SmControl::kDiscover) {
    SetState(SmState::kDiscovering);
    return Sweep(fmt::format("SM {} asks to discover", sender.guid));
  }
  if (next != state_) {
    SetState(next);
    next_poll_ = next == SmState::kStandby ? now : kNever;
  }
  return {};
}

// A discovery under way starts again: it may have read the sender as master.
Order Mastership::OnHandoverRequest(Guid from) {
  Order order = Sweep(fmt::format("handover from SM {}", from));
  // To a master: two parts of a fabric have met, and the sender programmed the other.
  order.tables_unknown = true;
  order.rose = !IsMaster();
  SetState(SmState::kMaster);
  return order;
}

// The route to the sender; nullopt: it is not known, or a tool on this very node has sent it.
std::optional<wire::DirectedPath> Mastership::PathBack(const wire::Smp& request) {
  if (!request.path || request.path->hops() == 0) return std::nullopt;
  wire::DirectedPath back;
  for (size_t hop = request.path->hops(); hop > 0; --hop)
    back = back.Then(PortNum(request.return_path[hop]));
  return back;
}

// Another SM is about, perhaps one that started behind the discovery's back.
void Mastership::NoteAsker(const wire::DirectedPath& back) {
  if (!MaySweep()) return;
  if (IsMaster()) return watch_.OnAsked(back, DeviceBehind(back));
  if (askers_.size() < kMostAskers &&
      std::find(askers_.begin(), askers_.end(), back) == askers_.end())
    askers_.push_back(back);
}

// By the links of the last heavy sweep: only limits depend on it.
mad::DeviceId Mastership::DeviceBehind(const wire::DirectedPath& path) const {
  if (!snapshot_ || path.hops() == 0) return kAskerDevice;
  // Discovery begins at the SM's own node; to search for it would cost a flood of requests more.
  PortRef at{NodeIndex(0), PortNum(path[0])};
  const fabric::Port* own = snapshot_->port(at);
  if (own == nullptr || own->guid != local_port_.port_guid) return kAskerDevice;
  for (size_t hop = 0; hop < path.hops() && !at.IsNone(); ++hop) {
    const fabric::Port* out = snapshot_->port({at.node, PortNum(path[hop])});
    at = out == nullptr ? PortRef() : out->peer;
  }
  return at.IsNone() ? kAskerDevice : at.node.value();
}

// This SM is master and has read the SMInfo of another one.
Order Mastership::OnSeen(const RemoteSm& seen, Instant now) {
  if (!IsMaster() || seen.guid == local_port_.port_guid) return {};
  const auto known = std::find_if(others_.begin(), others_.end(),
                                  [&](const RemoteSm& sm) { return sm.guid == seen.guid; });
  const bool is_news = known == others_.end() || known->state != seen.state;
  const SmState before = known == others_.end() ? SmState::kNotActive : known->state;
  if (known != others_.end()) {
    known->priority = seen.priority;
    known->state = seen.state;
    known->activity_count = seen.activity_count;
  }
  if (!is_news || watched_) return {};  // Of a handover, or a lower master, more is known soon.
  Order order;
  const bool both = seen.state == SmState::kMaster;
  const OwnSm own{state_, priority_, local_port_.port_guid, {}, passed_over_};
  // Where both write nothing is more urgent than to decide who goes on.
  if (both)
    order = Sweep(fmt::format("SM {} is master too", seen.guid));
  else if (known == others_.end())
    order = {Order::Kind::kLookSoon, fmt::format("SM {}, which was not known, asks", seen.guid)};
  else if (Elect(own, others_).kind == ElectionVerdict::Kind::kHandover)
    order = {Order::Kind::kLookSoon,
             fmt::format("SM {} stands by now and is preferred", seen.guid)};
  if (order.kind == Order::Kind::kNothing || budget_.Take(now)) return order;
  if (known != others_.end()) known->state = before;  // It is news again when it is seen again.
  return {};
}

// ---- after a discovery

void Mastership::OnSweepStart() {
  OnRequestsDropped();
  look_.reset();
  looks_ = 0;
  askers_.clear();
  watch_.OnSweepStart();
  watched_.reset();
  poll_out_ = false;
  next_poll_ = kNever;
  if (stepping_down_) stepping_down_->looking = true;
}

void Mastership::OnLightSweep(std::vector<RemoteSm> others, Instant now) {
  others_ = std::move(others);
  if (IsMaster()) watch_.Follow(others_, now);
}

ElectionVerdict Mastership::ElectNow(Instant now) {
  if (now >= passed_over_until_) passed_over_.clear();
  return Elect({state_, priority_, local_port_.port_guid, idle_, passed_over_}, others_);
}

Order Mastership::OnDiscovered(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                               std::vector<RemoteSm> found, const std::vector<Unread>& unread,
                               Instant now) {
  snapshot_ = std::move(snapshot);
  others_ = std::move(found);
  const ElectionVerdict verdict = ElectNow(now);
  if (!Rises(verdict) || !StartLook(unread)) return Follow(verdict, now);
  return look_->done() ? FinishLook(now) : Order();
}

bool Mastership::Rises(const ElectionVerdict& verdict) const {
  return !IsMaster() && (verdict.kind == ElectionVerdict::Kind::kMaster ||
                         verdict.kind == ElectionVerdict::Kind::kTake);
}

// Its SMInfo did not come, or the PortInfo that would have said IsSM.
bool Mastership::MayHideAnSm(const Unread& unread) const {
  if (unread.attribute == wire::AttributeId::kSmInfo) return true;
  const fabric::Node* node = snapshot_->node(unread.port.node);
  return unread.attribute == wire::AttributeId::kPortInfo && node != nullptr && !node->IsSwitch();
}

// There is a link where the SM was that this one stood by for, and what it leads to did not answer.
bool Mastership::IsFormerSilent() const {
  const fabric::Port* port = former_ ? snapshot_->port(former_->behind) : nullptr;
  return port != nullptr && port->IsUp() && port->peer.IsNone();
}

// False: there is nobody to ask.
bool Mastership::StartLook(const std::vector<Unread>& unread) {
  std::vector<LastLook::Question> questions;
  for (const RemoteSm& sm : others_)
    if (sm.guid != local_port_.port_guid && !sm.port.IsNone()) questions.push_back({sm.port, {}});
  for (const Unread& each : unread)
    if (MayHideAnSm(each) && questions.size() < kMostQuestions)
      questions.push_back({each.port, {}, /*was_there=*/false});
  if (IsFormerSilent()) questions.push_back({{}, former_->path, /*was_there=*/false});
  former_.reset();
  for (const wire::DirectedPath& path : std::exchange(askers_, {})) questions.push_back({{}, path});
  if (questions.empty()) return false;
  look_ = std::make_unique<LastLook>(others_, std::move(questions), devices_, engine_,
                                     ContextOf(Ask::kLook));
  look_->Start();
  return true;
}

// One that asked, or was known, and does not answer now: it has died, or the route to it has. What
// it is meanwhile must be known before this SM rises beside it.
Order Mastership::AfterLostLook() {
  ++lost_looks_;
  return Sweep("an SM that was there a moment ago does not answer");
}

Order Mastership::FinishLook(Instant now) {
  const bool lost = look_->lost();
  others_ = std::exchange(look_, nullptr)->sms();
  std::erase_if(others_, [&](const RemoteSm& sm) { return sm.guid == local_port_.port_guid; });
  for (RemoteSm& sm : others_) {
    if (sm.port.IsNone()) sm.port = FindPort(sm.guid);
    if (sm.port.IsNone())
      return {Order::Kind::kGiveUp, fmt::format("SM {} is on a port that was not found", sm.guid)};
  }
  const ElectionVerdict verdict = ElectNow(now);
  if (lost && Rises(verdict) && lost_looks_ < kMostLostLooks) return AfterLostLook();
  // Somebody asked while we asked: whom that concerns only who is about to rise has to know.
  const bool again = Rises(verdict) && !askers_.empty();
  if (again && ++looks_ < kMostLooks && StartLook({}))
    return look_->done() ? FinishLook(now) : Order();
  return Follow(verdict, now);
}

PortRef Mastership::FindPort(Guid port_guid) const {
  PortRef found;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (size_t num = 0; num < node.ports.size(); ++num)
      if (node.ports[num].guid == port_guid && port_guid)
        found = {node.index, PortNum(static_cast<uint8_t>(num))};
  });
  return found;
}

Order Mastership::Follow(const ElectionVerdict& verdict, Instant now) {
  Order order;
  if (Rises(verdict)) {
    order.rose = order.tables_unknown = true;
    lost_looks_ = 0;
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
      missed_polls_ = vain_polls_ = 0;
      next_poll_ = now + std::min(options_.sm.polling_timeout, Duration(std::chrono::seconds(1)));
      order.kind = Order::Kind::kWait;
      break;
  }
  return order;
}

Order Mastership::StandBy(const RemoteSm& other, Instant now) {
  Log(LogLevel::kInfo, fmt::format("SM {} (priority {}, {}) is preferred: standing by", other.guid,
                                   other.priority, wire::SmStateName(other.state)));
  was_handed_over_ = IsMaster();
  SetState(SmState::kStandby);
  watch_.Stop();
  look_.reset();
  lost_handovers_ = 0;
  lost_looks_ = 0;
  watched_ = other;
  master_seen_ = now;
  missed_polls_ = 0;
  poll_out_ = false;
  next_poll_ = now + options_.sm.polling_timeout;
  if (other.state != SmState::kMaster) next_poll_ = std::min(next_poll_, now + kPollOfNoMaster);
  return {Order::Kind::kStandBy};
}

// ---- asking others

Order Mastership::OnCompletion(const mad::Completion& completion, Instant now) {
  switch (completion.context.kind_as<Ask>()) {
    case Ask::kPoll: return OnPollAnswer(completion, now);
    case Ask::kHandover: return OnHandoverAnswer(completion, now);
    case Ask::kLook:
      if (!look_) break;
      look_->OnCompletion(completion);
      if (look_->done()) return FinishLook(now);
      break;
    case Ask::kOwnPort: TellMaster(completion); break;
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
  if (now >= next_poll_) Poll(now);
}

void Mastership::Poll(Instant now) {
  next_poll_ = now + options_.sm.polling_timeout;
  if (!watched_ || poll_out_ || !devices_.Has(watched_->port.node)) return;
  poll_out_ = true;
  auto request = devices_.Get(watched_->port, wire::AttributeId::kSmInfo, 0);
  request.context = ContextOf(Ask::kPoll);
  request.priority = 0;
  engine_.Submit(request);
}

Order Mastership::OnPollAnswer(const mad::Completion& completion, Instant now) {
  poll_out_ = false;
  if (!watched_) return {};
  return IsMaster() ? OnLowerMaster(completion) : OnWatchedMaster(completion, now);
}

// This SM is master and waits for a lower master to hand over.
Order Mastership::OnLowerMaster(const mad::Completion& completion) {
  bool is_gone = false;
  if (IsOk(completion)) {
    is_gone = wire::SmInfo::Decode(completion.response.data).state != SmState::kMaster;
    missed_polls_ = 0;
    if (!is_gone && ++vain_polls_ >= kMostVainPolls)
      return Sweep(fmt::format("SM {} does not hand over", watched_->guid));
  }
  if (!is_gone && (IsOk(completion) || ++missed_polls_ < options_.sm.polling_retries)) return {};
  return Sweep(fmt::format("SM {} is master no longer", watched_->guid));
}

Order Mastership::OnWatchedMaster(const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) {
    if (++missed_polls_ < options_.sm.polling_retries) return {};
    return DiscoverAnew();
  }
  missed_polls_ = 0;
  const auto info = wire::SmInfo::Decode(completion.response.data);
  if (info.state == SmState::kMaster) {
    master_seen_ = now;
    was_handed_over_ = false;
    watched_->state = SmState::kMaster;
    idle_.clear();
    std::erase(passed_over_, watched_->guid);
    const bool lower = !IsHigher(info.priority, watched_->guid, priority_, local_port_.port_guid);
    if (lower && now >= next_trap_) AskOwnPort(), next_trap_ = now + kTrapPeriod;
    return {};
  }
  if (info.state == SmState::kNotActive || IsIdle(info, now)) return DiscoverAnew();
  next_poll_ = std::min(next_poll_, now + kPollOfNoMaster);
  return {};
}

// It answers, and has had the time to become master.
bool Mastership::IsIdle(const wire::SmInfo& watched, Instant now) {
  const bool discovers = watched.state == SmState::kDiscovering;
  if (now - master_seen_ < (discovers ? kTimeToDiscover : kTimeToRise)) return false;
  const auto note = [&](std::vector<Guid>& guids) {
    if (guids.size() >= kMostIdle) guids.erase(guids.begin());
    guids.push_back(watched_->guid);
  };
  // One that was master has handed over: who is master now the discovery shows.
  if (watched_->state == SmState::kMaster) return true;
  note(idle_);
  if (was_handed_over_) note(passed_over_), passed_over_until_ = now + kPassOver;
  return true;
}

Order Mastership::DiscoverAnew() {
  const fabric::Port* port = snapshot_ ? snapshot_->port(watched_->port) : nullptr;
  if (port != nullptr && devices_.Has(watched_->port.node))
    former_ = {devices_.PathTo(watched_->port.node), port->peer};
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
  // One that got it and whose answer was lost is master now: look again before going on as one.
  const bool lost = completion.outcome != mad::Completion::Outcome::kResponse;
  if (lost && ++lost_handovers_ <= kMostLostHandovers)
    return Sweep(fmt::format("SM {} did not answer the handover", other.guid));
  lost_handovers_ = 0;
  // One that has too many of them is to be news again when it is seen again, or both stay masters.
  if (!lost && (completion.status & wire::kStatusBusy) != 0) {
    for (RemoteSm& sm : others_)
      if (sm.guid == other.guid) sm.state = SmState::kDiscovering;
    watch_.Follow(others_, now);
  }
  Log(LogLevel::kWarning, fmt::format("SM {} did not take the handover ({}): staying master",
                                      other.guid, WhyNot(completion)));
  return {Order::Kind::kProgram};
}

// ---- told by operators

void Mastership::Answer(uint64_t command, absl::Status status, MastershipOutcome outcome) {
  std::shared_ptr<const MastershipOutcome> told;
  if (status.ok()) told = std::make_shared<const MastershipOutcome>(std::move(outcome));
  effects_.finished.push_back({command, std::move(status), nullptr, nullptr, std::move(told)});
}

// The new one is shown by the next answer to SMInfo, which every master asks for from time to time;
// to one that is stood by for, a trap tells it at once (IBA vol 1 §14.2.5.1, trap 144).
void Mastership::ChangePriority(uint8_t priority) {
  if (priority == priority_) return;
  Log(LogLevel::kInfo, fmt::format("SM priority {} -> {}", priority_, priority));
  priority_ = priority;
  if (state_ == SmState::kStandby) AskOwnPort();
}

// For TellMaster().
void Mastership::AskOwnPort() {
  if (!snapshot_) return;
  const PortRef own = FindPort(local_port_.port_guid);
  if (own.IsNone() || !devices_.Has(own.node)) return;
  // Its LIDs are the master's to give, and were perhaps given after this SM's discovery.
  auto request = devices_.Get(own, wire::AttributeId::kPortInfo, 0);
  request.context = ContextOf(Ask::kOwnPort);
  request.priority = 0;
  engine_.Submit(request);
}

// Once: a master that does not hear it reads the priority with its next light sweep.
void Mastership::TellMaster(const mad::Completion& own_port) {
  if (state_ != SmState::kStandby || !IsOk(own_port)) return;
  const auto info = wire::PortInfo::Decode(own_port.response.data);
  if (!info.lid || !info.master_sm_lid) return;
  wire::Smp trap;
  trap.method = wire::Method::kTrap;
  trap.attribute = wire::AttributeId::kNotice;
  last_trap_ = mad::NextTransactionId(last_trap_);
  trap.tid = TransactionId(last_trap_);
  wire::Notice::OfSmPriority(info.lid, info.capability_mask, info.capability_mask2)
      .Encode(trap.data);
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kSmpLid;
  mad.to.lid = info.master_sm_lid;
  mad.to.sl = ServiceLevel(info.master_sm_sl);
  mad.payload.resize(wire::kMadBytes);
  trap.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  effects_.send.push_back(std::move(mad));
}

Order Mastership::On(const SetPriority& command) {
  MastershipOutcome outcome{priority_, command.priority, std::nullopt, false};
  std::vector<RemoteSm> settled = others_;  // Who discovers will stand by.
  for (RemoteSm& sm : settled)
    if (sm.state == SmState::kDiscovering) sm.state = SmState::kStandby;
  const ElectionVerdict verdict =
      Elect({state_, command.priority, local_port_.port_guid, idle_, passed_over_}, settled);
  const bool yields = IsMaster() && verdict.kind == ElectionVerdict::Kind::kHandover;
  if (yields) outcome.successor = verdict.other;
  if (!command.validate_only) ChangePriority(command.priority);
  Answer(command.command, absl::OkStatus(), std::move(outcome));
  // Who is handed the subnet is read once more before.
  if (!yields || command.validate_only) return {};
  return {Order::Kind::kLookSoon, "another SM is preferred now"};
}

// Null: nobody stands by. Who was discovering when it was last seen stands by now, or will.
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
  if (!command.request_id.empty() && command.request_id == last_request_) {
    MastershipOutcome again = last_outcome_;
    again.existing = true;
    Answer(command.command, absl::OkStatus(), std::move(again));
    return {};
  }
  if (!IsMaster()) {
    Answer(command.command, FailedPrecondition("this SM is {}: only the master can step down",
                                               wire::SmStateName(state_)));
    return {};
  }
  if (stepping_down_ && !command.validate_only) {
    stepping_down_->commands.push_back(command.command);
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
  stepping_down_ = {{command.command}, command.request_id, std::move(outcome), false};
  return {Order::Kind::kLookSoon, "stepping down"};
}

void Mastership::OnSweepEnd() {
  const bool is_over = !IsMaster() || (stepping_down_ && stepping_down_->looking);
  if (!stepping_down_ || !is_over) return;
  SteppingDown done = *std::exchange(stepping_down_, std::nullopt);
  absl::Status status;
  if (IsMaster()) {
    status = absl::AbortedError(fmt::format("SM {} has not taken the subnet: this SM stays master",
                                            done.outcome.successor->guid));
    // Unless somebody has meant another one meanwhile.
    if (priority_ == done.outcome.priority) ChangePriority(done.outcome.before);
  } else {
    if (watched_) done.outcome.successor = watched_;
    done.outcome.priority = priority_;
    last_request_ = done.request_id;
    last_outcome_ = done.outcome;
  }
  for (uint64_t command : done.commands) Answer(command, status, done.outcome);
}

}  // namespace fabricd::sweep
