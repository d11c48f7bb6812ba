// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/wiring.h"

#include <algorithm>

#include <fmt/format.h>

#include "routing/plan/node_name.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

using fabric::Node;
using fabric::Port;

Wiring::Wiring(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids)
    : snapshot_(snapshot), lids_(lids) {
  snapshot.ForEachNode([&](const Node& node) {
    if (node.IsSwitch()) switches_.push_back(&node);
  });
  std::sort(switches_.begin(), switches_.end(),
            [](const Node* a, const Node* b) { return a->guid() < b->guid(); });
  number_.assign(snapshot.node_index_end(), kNone);
  for (uint32_t s = 0; s < size(); ++s) number_[switches_[s]->index.value()] = s;
  far_.resize(size_t{size()} * 256);
  for (uint32_t s = 0; s < size(); ++s) ReadPorts(s);
  for (Far& far : far_)
    if (far.IsSwitch()) far.channel += far.node * last_port_;
  FindComponents();
  places_.resize(lids.top().value() + size_t{1});
  for (size_t lid = 1; lid < places_.size(); ++lid)
    places_[lid] = FindPlace(lids.Owner(Lid(static_cast<uint16_t>(lid))));
}

// A cap of 0 is what a switch shows whose SwitchInfo was not read: nothing is known against it.
uint32_t Wiring::lid_limit(uint32_t s) const {
  const auto& info = switches_[s]->switch_info;
  return info && info->linear_fdb_cap != 0 ? info->linear_fdb_cap : kNone;
}

std::string Wiring::Name(uint32_t s) const { return "switch " + NodeName(*switches_[s]); }

std::string Wiring::LidName(size_t lid) const {
  const PortRef owner = lids_.Owner(Lid(static_cast<uint16_t>(lid)));
  if (owner.IsNone()) return fmt::format("LID {}, which is nobody's,", lid);
  return fmt::format("LID {} of {}", lid, NodeName(snapshot_, owner.node));
}

std::string Wiring::PeerName(uint32_t s, uint8_t port) const {
  const PortRef peer = switches_[s]->port(PortNum(port)).peer;
  return fmt::format("{} port {}", NodeName(snapshot_, peer.node), peer.port);
}

const Node* Wiring::LivePeer(const Port& port) const {
  if (!port.IsUp() || port.peer.IsNone()) return nullptr;
  const Port* peer = snapshot_.port(port.peer);
  return peer && peer->IsUp() ? snapshot_.node(port.peer.node) : nullptr;
}

void Wiring::ReadPorts(uint32_t s) {
  const Node& node = *switches_[s];
  for (size_t port = 1; port < node.ports.size() && port < kNoRoute; ++port) {
    const Node* peer = LivePeer(node.ports[port]);
    if (!peer) continue;
    const uint8_t peer_port = node.ports[port].peer.port.value();
    if (peer_port == 0 || peer_port == kNoRoute)
      continue;  // No link of the specification ends there.
    Far& far = far_[size_t{s} * 256 + port];
    far.node = peer->IsSwitch() ? number_[peer->index.value()] : Far::kEndPort;
    far.channel = peer_port - 1u;  // The switches before that one are added at the end.
    last_port_ = std::max({last_port_, static_cast<uint8_t>(port), peer_port});
  }
}

void Wiring::FindComponents() {
  component_.assign(size(), kNone);
  std::vector<uint32_t> open;
  for (uint32_t first = 0; first < size(); ++first) {
    if (component_[first] != kNone) continue;
    component_[first] = first;
    open.assign(1, first);
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      for (unsigned port = 1; port <= last_port_; ++port) {
        const Far& next = far(s, static_cast<uint8_t>(port));
        if (!next.IsSwitch() || component_[next.node] != kNone) continue;
        component_[next.node] = first;
        open.push_back(next.node);
      }
    }
  }
}

Place Wiring::FindPlace(PortRef owner) const {
  const Node* node = owner.IsNone() ? nullptr : snapshot_.node(owner.node);
  if (!node) return {};
  if (node->IsSwitch()) return owner.port.value() == 0 ? Place{number(owner.node), 0} : Place{};
  const Port* port = snapshot_.port(owner);
  const Node* peer = port ? LivePeer(*port) : nullptr;
  if (!peer || !peer->IsSwitch() || port->peer.port.value() == kNoRoute) return {};
  return {number(peer->index), port->peer.port.value()};
}

}  // namespace fabricd::routing
