// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "mad/wire/notice.h"
#include "sweep/completion.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;
using Order = Mastership::Order;

constexpr int kAskShift = 56;
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

Order Sweep(std::string why) { return {Order::Kind::kSweep, std::move(why)}; }

}  // namespace

Mastership::Mastership(const CoreOptions& options, const mad::LocalPort& local,
                       const DeviceTable& devices, mad::TransactionEngine& engine, Effects& effects,
                       uint64_t cookie_base)
    : options_(options),
      local_port_(local),
      devices_(devices),
      engine_(engine),
      effects_(effects),
      cookie_base_(cookie_base),
      priority_(options.sm.priority) {}

uint64_t Mastership::CookieOf(Ask ask) const {
  return cookie_base_ | static_cast<uint64_t>(ask) << kAskShift;
}

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

Order Mastership::OnRequest(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now,
                            std::vector<mad::OutgoingMad>& send) {
  ++activity_count_;
  wire::Smp response = smp;
  Own().Encode(response.data);
  if (smp.method == wire::Method::kGet) {
    send.push_back(mad::MakeSmpResponse(mad, response));
    if (state_ == SmState::kDiscovering) NoteAsker(smp);
    if (IsStranger(smp, now)) return {Order::Kind::kLookSoon, "an SM that is not known asks"};
    return {};
  }
  const auto sent = wire::SmInfo::Decode(smp.data);
  const auto control = static_cast<wire::SmControl>(smp.modifier);
  auto next = StateAfterControl(state_, control);
  if (sent.sm_key != options_.sm.sm_key) next.reset();
  if (!next) response.status = wire::kStatusInvalidAttributeValue;
  send.push_back(mad::MakeSmpResponse(mad, response));
  if (!next) {
    Log(LogLevel::kWarning, fmt::format("SM {} sent Set SMInfo {} in state {}: refused", sent.guid,
                                        smp.modifier, wire::SmStateName(state_)));
    return {};
  }
  Log(LogLevel::kInfo, fmt::format("SM {} sent Set SMInfo {}", sent.guid, smp.modifier));
  if (control == wire::SmControl::kHandover) return OnHandoverRequest(sent.guid);
  if (control == wire::SmControl::kDiscover) {
    SetState(SmState::kDiscovering);
    return Sweep(fmt::format("SM {} asks to discover", sent.guid));
  }
  if (*next != state_) {
    SetState(*next);
    next_poll_ = *next == SmState::kStandby ? now : kNever;
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

// Another SM is about, perhaps one that started behind the discovery's back.
void Mastership::NoteAsker(const wire::Smp& request) {
  const bool local = request.path && request.path->hops() == 0;  // A tool on this very node.
  if (!request.path || local || askers_.size() >= kMostAskers) return;
  wire::DirectedPath back;
  for (size_t hop = request.path->hops(); hop > 0; --hop)
    back = back.Then(PortNum(request.return_path[hop]));
  if (std::find(askers_.begin(), askers_.end(), back) == askers_.end()) askers_.push_back(back);
}

// A master that knows no other SM is asked by one: it came when traps were lost, or two parts of a
// fabric have met and the other master waits for this one to hand over.
bool Mastership::IsStranger(const wire::Smp& request, Instant now) {
  const bool remote = request.path && request.path->hops() > 0;
  const bool knows_any = std::any_of(others_.begin(), others_.end(), [this](const RemoteSm& sm) {
    return sm.guid != local_port_.port_guid;
  });
  if (!IsMaster() || !remote || knows_any || now < next_stranger_) return false;
  next_stranger_ = now + options_.sm.polling_timeout;  // A tool may ask, and ask again.
  return true;
}

// ---- after a discovery

void Mastership::OnSweepStart() {
  look_.reset();
  looks_ = 0;
  askers_.clear();
  watched_.reset();
  poll_out_ = false;
  next_poll_ = kNever;
  if (stepping_down_) stepping_down_->looking = true;
}

ElectionVerdict Mastership::ElectNow() const {
  return Elect({state_, priority_, local_port_.port_guid}, others_);
}

Order Mastership::OnDiscovered(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                               std::vector<RemoteSm> found, const std::vector<Unread>& unread,
                               Instant now) {
  snapshot_ = std::move(snapshot);
  others_ = std::move(found);
  const ElectionVerdict verdict = ElectNow();
  const bool to_rise = verdict.kind == ElectionVerdict::Kind::kMaster && !IsMaster();
  if (!to_rise || !StartLook(unread)) return Follow(verdict, now);
  return look_->done() ? FinishLook(now) : Order();
}

// Its SMInfo did not come, or the PortInfo that would have said IsSM.
bool Mastership::MayHideAnSm(const Unread& unread) const {
  if (unread.attribute == wire::AttributeId::kSmInfo) return true;
  const fabric::Node* node = snapshot_->node(unread.port.node);
  return unread.attribute == wire::AttributeId::kPortInfo && node != nullptr && !node->IsSwitch();
}

// False: there is nobody to ask.
bool Mastership::StartLook(const std::vector<Unread>& unread) {
  std::vector<LastLook::Question> questions;
  for (const RemoteSm& sm : others_)
    if (sm.guid != local_port_.port_guid && !sm.port.IsNone()) questions.push_back({sm.port, {}});
  for (const Unread& each : unread)
    if (MayHideAnSm(each) && questions.size() < kMostQuestions)
      questions.push_back({each.port, {}});
  for (const wire::DirectedPath& path : std::exchange(askers_, {})) questions.push_back({{}, path});
  if (questions.empty()) return false;
  look_ = std::make_unique<LastLook>(others_, std::move(questions), devices_, engine_,
                                     CookieOf(Ask::kLook));
  look_->Start();
  return true;
}

Order Mastership::FinishLook(Instant now) {
  others_ = std::exchange(look_, nullptr)->sms();
  std::erase_if(others_, [&](const RemoteSm& sm) { return sm.guid == local_port_.port_guid; });
  for (RemoteSm& sm : others_) {
    if (sm.port.IsNone()) sm.port = FindPort(sm.guid);
    if (sm.port.IsNone())
      return {Order::Kind::kGiveUp, fmt::format("SM {} is on a port that was not found", sm.guid)};
  }
  const ElectionVerdict verdict = ElectNow();
  // Somebody asked while we asked: whom that concerns only who is about to rise has to know.
  const bool again = verdict.kind == ElectionVerdict::Kind::kMaster && !askers_.empty();
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
  switch (verdict.kind) {
    case ElectionVerdict::Kind::kMaster:
      order.kind = Order::Kind::kProgram;
      order.rose = order.tables_unknown = !IsMaster();
      SetState(SmState::kMaster);
      break;
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
  SetState(SmState::kStandby);
  look_.reset();
  lost_handovers_ = 0;
  watched_ = other;
  missed_polls_ = 0;
  poll_out_ = false;
  next_poll_ = now + options_.sm.polling_timeout;
  return {Order::Kind::kStandBy};
}

// ---- asking others

Order Mastership::OnCompletion(const mad::Completion& completion, Instant now) {
  switch (static_cast<Ask>(completion.cookie >> kAskShift & 0xF)) {
    case Ask::kPoll: return OnPollAnswer(completion);
    case Ask::kHandover: return OnHandoverAnswer(completion, now);
    case Ask::kLook:
      if (!look_) break;
      look_->OnCompletion(completion);
      if (look_->done()) return FinishLook(now);
      break;
    case Ask::kOwnPort: TellMaster(completion); break;
  }
  return {};
}

void Mastership::OnTimer(Instant now) {
  next_poll_ = now + options_.sm.polling_timeout;
  if (!watched_ || poll_out_ || !devices_.Has(watched_->port.node)) return;
  poll_out_ = true;
  auto request = devices_.Get(watched_->port, wire::AttributeId::kSmInfo, 0);
  request.cookie = CookieOf(Ask::kPoll);
  request.priority = 0;
  engine_.Submit(request);
}

Order Mastership::OnPollAnswer(const mad::Completion& completion) {
  poll_out_ = false;
  if (!watched_) return {};
  const bool waiting = IsMaster();  // For a lower master to hand over.
  if (IsOk(completion)) {
    const auto info = wire::SmInfo::Decode(completion.response.data);
    const bool is_master = info.state == SmState::kMaster;
    if (waiting ? !is_master : info.state == SmState::kNotActive) {
      missed_polls_ = options_.sm.polling_retries;  // It has given up: no reason to wait longer.
    } else if (is_master) {
      missed_polls_ = 0;
      if (waiting && ++vain_polls_ >= kMostVainPolls)
        return Sweep(fmt::format("SM {} does not hand over", watched_->guid));
      return {};
    }
  }
  if (++missed_polls_ <= options_.sm.polling_retries) return {};
  if (!waiting) SetState(SmState::kDiscovering);
  return Sweep(fmt::format("SM {} is master no longer", watched_->guid));
}

void Mastership::HandOver(const RemoteSm& other) {
  Log(LogLevel::kInfo,
      fmt::format("handing over to SM {} (priority {})", other.guid, other.priority));
  watched_ = other;
  auto request = devices_.Set(other.port, static_cast<uint32_t>(wire::SmControl::kHandover), Own());
  request.cookie = CookieOf(Ask::kHandover);
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
  if (state_ != SmState::kStandby || !snapshot_) return;
  const PortRef own = FindPort(local_port_.port_guid);
  if (own.IsNone() || !devices_.Has(own.node)) return;
  // Its LIDs are the master's to give, and were perhaps given after this SM's discovery.
  auto request = devices_.Get(own, wire::AttributeId::kPortInfo, 0);
  request.cookie = CookieOf(Ask::kOwnPort);
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
  trap.tid = TransactionId(++traps_sent_);
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
  const ElectionVerdict verdict = Elect({state_, command.priority, local_port_.port_guid}, others_);
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
