// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/end_ports.h"

#include <utility>

#include "fabric/port_name.h"

namespace fabricd::sim {

std::string NameOf(const SimFabric& fabric, PortRef port) {
  return fabric::PortName(fabric.device(port.node)->description(), port.port);
}

// Switch port 0s, and CA and router ports with a link.
std::vector<EndPort> EndPorts(const SimFabric& fabric) {
  std::vector<EndPort> ports;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    for (const PortNum number : device->AllPorts()) {
      const PortRef ref{NodeIndex(i), number};
      const bool is_switch = device->IsSwitch();
      if (is_switch ? number != PortNum(0) : fabric.LinkedPeer(ref).IsNone()) continue;
      const SimPort& port = device->port(number);
      ports.push_back({ref, port.guid, port.info.lid, 1 << port.info.lmc});
    }
  }
  return ports;
}

std::vector<uint32_t> SwitchParts(const SimFabric& fabric,
                                  const absl::flat_hash_set<PortRef>& unwanted) {
  std::vector<uint32_t> part(fabric.node_index_end(), 0);
  uint32_t count = 0;
  for (uint32_t i = 0; i < part.size(); ++i) {
    const SimDevice* start = fabric.device(NodeIndex(i));
    if (start == nullptr || !start->IsSwitch() || part[i] != 0) continue;
    std::vector<NodeIndex> open{NodeIndex(i)};
    part[i] = ++count;
    while (!open.empty()) {
      const NodeIndex node = open.back();
      open.pop_back();
      for (const PortNum number : fabric.device(node)->LinkPorts()) {
        const PortRef port{node, number};
        const PortRef peer = fabric.LinkedPeer(port);
        if (peer.IsNone() || !fabric.device(peer.node)->IsSwitch()) continue;
        if (unwanted.contains(port) || unwanted.contains(peer)) continue;
        if (std::exchange(part[peer.node.value()], count) == 0) open.push_back(peer.node);
      }
    }
  }
  return part;
}

absl::flat_hash_set<PortRef> PortsBeyond(const SimFabric& fabric, PortRef from) {
  const std::vector<uint32_t> parts = SwitchParts(fabric);
  const NodeIndex start = SwitchOf(fabric, from);
  absl::flat_hash_set<PortRef> beyond;
  for (uint32_t i = 0; i < fabric.node_index_end() && !start.IsNone(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    for (const PortNum number : device->AllPorts()) {
      const PortRef port{NodeIndex(i), number};
      const NodeIndex at = SwitchOf(fabric, port);
      if (!at.IsNone() && parts[at.value()] != parts[start.value()]) beyond.insert(port);
    }
  }
  return beyond;
}

NodeIndex SwitchOf(const SimFabric& fabric, PortRef port) {
  if (fabric.device(port.node)->IsSwitch()) return port.node;
  const NodeIndex peer = fabric.LinkedPeer(port).node;
  return !peer.IsNone() && fabric.device(peer)->IsSwitch() ? peer : NodeIndex::None();
}

}  // namespace fabricd::sim
