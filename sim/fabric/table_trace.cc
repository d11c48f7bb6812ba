// SPDX-License-Identifier: Apache-2.0
// What LID-routed packets meet: forwarding tables, port states, partitions; and the same for
// checkers, who send nothing.
#include <algorithm>

#include "common/p_key.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {
namespace {

using wire::PortState;

// Of one multicast packet that arrive by the same port, so that a loop in the tables ends and a
// second copy still shows.
constexpr int kMaxCopiesPerPort = 2;

// Data packets need ACTIVE at the sending end, SMPs (VL15) only a link (§7.2.7).
bool Sends(PortState state, bool smp) {
  return smp ? state >= PortState::kInit : state == PortState::kActive;
}

}  // namespace

// Whether a packet that has come to a node may go on: not too long under way, the port takes it,
// and its partition is let in. A data packet takes an ARMED port to ACTIVE (§7.2.7, ActiveTrigger).
bool SimFabric::Enters(const Packet& packet) {
  if (packet.hops > kMaxHops) {
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
  wire::PortInfo& ingress = Port(packet.at).info;
  if (ingress.port_state < PortState::kArmed) {
    ++stats_.lost_not_active;
    return false;
  }
  if (ingress.port_state == PortState::kArmed) {
    ingress.port_state = PortState::kActive;
    NoteChange(packet.at.node);
    DeliverEvent(packet.at, mad::LocalPortEvent::Kind::kPortActive);
  }
  return !ingress.partition_enforcement_inbound || PassesPartition(packet, packet.at.port);
}

// Whether `egress` sends it: its state, and on a switch its partitions.
bool SimFabric::Leaves(const Packet& packet, PortNum egress) {
  const wire::PortInfo& info = Device(packet.at.node).port(egress).info;
  if (!Sends(info.port_state, packet.IsSmp())) {
    ++stats_.lost_not_active;
    return false;
  }
  return packet.IsSmp() || !info.partition_enforcement_outbound || PassesPartition(packet, egress);
}

bool SimFabric::PassesPartition(const Packet& packet, PortNum port) {
  if (Device(packet.at.node).PartitionPasses(port, packet.pkey)) return true;
  CountBadPKey({packet.at.node, port}, packet);
  return false;
}

// Whether the end port that a packet has reached is in its partition; the packet then names that
// port's index of the key.
bool SimFabric::IsAdmitted(Packet& packet) {
  if (packet.IsSmp()) return true;
  const SimDevice& node = Device(packet.at.node);
  const PortNum port = node.ManagementPort(packet.at.port);
  const std::optional<uint16_t> index = node.PKeyIndexFor(port, packet.pkey);
  if (!index) CountBadPKey({packet.at.node, port}, packet);
  packet.pkey_index = index.value_or(0);
  return index.has_value();
}

void SimFabric::CountBadPKey(PortRef at, const Packet& packet) {
  ++stats_.lost_p_key;
  wire::PortInfo& info = Port(at).info;
  if (info.p_key_violations != 0xFFFF) ++info.p_key_violations;
  const PortRef source{at.node, Device(at.node).ManagementPort(at.port)};
  if (source == at) {
    RaiseTrap({source, wire::kTrapBadPKey}, BadPKeyDetails(packet));
  } else {
    RaiseTrap({source, wire::kTrapSwitchBadPKey, at.port}, SwitchBadPKeyDetails(packet, at));
  }
}

SimFabric::Hop SimFabric::RoutedHop(const Packet& packet, PortNum& egress) {
  if (!Enters(packet)) return Hop::kLost;
  const SimDevice& node = Device(packet.at.node);
  if (node.IsSwitch()) return RoutedBySwitch(packet, egress);
  if (node.OwnsLid(packet.at.port, packet.dlid)) return Hop::kConsume;
  if (!packet.origin) {
    ++stats_.lost_wrong_lid;
    return Hop::kLost;
  }
  egress = packet.at.port;
  return Leaves(packet, egress) ? Hop::kForward : Hop::kLost;
}

SimFabric::Hop SimFabric::RoutedBySwitch(const Packet& packet, PortNum& egress) {
  const SimDevice& node = Device(packet.at.node);
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
void SimFabric::Replicate(Packet& packet) {
  if (packet.IsSmp()) {  // VL15 is unicast (§14.2.1).
    ++stats_.lost_bad_route;
    return;
  }
  if (!Enters(packet)) return;
  const SimDevice& node = Device(packet.at.node);
  if (!node.IsSwitch() && !packet.origin) {
    DeliverToHost(std::move(packet), FindHost(packet.at));
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
      DeliverToHost(std::move(copy), FindHost({packet.at.node, port}));
    } else if (Leaves(copy, port) && Cross(copy, port) && Continues(copy)) {
      Carry(std::move(copy));
    }
  }
}

PortRef SimFabric::LinkedPeer(PortRef port) const {
  if (!PortExists(port) || port.port.value() == 0) return {};
  return Port(port).info.port_state >= PortState::kInit ? Port(port).cable : PortRef{};
}

// The far end of the link behind `out`, for data of that P_Key; none when a port does not carry it.
PortRef SimFabric::TraceLink(PortRef out, std::optional<PKey> key) const {
  const wire::PortInfo& here = Port(out).info;
  if (here.port_state != PortState::kActive) return {};
  if (key && here.partition_enforcement_outbound &&
      !Device(out.node).PartitionPasses(out.port, *key)) {
    return {};
  }
  const PortRef at = Port(out).cable;
  const wire::PortInfo& there = Port(at).info;
  if (there.port_state < PortState::kArmed) return {};
  if (key && there.partition_enforcement_inbound &&
      !Device(at.node).PartitionPasses(at.port, *key)) {
    return {};
  }
  return at;
}

PortRef SimFabric::TraceData(PortRef from, Lid dlid, std::optional<PKey> key) const {
  if (!PortExists(from)) return {};
  const auto arrives = [&](PortRef end) {
    const SimDevice& node = Device(end.node);
    const bool taken = node.OwnsLid(end.port, dlid) && (!key || node.PKeyIndexFor(end.port, *key));
    return taken ? end : PortRef{};
  };
  if (Device(from.node).OwnsLid(from.port, dlid)) return arrives(from);
  PortRef at = from;
  PortNum egress = from.port;
  for (int hop = 0; hop <= kMaxHops; ++hop) {
    const SimDevice& node = Device(at.node);
    if (node.IsSwitch()) {
      if (IsMulticast(dlid)) return {};
      egress = PortNum(node.LftPort(dlid));
      if (!node.HasPort(egress)) return {};
      if (egress.value() == 0) return arrives({at.node, egress});
    } else if (hop > 0) {
      return arrives(at);
    }
    at = TraceLink({at.node, egress}, key);
    if (at.IsNone()) return {};
  }
  return {};
}

struct SimFabric::MulticastWalk {
  Lid mlid;
  std::optional<PKey> key;
  std::map<PortRef, int> visits;  // By ingress port.
  std::map<PortRef, int> reached;
  std::vector<PortRef> path;  // Ingress ports on the way here.
  bool loops = false;
};

void SimFabric::WalkMulticast(PortRef at, bool origin, MulticastWalk& walk) const {
  const SimDevice& node = Device(at.node);
  const auto reach = [&](PortRef end) {
    if (!walk.key || Device(end.node).PKeyIndexFor(end.port, *walk.key)) ++walk.reached[end];
  };
  if (!node.IsSwitch() && !origin) {
    reach(at);
    return;
  }
  if (std::find(walk.path.begin(), walk.path.end(), at) != walk.path.end()) {
    walk.loops = true;
    return;
  }
  if (++walk.visits[at] > kMaxCopiesPerPort || walk.path.size() > kMaxHops) return;
  walk.path.push_back(at);
  std::vector<PortNum> ports{at.port};
  if (node.IsSwitch()) ports = node.MulticastPorts(walk.mlid, at.port);
  for (PortNum port : ports) {
    const PortRef out{at.node, port};
    if (node.IsSwitch() && port.value() == 0) {
      reach(out);
    } else if (const PortRef next = TraceLink(out, walk.key); !next.IsNone()) {
      WalkMulticast(next, false, walk);
    }
  }
  walk.path.pop_back();
}

MulticastReach SimFabric::TraceMulticast(PortRef from, Lid mlid, std::optional<PKey> key) const {
  MulticastReach reach;
  if (!PortExists(from) || !IsMulticast(mlid)) return reach;
  MulticastWalk walk;
  walk.mlid = mlid;
  walk.key = key;
  WalkMulticast(from, true, walk);
  for (const auto& [port, copies] : walk.reached) {
    reach.ports.push_back(port);
    if (copies > 1) reach.twice.push_back(port);
  }
  reach.loops = walk.loops;
  return reach;
}

}  // namespace fabricd::sim
