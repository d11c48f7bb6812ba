// SPDX-License-Identifier: Apache-2.0
// The way of a MAD through the fabric, hop by hop.
#include <algorithm>
#include <span>

#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::Method;
using wire::PortState;

// Byte offsets of a directed-route SMP (IBA vol 1 §14.2.1.2).
constexpr size_t kBaseVersionAt = 0;
constexpr size_t kClassVersionAt = 2;
constexpr size_t kDirectionAt = 4;  // Bit 7
constexpr size_t kHopPointerAt = 6;
constexpr size_t kHopCountAt = 7;
constexpr size_t kAttributeAt = 16;
constexpr size_t kDrSlidAt = 32;
constexpr size_t kDrDlidAt = 34;
constexpr size_t kInitialPathAt = 128;
constexpr size_t kReturnPathAt = 192;
constexpr uint8_t kDirectionBit = 0x80;

uint16_t Word(const std::vector<uint8_t>& bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

bool IsReturning(const std::vector<uint8_t>& bytes) {
  return (bytes[kDirectionAt] & kDirectionBit) != 0;
}

}  // namespace

void SimFabric::Carry(Packet packet) {
  while (Step(packet)) {
    if (!packet.origin && !Continues(packet)) return;
  }
}

// A packet that has crossed a link: true when it is at the other end now, else it is on its way or
// lost.
bool SimFabric::Continues(Packet& packet) {
  Duration wait = options_.link_latency;
  if (packet.hops == 1 && !MeetsFate(packet, wait)) return false;
  if (wait == Duration::zero()) return true;
  Hold(std::move(packet), wait);
  return false;
}

// Draws what becomes of a MAD that has just left its node; false: it is lost.
bool SimFabric::MeetsFate(const Packet& packet, Duration& wait) {
  const MadFaults& faults = mad_faults_;
  const auto up_to = [this](Duration limit) {
    return limit > Duration::zero() ? Duration(rng_.Below(static_cast<uint64_t>(limit.count()) + 1))
                                    : Duration::zero();
  };
  const bool is_trap = packet.IsSmp() && packet.method() == static_cast<uint8_t>(Method::kTrap);
  if ((faults.loss > 0 && rng_.Chance(LossOf(packet, faults.loss))) ||
      (is_trap && faults.trap_loss > 0 && rng_.Chance(faults.trap_loss))) {
    ++stats_.lost_by_fault;
    return false;
  }
  wait += faults.delay + up_to(faults.jitter);
  if (faults.reorder > 0 && rng_.Chance(faults.reorder)) wait += up_to(faults.hold);
  if (faults.duplicate > 0 && packet.segments == 0 && rng_.Chance(faults.duplicate)) {
    ++stats_.duplicated;
    Hold(packet, wait + up_to(faults.jitter));
  }
  return true;
}

// It goes on from where it is after `wait`.
void SimFabric::Hold(Packet packet, Duration wait) {
  uint32_t slot = static_cast<uint32_t>(in_flight_.size());
  if (free_slots_.empty()) {
    in_flight_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  in_flight_[slot] = std::move(packet);
  Schedule({now_ + wait, Event::Kind::kArrive, {}, slot, 0});
}

// True: the packet has moved over a link, or has turned into a response that is to leave here.
bool SimFabric::Step(Packet& packet) {
  const NodeState& state = nodes_[packet.at.node.value()];
  if (!state.running || (packet.deferred && packet.power_cycle != state.power_cycles)) {
    ++stats_.lost_link_down;
    return false;
  }
  if (packet.deferred) return Consume(packet);
  if (packet.IsMulticast()) {
    Replicate(packet);
    return false;
  }
  PortNum egress;
  const Hop hop = packet.directed ? DirectedHop(packet, egress) : RoutedHop(packet, egress);
  switch (hop) {
    case Hop::kLost: return false;
    case Hop::kConsume: return Consume(packet);
    case Hop::kForward: return Cross(packet, egress);
  }
  return false;
}

// IBA vol 1 §14.2.2.
SimFabric::Hop SimFabric::DirectedHop(Packet& packet, PortNum& egress) {
  std::vector<uint8_t>& bytes = packet.bytes;
  const uint8_t count = bytes[kHopCountAt];
  uint8_t& pointer = bytes[kHopPointerAt];
  const bool permissive = Word(bytes, kDrSlidAt) == kPermissiveLid.value() &&
                          Word(bytes, kDrDlidAt) == kPermissiveLid.value();
  if (count > wire::DirectedPath::kMaxHops || !permissive) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  if (IsReturning(bytes)) return DirectedReturn(packet, egress);
  const SimDevice& node = Device(packet.at.node);
  if (packet.origin) {
    // A CA sends by the port that the program sits on, whatever the path says.
    const bool wrong_port =
        count > 0 && !node.IsSwitch() && bytes[kInitialPathAt + 1] != packet.at.port.value();
    if (pointer != 0 || wrong_port) {
      ++stats_.lost_bad_route;
      return Hop::kLost;
    }
  } else {
    if (pointer < 1 || pointer > count) {
      ++stats_.lost_bad_route;
      return Hop::kLost;
    }
    bytes[kReturnPathAt + pointer] = packet.at.port.value();
  }
  ++pointer;
  if (pointer == count + 1) return Hop::kConsume;
  egress = PortNum(bytes[kInitialPathAt + pointer]);
  // Only switches forward, and never into their own port 0.
  if ((!packet.origin && !node.IsSwitch()) || egress.value() == 0) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  return Hop::kForward;
}

SimFabric::Hop SimFabric::DirectedReturn(Packet& packet, PortNum& egress) {
  std::vector<uint8_t>& bytes = packet.bytes;
  const uint8_t count = bytes[kHopCountAt];
  uint8_t& pointer = bytes[kHopPointerAt];
  const bool legal = packet.origin ? pointer == count + 1 : pointer >= 1 && pointer <= count;
  if (!legal) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  --pointer;
  if (pointer == 0) return Hop::kConsume;
  egress = PortNum(bytes[kReturnPathAt + pointer]);
  if ((!packet.origin && !Device(packet.at.node).IsSwitch()) || egress.value() == 0) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  return Hop::kForward;
}

bool SimFabric::Cross(Packet& packet, PortNum egress) {
  const PortRef from{packet.at.node, egress};
  if (!PortExists(from) || Port(from).info.port_state < PortState::kInit) {
    ++stats_.lost_link_down;
    return false;
  }
  if (!link_loss_.empty()) {
    const auto loss = link_loss_.find(from);
    if (loss != link_loss_.end() && rng_.Chance(LossOf(packet, loss->second))) {
      ++stats_.lost_by_fault;
      return false;
    }
  }
  if (packet.origin) packet.from = from;
  packet.at = Port(from).cable;
  packet.origin = false;
  ++packet.hops;
  return true;
}

bool SimFabric::Consume(Packet& packet) {
  const SimDevice& node = Device(packet.at.node);
  // A switch's own program sits behind port 0, wherever the MAD came in.
  const PortRef host_port{packet.at.node, node.ManagementPort(packet.at.port)};
  Host* host = FindHost(host_port);
  const Method method = static_cast<Method>(packet.method());
  const bool request = method == Method::kGet || method == Method::kSet;
  const bool for_sm =
      static_cast<AttributeId>(Word(packet.bytes, kAttributeAt)) == AttributeId::kSmInfo &&
      request && host != nullptr && host->is_sm;
  const bool response = (packet.method() & wire::kResponseBit) != 0;
  if (!packet.IsSmp() || response || method == Method::kTrap || for_sm) {
    DeliverToHost(std::move(packet), host);
    return false;
  }
  NodeState& state = nodes_[packet.at.node.value()];
  const Instant ready = std::max(now_ + node.answer_delay(), state.busy_until);
  if (ready > now_ && !packet.deferred) {
    state.busy_until = ready;
    packet.deferred = true;
    packet.power_cycle = state.power_cycles;
    Hold(std::move(packet), ready - now_);
    return false;
  }
  packet.deferred = false;
  return AnswerAsDevice(packet, packet.origin ? host_port.port : packet.at.port);
}

bool SimFabric::AnswerAsDevice(Packet& packet, PortNum ingress) {
  const std::span<uint8_t, wire::kMadBytes> bytes(packet.bytes.data(), wire::kMadBytes);
  std::optional<wire::Smp> smp = wire::Smp::Decode(bytes);
  if (!smp) return false;
  SimDevice& node = Device(packet.at.node);
  std::optional<wire::Smp> request;
  if (observer_ != nullptr) request = *smp;
  const AttributeId attribute = smp->attribute;
  const Method method = smp->method;
  const SimPort& management = node.port(node.ManagementPort(ingress));
  effects_.Clear();
  if (bytes[kBaseVersionAt] != 1 || bytes[kClassVersionAt] != 1) {
    smp->status = wire::kStatusBadVersion;
    smp->method = Method::kGetResp;
    effects_.reply = true;
  } else if (attribute == AttributeId::kSmInfo && management.scripted_sm &&
             method == Method::kGet) {
    management.scripted_sm->Encode(smp->data);
    smp->method = Method::kGetResp;
    smp->status = wire::kStatusOk;
    effects_.reply = true;
  } else {
    node.Answer(now_, ingress, *smp, effects_);
  }
  CountSmp(attribute, method, *smp);
  ApplyEffects(packet.at.node);
  if (!effects_.reply) {
    if (effects_.m_key_violation) {
      ++stats_.lost_m_key;
      RaiseTrap({{packet.at.node, node.ManagementPort(ingress)}, wire::kTrapBadMKey},
                BadMKeyDetails(packet, *smp));
    }
    return false;
  }
  if (observer_ != nullptr) {
    const PortRef sender = packet.origin ? packet.at : packet.from;
    observer_->OnServed(
        {now_, sender, {packet.at.node, ingress}, *request, *smp, effects_.changed});
  }
  smp->returning = packet.directed;
  smp->Encode(bytes);
  packet.origin = true;
  packet.at.port = packet.directed ? ingress : node.ManagementPort(ingress);
  packet.hops = 0;
  if (!packet.directed) {
    packet.dlid = packet.slid;
    packet.slid = management.info.lid;
  }
  return true;
}

void SimFabric::CountSmp(AttributeId attribute, Method method, const wire::Smp& answer) {
  SimStats::Attribute& counts = stats_.smps[attribute];
  if (method == Method::kGet) ++counts.gets;
  if (method == Method::kSet) ++counts.sets;
  if (effects_.reply && answer.status != wire::kStatusOk) {
    ++counts.refused;
  } else if (method == Method::kSet && effects_.reply && !effects_.changed) {
    ++counts.idle_sets;
  }
}

void SimFabric::ApplyEffects(NodeIndex node) {
  // Events of their own, so that the response leaves before the link that carries it goes down.
  for (const LinkRequest& request : effects_.links) {
    Schedule({now_,
              Event::Kind::kLinkRequest,
              {node, request.port},
              static_cast<uint64_t>(request.to),
              0});
  }
  for (mad::LocalPortEvent::Kind kind : effects_.events) {
    DeliverEvent({node, effects_.events_port}, kind);
  }
  if (effects_.repressed) Repress(node, *effects_.repressed);
}

}  // namespace fabricd::sim
