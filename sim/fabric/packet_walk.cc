// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/packet_walk.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/p_key.h"
#include "sim/fabric/rmpp_model.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::Method;
using wire::PortState;

// Byte offsets of a directed-route SMP (IBA vol 1 §14.2.1.2).
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

// Data packets need ACTIVE at the sending end, SMPs (VL15) only a link (§7.2.7).
bool Sends(PortState state, bool smp) {
  return smp ? state >= PortState::kInit : state == PortState::kActive;
}

constexpr uint64_t kTelemetrySeed = 0x040A;

Duration DrawUpTo(Duration limit, Rng& rng) {
  return limit > Duration::zero() ? Duration(rng.Below(static_cast<uint64_t>(limit.count()) + 1))
                                  : Duration::zero();
}

}  // namespace

PacketWalk::PacketWalk(Options options, SimNodes& nodes, EventQueue& queue, TrapSender& traps,
                       HostPorts& hosts, LinkModel& links, OutsidePorts& outside,
                       DeviceAgents& agents, SimStats& stats)
    : options_(options),
      nodes_(nodes),
      queue_(queue),
      traps_(traps),
      hosts_(hosts),
      links_(links),
      outside_(outside),
      agents_(agents),
      stats_(stats),
      rng_(options.seed),
      telemetry_rng_(Rng(options.seed ^ kTelemetrySeed).Next()) {}

void PacketWalk::Carry(Packet packet) {
  while (Step(packet)) {
    if (!packet.origin && !Continues(packet)) return;
  }
}

void PacketWalk::CarryFromOutside(Packet packet) {
  const PortNum egress = packet.at.port;
  if (nodes_.power(packet.at.node).on && Leaves(packet, egress) && Cross(packet, egress) &&
      Continues(packet)) {
    Carry(std::move(packet));
  }
}

void PacketWalk::Run(const Event& event) {
  Packet packet = std::move(in_flight_[event.id]);
  free_slots_.push_back(static_cast<uint32_t>(event.id));
  Carry(std::move(packet));
}

// A packet that has crossed a link: true when it is at the other end now, else it is on its way or
// lost.
bool PacketWalk::Continues(Packet& packet) {
  Duration wait = options_.link_latency;
  if (packet.hops == 1 && !MeetsFate(packet, wait)) return false;
  if (wait == Duration::zero()) return true;
  Hold(std::move(packet), wait);
  return false;
}

// Draws what becomes of a MAD that has just left its node; false: it is lost.
bool PacketWalk::MeetsFate(const Packet& packet, Duration& wait) {
  const MadFaults& faults = faults_;
  Rng& rng = RngOf(packet);
  const bool is_trap = packet.IsSmp() && packet.method() == static_cast<uint8_t>(Method::kTrap);
  if ((faults.loss > 0 && rng.Chance(RmppModel::LossOf(packet, faults.loss))) ||
      (is_trap && faults.trap_loss > 0 && rng.Chance(faults.trap_loss))) {
    ++stats_.lost_by_fault;
    return false;
  }
  wait += faults.delay + DrawUpTo(faults.jitter, rng);
  if (faults.reorder > 0 && rng.Chance(faults.reorder)) wait += DrawUpTo(faults.hold, rng);
  if (packet.IsOfTelemetry() && !MeetsGmpFate(packet, wait)) return false;
  if (faults.duplicate > 0 && packet.segments == 0 && rng.Chance(faults.duplicate)) {
    ++stats_.duplicated;
    Hold(packet, wait + DrawUpTo(faults.jitter, rng));
  }
  return true;
}

bool PacketWalk::MeetsGmpFate(const Packet& packet, Duration& wait) {
  Rng& rng = telemetry_rng_;
  if (faults_.gmp_loss > 0 && rng.Chance(faults_.gmp_loss)) {
    ++stats_.lost_by_fault;
    return false;
  }
  wait += faults_.gmp_delay + DrawUpTo(faults_.gmp_jitter, rng);
  if (faults_.gmp_duplicate > 0 && rng.Chance(faults_.gmp_duplicate)) {
    ++stats_.duplicated;
    Hold(packet, wait + DrawUpTo(faults_.gmp_jitter, rng));
  }
  return true;
}

// It goes on from where it is after `wait`.
void PacketWalk::Hold(Packet packet, Duration wait) {
  uint32_t slot = static_cast<uint32_t>(in_flight_.size());
  if (free_slots_.empty()) {
    in_flight_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  in_flight_[slot] = std::move(packet);
  queue_.Schedule({queue_.now() + wait, Event::Kind::kArrive, {}, slot, 0});
}

// True: the packet has moved over a link, or has turned into a response that is to leave here.
bool PacketWalk::Step(Packet& packet) {
  const SimNodes::Power& power = nodes_.power(packet.at.node);
  if (!power.on || (packet.deferred && packet.power_cycle != power.cycles)) {
    ++stats_.lost_link_down;
    return false;
  }
  if (packet.deferred) return Consume(packet);
  if (!packet.origin && outside_.Has(packet.at)) {
    outside_.Receive(std::move(packet));
    return false;
  }
  if (packet.IsMulticast()) {
    Replicate(packet);
    return false;
  }
  if (packet.directed && !packet.origin && !packet.served && !PassesVl15Queue(packet)) return false;
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
PacketWalk::Hop PacketWalk::DirectedHop(Packet& packet, PortNum& egress) {
  std::vector<uint8_t>& bytes = packet.bytes;
  const uint8_t count = bytes[kHopCountAt];
  uint8_t& pointer = bytes[kHopPointerAt];
  const bool permissive = Word(bytes, kDrSlidAt) == kPermissiveLid.value() &&
                          Word(bytes, kDrDlidAt) == kPermissiveLid.value();
  if (count > wire::DirectedPath::kMaxHops || !permissive) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  const SimDevice& node = nodes_.Device(packet.at.node);
  const uint8_t last = IsReturning(bytes) ? 1 : count;
  if (!packet.origin && node.blocks_directed() && pointer != last) {
    ++stats_.lost_unresponsive;
    return Hop::kLost;
  }
  if (IsReturning(bytes)) return DirectedReturn(packet, egress);
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

PacketWalk::Hop PacketWalk::DirectedReturn(Packet& packet, PortNum& egress) {
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
  if ((!packet.origin && !nodes_.Device(packet.at.node).IsSwitch()) || egress.value() == 0) {
    ++stats_.lost_bad_route;
    return Hop::kLost;
  }
  return Hop::kForward;
}

bool PacketWalk::Cross(Packet& packet, PortNum egress) {
  const PortRef from{packet.at.node, egress};
  if (!nodes_.HasPort(from) || nodes_.Port(from).info.port_state < PortState::kInit) {
    ++stats_.lost_link_down;
    return false;
  }
  const double loss = links_.loss(from);
  if (loss > 0 && RngOf(packet).Chance(RmppModel::LossOf(packet, loss))) {
    ++stats_.lost_by_fault;
    return false;
  }
  if (packet.origin) packet.from = from;
  packet.at = nodes_.Port(from).cable;
  packet.origin = packet.served = false;
  ++packet.hops;
  return true;
}

// Whether it goes on at once: it waits for nothing.
bool PacketWalk::PassesVl15Queue(Packet& packet) {
  packet.served = true;
  const std::optional<Duration> wait = agents_.EnqueueVl15(packet.at.node);
  if (!wait) {
    ++stats_.lost_vl15_queue;
    return false;
  }
  if (*wait == Duration::zero()) return true;
  Hold(std::move(packet), *wait);
  return false;
}

bool PacketWalk::Consume(Packet& packet) {
  if (packet.IsForPerformanceAgent()) return ConsumeGmp(packet);
  const SimDevice& node = nodes_.Device(packet.at.node);
  // A switch's own program sits behind port 0, wherever the MAD came in.
  const PortRef host_port{packet.at.node, node.ManagementPort(packet.at.port)};
  const Method method = static_cast<Method>(packet.method());
  const bool request = method == Method::kGet || method == Method::kSet;
  const bool for_sm =
      static_cast<AttributeId>(Word(packet.bytes, kAttributeAt)) == AttributeId::kSmInfo &&
      request && hosts_.IsSm(host_port);
  const bool response = (packet.method() & wire::kResponseBit) != 0;
  if (!packet.IsSmp() || response || method == Method::kTrap || for_sm) {
    Deliver(host_port, std::move(packet));
    return false;
  }
  if (node.is_unresponsive() && !packet.origin) {
    ++stats_.lost_unresponsive;
    return false;
  }
  if (!packet.deferred && Defer(packet, agents_.Enqueue(packet.at.node))) return false;
  packet.deferred = false;
  return agents_.Answer(packet, packet.origin ? host_port.port : packet.at.port);
}

bool PacketWalk::ConsumeGmp(Packet& packet) {
  if (!packet.deferred) {
    if (!IsAdmitted(packet) || Defer(packet, agents_.EnqueueGmp(packet.at.node))) return false;
  }
  packet.deferred = false;
  return agents_.AnswerGmp(packet);
}

// Leaves the packet at its agent for so long, if at all.
bool PacketWalk::Defer(Packet& packet, Duration wait) {
  if (wait <= Duration::zero()) return false;
  packet.deferred = true;
  packet.power_cycle = nodes_.power(packet.at.node).cycles;
  Hold(std::move(packet), wait);
  return true;
}

// At the end port below the program.
void PacketWalk::Deliver(PortRef host_port, Packet&& packet) {
  if (IsAdmitted(packet)) hosts_.Receive(host_port, std::move(packet));
}

// Whether a packet that has come to a node may go on: not too long under way, the port takes it,
// and its partition is let in. A data packet takes an ARMED port to ACTIVE (§7.2.7, ActiveTrigger).
bool PacketWalk::Enters(const Packet& packet) {
  if (packet.hops > kMaxPacketHops) {
    ++stats_.lost_loop;
    return false;
  }
  if (packet.IsSmp()) return true;
  if (packet.origin) {
    // The adapter has no queue pair for an entry without a partition: it sends nothing.
    const bool has_key = PartitionOf(packet.pkey) != 0;
    if (!has_key) ++stats_.lost_p_key;
    return has_key;
  }
  const wire::PortInfo& ingress = nodes_.Port(packet.at).info;
  if (ingress.port_state < PortState::kArmed) {
    ++stats_.lost_not_active;
    return false;
  }
  if (ingress.port_state == PortState::kArmed) links_.Activate(packet.at);
  return !ingress.partition_enforcement_inbound || PassesPartition(packet, packet.at.port);
}

// Whether `egress` sends it: its state, and on a switch its partitions.
bool PacketWalk::Leaves(const Packet& packet, PortNum egress) {
  const wire::PortInfo& info = nodes_.Device(packet.at.node).port(egress).info;
  if (!Sends(info.port_state, packet.IsSmp())) {
    ++stats_.lost_not_active;
    return false;
  }
  return packet.IsSmp() || !info.partition_enforcement_outbound || PassesPartition(packet, egress);
}

bool PacketWalk::PassesPartition(const Packet& packet, PortNum port) {
  if (nodes_.Device(packet.at.node).PartitionPasses(port, packet.pkey)) return true;
  CountBadPKey({packet.at.node, port}, packet);
  return false;
}

// Whether the end port that a packet has reached is in its partition; the packet then names that
// port's index of the key.
bool PacketWalk::IsAdmitted(Packet& packet) {
  if (packet.IsSmp()) return true;
  const SimDevice& node = nodes_.Device(packet.at.node);
  const PortNum port = node.ManagementPort(packet.at.port);
  const std::optional<uint16_t> index = node.PKeyIndexFor(port, packet.pkey);
  if (!index) CountBadPKey({packet.at.node, port}, packet);
  packet.pkey_index = index.value_or(0);
  return index.has_value();
}

void PacketWalk::CountBadPKey(PortRef at, const Packet& packet) {
  ++stats_.lost_p_key;
  wire::PortInfo& info = nodes_.Port(at).info;
  if (info.p_key_violations != 0xFFFF) ++info.p_key_violations;
  traps_.RaiseBadPKey(at, packet);
}

PacketWalk::Hop PacketWalk::RoutedHop(const Packet& packet, PortNum& egress) {
  if (!Enters(packet)) return Hop::kLost;
  const SimDevice& node = nodes_.Device(packet.at.node);
  if (node.IsSwitch()) return RoutedBySwitch(packet, egress);
  if (node.OwnsLid(packet.at.port, packet.dlid)) return Hop::kConsume;
  if (!packet.origin) {
    ++stats_.lost_wrong_lid;
    return Hop::kLost;
  }
  egress = packet.at.port;
  return Leaves(packet, egress) ? Hop::kForward : Hop::kLost;
}

PacketWalk::Hop PacketWalk::RoutedBySwitch(const Packet& packet, PortNum& egress) {
  const SimDevice& node = nodes_.Device(packet.at.node);
  egress = PortNum(node.LftPort(packet.dlid));
  if (!node.HasPort(egress)) {
    ++stats_.lost_no_lft;
    return Hop::kLost;
  }
  if (egress.value() == 0) {
    if (node.OwnsLid(egress, packet.dlid)) return Hop::kConsume;
    ++stats_.lost_wrong_lid;
    return Hop::kLost;
  }
  return Leaves(packet, egress) ? Hop::kForward : Hop::kLost;
}

// A multicast packet at a node: one copy to each port that the tables name (§18.2.4.3.3).
void PacketWalk::Replicate(Packet& packet) {
  if (packet.IsSmp()) {  // VL15 is unicast (§14.2.1).
    ++stats_.lost_bad_route;
    return;
  }
  if (!Enters(packet)) return;
  const SimDevice& node = nodes_.Device(packet.at.node);
  if (!node.IsSwitch() && !packet.origin) {
    Deliver(packet.at, std::move(packet));
    return;
  }
  if (packet.copies == nullptr) {
    packet.copies = std::make_shared<absl::flat_hash_map<PortRef, int>>();
  } else if (!packet.origin && ++(*packet.copies)[packet.at] > kMaxCopiesPerPort) {
    ++stats_.lost_loop;
    return;
  }
  std::vector<PortNum> ports{packet.at.port};
  if (node.IsSwitch()) ports = node.MulticastPorts(packet.dlid, packet.at.port);
  if (ports.empty()) ++stats_.lost_no_mft;
  for (PortNum port : ports) {
    Packet copy = packet;
    if (node.IsSwitch() && port.value() == 0) {
      copy.at.port = port;
      Deliver({packet.at.node, port}, std::move(copy));
    } else if (Leaves(copy, port) && Cross(copy, port) && Continues(copy)) {
      Carry(std::move(copy));
    }
  }
}

}  // namespace fabricd::sim
