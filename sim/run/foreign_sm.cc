// SPDX-License-Identifier: Apache-2.0
#include "sim/run/foreign_sm.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "mad/replies.h"
#include "mad/wire/tables.h"
#include "sim/faults/directed_path.h"
#include "sweep/mastership/election.h"

namespace fabricd::sim {
namespace {

using wire::SmControl;
using wire::SmState;

constexpr Duration kLook = std::chrono::seconds(1);  // Also how long a discovery takes.
constexpr Duration kTimeout = std::chrono::milliseconds(200);
constexpr Duration kPoll = std::chrono::seconds(10);  // OpenSM's sminfo_polling_timeout,
constexpr int kPollRetries = 4;                       // and polling_retry_number.

}  // namespace

ForeignSm::ForeignSm(SimFabric& fabric, PortRef host, uint8_t priority, uint64_t seed, Peers peers)
    : fabric_(fabric), host_(host), peers_(std::move(peers)), rng_(seed) {
  info_.guid = fabric.device(host.node)->port(host.port).guid;
  info_.sm_key = SmKey(1);
  info_.priority = priority;
  info_.state = SmState::kNotActive;
}

void ForeignSm::Appear(Instant now) {
  Become(SmState::kDiscovering);
  fabric_.SetIsSm(now, host_, true);
  next_ = now + kLook;
}

void ForeignSm::Leave(Instant now) {
  Become(SmState::kNotActive);
  fabric_.SetIsSm(now, host_, false);
  next_ = kNever;
}

void ForeignSm::OnTimer(Instant now) {
  next_ = now + kLook;
  ++info_.activity_count;
  handing_over_ = false;
  if (is_busy(now)) return;
  const std::vector<Peer> peers = peers_();
  switch (info_.state) {
    case SmState::kMaster: return ActAsMaster(now, WithKey(peers));
    case SmState::kStandby: return PollMaster(now, WithKey(peers));
    case SmState::kDiscovering: return read_ ? Decide(now) : Look(now, peers);
    default: return;
  }
}

// Without those that have shown another SM_Key than this one's, which it ignores.
std::vector<ForeignSm::Peer> ForeignSm::WithKey(std::vector<Peer> peers) const {
  std::erase_if(peers, [this](const Peer& peer) { return keyless_.contains(peer.guid); });
  return peers;
}

// The highest of those that rank above; it may be null.
const ForeignSm::Peer* ForeignSm::Higher(const std::vector<Peer>& peers) const {
  const Peer* higher = nullptr;
  for (const Peer& peer : peers) {
    const uint8_t priority = higher != nullptr ? higher->priority : info_.priority;
    const Guid guid = higher != nullptr ? higher->guid : info_.guid;
    if (peer.state != SmState::kNotActive &&
        sweep::IsHigher(peer.priority, peer.guid, priority, guid))
      higher = &peer;
  }
  return higher;
}

void ForeignSm::ActAsMaster(Instant now, const std::vector<Peer>& peers) {
  if (const Peer* higher = Higher(peers)) return HandOver(now, *higher);
  const auto master = std::find_if(peers.begin(), peers.end(),
                                   [](const Peer& peer) { return peer.state == SmState::kMaster; });
  if (master != peers.end())
    Ask(now, *master);  // A lower one, whose handover it waits for.
  else
    WriteSomeTable(now);
}

void ForeignSm::Look(Instant now, const std::vector<Peer>& peers) {
  for (const Peer& peer : peers) Ask(now, peer);
  read_ = peers;
}

// By what was read: who has changed since is not noticed.
void ForeignSm::Decide(Instant now) {
  const std::vector<Peer> peers = WithKey(*std::exchange(read_, std::nullopt));
  const Peer* better = Higher(peers);
  for (const Peer& peer : peers)
    if (peer.state == SmState::kMaster) better = &peer;
  if (better == nullptr) return Become(SmState::kMaster);
  deferred_to_ = better->guid;
  missed_polls_ = 0;
  next_poll_ = now + kPoll;
  Become(SmState::kStandby);
}

void ForeignSm::PollMaster(Instant now, const std::vector<Peer>& peers) {
  if (now < next_poll_) return;
  next_poll_ = now + kPoll;
  const auto polled = std::find_if(peers.begin(), peers.end(),
                                   [this](const Peer& peer) { return peer.guid == deferred_to_; });
  if (polled != peers.end()) Ask(now, *polled);
  if (polled != peers.end() && polled->state == SmState::kMaster)
    missed_polls_ = 0;
  else if (++missed_polls_ > kPollRetries)
    Become(SmState::kDiscovering);
}

void ForeignSm::Ask(Instant now, const Peer& peer) {
  if (peer.state == SmState::kNotActive) return;
  const auto path = FindPath(fabric_, host_, peer.host.node);
  if (!path) return;
  wire::Smp smp;
  smp.attribute = wire::AttributeId::kSmInfo;
  Send(now, std::move(smp), *path);
}

void ForeignSm::OnDelivery(Instant now, const Delivery& delivery) {
  const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
  if (mad == nullptr || mad->payload.size() < wire::kMadBytes) return;
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad->payload.data(), wire::kMadBytes));
  if (!smp || mad->kind != mad::IncomingMad::Kind::kReceived) return;
  if (smp->attribute != wire::AttributeId::kSmInfo || is_busy(now)) return;
  if (smp->method == wire::Method::kGet || smp->method == wire::Method::kSet) {
    Answer(now, *mad, *smp);
  } else if (smp->method == wire::Method::kGetResp && smp->modifier == 0) {
    const auto info = wire::SmInfo::Decode(smp->data);
    if (info.sm_key == info_.sm_key)
      keyless_.erase(info.guid);
    else
      keyless_.insert(info.guid);
  } else if (smp->method == wire::Method::kGetResp && smp->status == wire::kStatusOk &&
             smp->modifier == static_cast<uint32_t>(SmControl::kHandover) &&
             std::exchange(handing_over_, false)) {
    deferred_to_ = wire::SmInfo::Decode(smp->data).guid;
    missed_polls_ = 0;
    next_poll_ = now + kPoll;
    Become(SmState::kStandby);
  }
}

void ForeignSm::Answer(Instant now, const mad::IncomingMad& request, wire::Smp smp) {
  if (info_.state == SmState::kNotActive) return;
  if (smp.method == wire::Method::kSet) {
    const auto control = static_cast<SmControl>(smp.modifier);
    const auto next = sweep::StateAfterControl(info_.state, control);
    const bool ignored = info_.state == SmState::kDiscovering && control == SmControl::kHandover;
    if (next && !ignored)
      Become(*next);
    else if (!next)
      smp.status = wire::kStatusInvalidAttributeValue;
  }
  info_.Encode(smp.data);
  const absl::Status sent = fabric_.Send(now, host_, mad::MakeSmpResponse(request, smp));
  FABRICD_CHECK(sent.ok(), "{}", Message(sent));
}

void ForeignSm::HandOver(Instant now, const Peer& to) {
  const auto path = FindPath(fabric_, host_, to.host.node);
  if (!path) return;
  wire::Smp smp;
  smp.method = wire::Method::kSet;
  smp.attribute = wire::AttributeId::kSmInfo;
  smp.modifier = static_cast<uint32_t>(SmControl::kHandover);
  info_.Encode(smp.data);
  handing_over_ = true;
  Send(now, std::move(smp), *path);
}

// Makes itself the master of some switch, then writes a block there, with every LID to its port 1.
void ForeignSm::WriteSomeTable(Instant now) {
  const NodeIndex node(static_cast<uint32_t>(rng_.Below(fabric_.node_index_end())));
  const SimDevice* device = fabric_.device(node);
  const auto path =
      device != nullptr && device->IsSwitch() ? FindPath(fabric_, host_, node) : std::nullopt;
  const Lid own = fabric_.device(host_.node)->port(host_.port).info.lid;
  if (!path || !own) return;
  wire::Smp smp;
  smp.method = wire::Method::kSet;
  smp.attribute = wire::AttributeId::kPortInfo;
  wire::PortInfo info = device->port(PortNum(0)).info;
  info.master_sm_lid = own;
  info.port_state = wire::PortState::kNoChange;
  info.port_physical_state = wire::PortPhysicalState::kNoChange;
  info.client_reregister = false;
  info.Encode(smp.data);
  Send(now, smp, *path);
  wire::LinearForwardingTable block;
  block.port.fill(1);
  smp.attribute = wire::AttributeId::kLinearForwardingTable;
  block.Encode(smp.data);
  Send(now, std::move(smp), *path);
}

void ForeignSm::Send(Instant now, wire::Smp smp, const wire::DirectedPath& path) {
  smp.tid = TransactionId(next_id_++);
  smp.path = path;
  mad::OutgoingMad mad;
  mad.timeout = kTimeout;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  const absl::Status sent = fabric_.Send(now, host_, std::move(mad));
  FABRICD_CHECK(sent.ok(), "{}", Message(sent));
}

}  // namespace fabricd::sim
