// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/places.h"

#include <algorithm>

#include <fmt/format.h>

#include "fabric/port_name.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {
namespace {

// One end and the other of a plugged cable.
struct Cable {
  PortRef port, peer;
};

std::vector<Cable> CablesAt(const SimFabric& fabric, NodeIndex node) {
  std::vector<Cable> cables;
  for (const PortNum number : fabric.device(node)->LinkPorts()) {
    const PortRef port{node, number};
    const PortRef peer = fabric.LinkedPeer(port);
    if (!peer.IsNone()) cables.push_back({port, peer});
  }
  return cables;
}

}  // namespace

Places::Places(const SimFabric& fabric) : fabric_(fabric) {
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i)
    if (fabric.device(NodeIndex(i)) != nullptr) List(NodeIndex(i));
}

void Places::List(NodeIndex node) {
  nodes_.push_back(node);
  for (const auto& [port, peer] : CablesAt(fabric_, node)) {
    if (port < peer) cables_.push_back(port);
    if (!fabric_.device(node)->IsSwitch()) host_ports_.push_back(port);
  }
}

std::vector<std::vector<NodeIndex>> Places::Hosts() const {
  std::vector<std::vector<NodeIndex>> hosts;
  for (auto& [name, adapters] : fabric_.Hosts()) hosts.push_back(adapters);
  return hosts;
}

std::vector<PortRef> Places::CablesOf(NodeIndex node) const {
  std::vector<PortRef> own;
  for (PortRef cable : cables_)
    if (cable.node == node || fabric_.LinkedPeer(cable).node == node) own.push_back(cable);
  return own;
}

std::string Places::NameOf(NodeIndex node) const {
  return std::string(fabric_.device(node)->description());
}

std::string Places::NameOf(PortRef port) const {
  return fabric::PortName(NameOf(port.node), port.port);
}

PortRef Places::SomeFreeHost(Rng& rng) const {
  for (;;) {
    const PortRef port = OneOf(host_ports_, rng);
    if (std::none_of(taken_.begin(), taken_.end(),
                     [&](PortRef other) { return other.node == port.node; }))
      return port;
  }
}

PortRef Places::TakeSomeHost(Rng& rng) {
  Take(SomeFreeHost(rng));
  return taken_.back();
}

PortRef Places::MoveToSomeHost(PortRef from, Rng& rng) {
  const PortRef to = SomeFreeHost(rng);
  std::replace(taken_.begin(), taken_.end(), from, to);
  deserted_.push_back(from);
  return to;
}

bool Places::AllTogether() const {
  std::vector<bool> reached(fabric_.node_index_end(), false);
  std::vector<NodeIndex> open{taken_.front().node};
  reached[open.front().value()] = true;
  for (size_t next = 0; next < open.size(); ++next) {
    for (const auto& [port, peer] : CablesAt(fabric_, open[next])) {
      if (fabric_.link_loss(port) > 0.5 || reached[peer.node.value()]) continue;
      reached[peer.node.value()] = true;
      if (fabric_.device(peer.node)->IsSwitch()) open.push_back(peer.node);
    }
  }
  return std::all_of(taken_.begin(), taken_.end(),
                     [&](PortRef port) { return reached[port.node.value()]; });
}

std::vector<PortRef> Places::CutBetween(PortRef here, PortRef there, size_t size) const {
  const NodeIndex next_to_there = fabric_.LinkedPeer(there).node;
  std::vector<bool> inside(fabric_.node_index_end(), false);
  std::vector<NodeIndex> part{here.node};
  inside[here.node.value()] = true;
  for (size_t next = 0; next < part.size() && part.size() < size; ++next) {
    for (const auto& [port, peer] : CablesAt(fabric_, part[next])) {
      if (peer.node == next_to_there || peer.node == there.node || inside[peer.node.value()])
        continue;
      inside[peer.node.value()] = true;
      part.push_back(peer.node);
    }
  }
  std::vector<PortRef> cut;
  for (PortRef cable : cables_) {
    const PortRef peer = fabric_.LinkedPeer(cable);
    if (!peer.IsNone() && inside[cable.node.value()] != inside[peer.node.value()])
      cut.push_back(cable);
  }
  return cut;
}

}  // namespace fabricd::sim
