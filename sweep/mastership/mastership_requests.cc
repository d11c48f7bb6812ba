// SPDX-License-Identifier: Apache-2.0
// Requests of other SMs: Get and Set of SMInfo.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "mad/replies.h"
#include "sweep/mastership/mastership.h"

namespace fabricd::sweep {

using wire::SmState;
using Order = Mastership::Order;

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
    return Order::Sweep(fmt::format("SM {} asks to discover", sender.guid));
  }
  if (next != state_) {
    SetState(next);
    poll_.Schedule(next == SmState::kStandby ? now : kNever);
  }
  return {};
}

// Restarts a discovery under way: it may have read the sender as master.
Order Mastership::OnHandoverRequest(Guid from) {
  Order order = Order::Sweep(fmt::format("handover from SM {}", from));
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
  if (seen.state == SmState::kMaster) shared_.last_master.OnAnswer(seen.guid, seen.state, now);
  if (!is_change || watched_) return {};  // A pending handover or lower master is decided soon.
  Order order;
  const bool both = seen.state == SmState::kMaster;
  const OwnSm own{state_, priority_, local_port_.port_guid, {}, patience_.passed_over()};
  // If both are masters and write, the decision between them is most urgent.
  if (both)
    order = Order::Sweep(fmt::format("SM {} is master too", seen.guid));
  else if (known == others_.end())
    order = {Order::Kind::kLookSoon, fmt::format("SM {}, which was not known, asks", seen.guid)};
  else if (Elect(own, others_).kind == ElectionVerdict::Kind::kHandover)
    order = {Order::Kind::kLookSoon, fmt::format("SM {} (priority {}) stands by and is preferred",
                                                 seen.guid, seen.priority)};
  if (order.kind == Order::Kind::kNothing || budget_.Take(now)) return order;
  if (known != others_.end()) *known = before;  // To notice the change again.
  return {};
}

}  // namespace fabricd::sweep
