// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/table_trace.h"

#include <algorithm>
#include <map>

#include "sim/fabric/packet.h"

namespace fabricd::sim {
namespace {

using wire::PortState;

// The far end of the link behind `out`, for data of that P_Key; none when a port does not carry it.
PortRef TraceLink(const SimNodes& nodes, PortRef out, std::optional<PKey> key) {
  const wire::PortInfo& here = nodes.Port(out).info;
  if (here.port_state != PortState::kActive) return {};
  if (key && here.partition_enforcement_outbound &&
      !nodes.Device(out.node).PartitionPasses(out.port, *key)) {
    return {};
  }
  const PortRef at = nodes.Port(out).cable;
  const wire::PortInfo& there = nodes.Port(at).info;
  if (there.port_state < PortState::kArmed) return {};
  if (key && there.partition_enforcement_inbound &&
      !nodes.Device(at.node).PartitionPasses(at.port, *key)) {
    return {};
  }
  return at;
}

struct MulticastWalk {
  Lid mlid;
  std::optional<PKey> key;
  std::map<PortRef, int> visits;  // By ingress port.
  std::map<PortRef, int> reached;
  std::vector<PortRef> path;  // Ingress ports on the way here.
  bool loops = false;
};

void WalkMulticast(const SimNodes& nodes, PortRef at, bool origin, MulticastWalk& walk) {
  const SimDevice& node = nodes.Device(at.node);
  const auto reach = [&](PortRef end) {
    if (!walk.key || nodes.Device(end.node).PKeyIndexFor(end.port, *walk.key)) ++walk.reached[end];
  };
  if (!node.IsSwitch() && !origin) {
    reach(at);
    return;
  }
  if (std::find(walk.path.begin(), walk.path.end(), at) != walk.path.end()) {
    walk.loops = true;
    return;
  }
  if (++walk.visits[at] > kMaxCopiesPerPort || walk.path.size() > kMaxPacketHops) return;
  walk.path.push_back(at);
  std::vector<PortNum> ports{at.port};
  if (node.IsSwitch()) ports = node.MulticastPorts(walk.mlid, at.port);
  for (PortNum port : ports) {
    const PortRef out{at.node, port};
    if (node.IsSwitch() && port.value() == 0) {
      reach(out);
    } else if (const PortRef next = TraceLink(nodes, out, walk.key); !next.IsNone()) {
      WalkMulticast(nodes, next, false, walk);
    }
  }
  walk.path.pop_back();
}

}  // namespace

PortRef TraceData(const SimNodes& nodes, PortRef from, Lid dlid, std::optional<PKey> key,
                  std::vector<PortRef>* egress_ports) {
  if (!nodes.HasPort(from)) return {};
  const auto arrives = [&](PortRef end) {
    const SimDevice& node = nodes.Device(end.node);
    const bool taken = node.OwnsLid(end.port, dlid) && (!key || node.PKeyIndexFor(end.port, *key));
    return taken ? end : PortRef{};
  };
  if (nodes.Device(from.node).OwnsLid(from.port, dlid)) return arrives(from);
  PortRef at = from;
  PortNum egress = from.port;
  for (int hop = 0; hop <= kMaxPacketHops; ++hop) {
    const SimDevice& node = nodes.Device(at.node);
    if (node.IsSwitch()) {
      if (IsMulticast(dlid)) return {};
      egress = PortNum(node.LftPort(dlid));
      if (!node.HasPort(egress)) return {};
      if (egress.value() == 0) return arrives({at.node, egress});
    } else if (hop > 0) {
      return arrives(at);
    }
    if (egress_ports != nullptr) egress_ports->push_back({at.node, egress});
    at = TraceLink(nodes, {at.node, egress}, key);
    if (at.IsNone()) return {};
  }
  return {};
}

MulticastReach TraceMulticast(const SimNodes& nodes, PortRef from, Lid mlid,
                              std::optional<PKey> key) {
  MulticastReach reach;
  if (!nodes.HasPort(from) || !IsMulticast(mlid)) return reach;
  MulticastWalk walk;
  walk.mlid = mlid;
  walk.key = key;
  WalkMulticast(nodes, from, true, walk);
  for (const auto& [port, copies] : walk.reached) {
    reach.ports.push_back(port);
    if (copies > 1) reach.twice.push_back(port);
  }
  reach.loops = walk.loops;
  return reach;
}

}  // namespace fabricd::sim
