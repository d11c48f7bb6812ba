// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/cause_places.h"

#include <algorithm>

#include "common/number_text.h"
#include "common/status.h"
#include "fabric/port_name.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {

CausePlaces::CausePlaces(const SimFabric& fabric, PortRef manager)
    : fabric_(fabric), hosts_(fabric.Hosts()) {
  for (const auto& [name, adapters] : hosts_) {
    size_t rail = 0;
    for (NodeIndex node : adapters) {
      host_of_[node] = name;
      for (const PortNum number : fabric.device(node)->LinkPorts()) {
        const PortRef port{node, number};
        if (!fabric.device(node)->port(port.port).cable.IsNone()) rail_of_[port] = rail++;
      }
    }
    rails_ = std::max(rails_, rail);
  }
  for (uint32_t index = 0; index < fabric.node_index_end(); ++index) {
    const SimDevice* device = fabric.device(NodeIndex(index));
    if (device == nullptr) continue;
    if (device->IsSwitch()) switches_.emplace_back(index);
    for (const PortNum number : device->LinkPorts()) {
      const PortRef port{NodeIndex(index), number};
      const PortRef peer = fabric.LinkedPeer(port);
      if (peer.IsNone()) continue;
      const bool first = device->IsSwitch() != fabric.device(peer.node)->IsSwitch()
                             ? !device->IsSwitch()
                             : port < peer;
      if (first) links_.push_back(port);
    }
  }
  for (NodeIndex node : hosts_[HostOf(manager.node)]) taken_.insert(node);
  const PortRef leaf = fabric.LinkedPeer(manager);
  if (!leaf.IsNone()) taken_.insert(leaf.node);
}

std::string CausePlaces::HostOf(NodeIndex node) const {
  const auto found = host_of_.find(node);
  return found == host_of_.end() ? std::string() : found->second;
}

std::string CausePlaces::NameOf(PortRef port) const {
  return fabric::PortName(fabric_.device(port.node)->description(), port.port);
}

std::vector<PortRef> CausePlaces::EndsAt(const std::vector<NodeIndex>& nodes) const {
  std::vector<PortRef> ends;
  for (PortRef port : links_) {
    const PortRef peer = fabric_.device(port.node)->port(port.port).cable;
    for (NodeIndex node : nodes) {
      if (port.node != node && peer.node != node) continue;
      ends.push_back(port);
      ends.push_back(peer);
      break;
    }
  }
  return ends;
}

std::vector<std::string> CausePlaces::SomeHosts(size_t count, const std::string& but,
                                                Rng& rng) const {
  std::vector<std::string> names;
  for (const auto& [name, adapters] : hosts_) {
    const bool is_free = std::all_of(adapters.begin(), adapters.end(),
                                     [this](NodeIndex node) { return IsFree(node); });
    if (name != but && is_free) names.push_back(name);
  }
  for (size_t i = 0; i < std::min(count, names.size()); ++i) {
    std::swap(names[i], names[i + rng.Below(names.size() - i)]);
  }
  names.resize(std::min(count, names.size()));
  return names;
}

CausePlace CausePlaces::AtPort(PortRef port) const {
  const auto rail = rail_of_.find(port);
  return {NameOf(port), port, {}, rail == rail_of_.end() ? 0 : rail->second};
}

absl::StatusOr<CausePlace> CausePlaces::Find(const Cause& cause, Rng& rng) {
  switch (cause.place.kind) {
    case PlaceKind::kNamed: return FindNamed(cause);
    case PlaceKind::kRandomLink:
    case PlaceKind::kRandomHostLink:
    case PlaceKind::kRandomTrunk: return DrawLink(cause, rng);
    case PlaceKind::kRandomHost: return DrawHost(rng);
    case PlaceKind::kRandomSwitch:
    case PlaceKind::kRandomLeaf: return DrawSwitch(cause.place.kind, rng);
    case PlaceKind::kRandomRail: {
      if (rails_ == 0) return NotFound("the fabric has no host");
      const size_t rail = rng.Below(rails_);
      return CausePlace{fmt::format("rail {}", rail + 1), {}, {}, rail};
    }
    case PlaceKind::kAll: {
      CausePlace all{"all", {}, switches_, 0};
      for (const auto& [node, name] : host_of_) all.nodes.push_back(node);
      return all;
    }
  }
  return NotFound("no place");
}

absl::StatusOr<CausePlace> CausePlaces::FindNamed(const Cause& cause) const {
  const std::string& name = cause.place.name;
  if (cause.kind == CauseKind::kRailStorm) {
    const auto rail = ParseNumber<size_t>(name);
    if (!rail || *rail == 0 || *rail > rails_) return NotFound("no rail {}", name);
    return CausePlace{fmt::format("rail {}", name), {}, {}, *rail - 1};
  }
  const CauseInfo& info = InfoOf(cause.kind);
  const bool of_link = (info.places >> static_cast<int>(PlaceKind::kRandomHostLink) & 1) != 0;
  if (!of_link) {
    if (const auto host = hosts_.find(name); host != hosts_.end()) {
      return CausePlace{name, {}, host->second, 0};
    }
    const auto node = fabric_.FindNode(name);
    if (!node.ok()) return node.status();
    return CausePlace{name, {}, {*node}, 0};
  }
  const size_t slash = name.rfind('/');
  const auto number = slash == std::string::npos
                          ? std::nullopt
                          : ParseNumber<uint8_t>(std::string_view(name).substr(slash + 1));
  if (!number) return NotFound("'{}' is no port: NODE/PORT is wanted", name);
  const auto node = fabric_.FindNode(name.substr(0, slash));
  if (!node.ok()) return node.status();
  const PortRef port{*node, PortNum(*number)};
  if (fabric_.LinkedPeer(port).IsNone()) return NotFound("'{}' has no link", name);
  const bool of_host_only = (info.places >> static_cast<int>(PlaceKind::kRandomTrunk) & 1) == 0;
  if (of_host_only && !rail_of_.contains(port)) return NotFound("'{}' is no port of a host", name);
  return AtPort(port);
}

bool CausePlaces::IsLinkOf(PortRef port, PlaceKind kind) const {
  const bool of_host = rail_of_.contains(port);
  return kind == PlaceKind::kRandomLink || of_host == (kind == PlaceKind::kRandomHostLink);
}

absl::StatusOr<CausePlace> CausePlaces::DrawLink(const Cause& cause, Rng& rng) {
  std::vector<PortRef> candidates;
  for (PortRef port : links_) {
    if (!IsLinkOf(port, cause.place.kind) || taken_links_.contains(port)) continue;
    const PortRef peer = fabric_.device(port.node)->port(port.port).cable;
    const bool of_host = rail_of_.contains(port);
    if (of_host ? !IsFree(port.node) : !IsFree(port.node) && !IsFree(peer.node)) continue;
    // Passive copper has no temperature.
    const auto module = fabric_.ModuleAt(port);
    if (cause.kind == CauseKind::kHotModule && (!module || module->temperature == 0)) continue;
    candidates.push_back(port);
  }
  if (candidates.empty()) return NotFound("no {} without a cause is left", ToText(cause.place));
  const PortRef port = OneOf(candidates, rng);
  taken_links_.insert(port);
  if (const std::string host = HostOf(port.node); !host.empty()) {
    for (NodeIndex node : hosts_.at(host)) taken_.insert(node);
  }
  return AtPort(port);
}

absl::StatusOr<CausePlace> CausePlaces::DrawHost(Rng& rng) {
  const std::vector<std::string> drawn = SomeHosts(1, "", rng);
  if (drawn.empty()) return NotFound("no random-host without a cause is left");
  const std::vector<NodeIndex>& adapters = hosts_.at(drawn[0]);
  taken_.insert(adapters.begin(), adapters.end());
  return CausePlace{drawn[0], {}, adapters, 0};
}

absl::StatusOr<CausePlace> CausePlaces::DrawSwitch(PlaceKind kind, Rng& rng) {
  std::set<NodeIndex> leaves;
  for (const auto& [port, rail] : rail_of_) leaves.insert(fabric_.LinkedPeer(port).node);
  std::vector<NodeIndex> candidates;
  for (NodeIndex node : switches_) {
    if (IsFree(node) && (kind != PlaceKind::kRandomLeaf || leaves.contains(node))) {
      candidates.push_back(node);
    }
  }
  if (candidates.empty()) return NotFound("no switch without a cause is left");
  const NodeIndex node = OneOf(candidates, rng);
  taken_.insert(node);
  return CausePlace{std::string(fabric_.device(node)->description()), {}, {node}, 0};
}

}  // namespace fabricd::sim
