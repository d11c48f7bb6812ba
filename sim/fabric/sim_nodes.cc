// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_nodes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"
#include "fabric/hosts.h"

namespace fabricd::sim {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "node2" before "node10": runs of digits compare as numbers.
bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!IsDigit(a[i]) || !IsDigit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    size_t end_a = i, end_b = j;
    while (end_a < a.size() && IsDigit(a[end_a])) ++end_a;
    while (end_b < b.size() && IsDigit(b[end_b])) ++end_b;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    if (const int order = a.compare(i, end_a - i, b, j, end_b - j)) return order < 0;
    i = end_a, j = end_b;
  }
  return a.size() - i < b.size() - j;
}

// "0x…", "S-…", "H-…", "R-…" or 16 bare hex digits.
std::optional<Guid> ParseGuid(const std::string& text) {
  size_t at = 0;
  if (text.rfind("0x", 0) == 0 || text.rfind("S-", 0) == 0 || text.rfind("H-", 0) == 0 ||
      text.rfind("R-", 0) == 0) {
    at = 2;
  } else if (text.size() != 16) {
    return std::nullopt;
  }
  const auto value = ParseNumber<uint64_t>(std::string_view(text).substr(at), 16);
  return value ? std::optional(Guid(*value)) : std::nullopt;
}

}  // namespace

SimNodes::SimNodes(const fabric::FabricSnapshot& topology, const DeviceOptions& options) {
  nodes_.resize(topology.node_index_end());
  topology.ForEachNode([&](const fabric::Node& node) {
    nodes_[node.index.value()].device = std::make_unique<SimDevice>(node, options);
    by_guid_.emplace(node.guid(), node.index);
    by_description_[node.description].push_back(node.index);
  });
}

absl::Status SimNodes::CheckSocket(PortRef port) const {
  if (!Find(port.node)) return NotFound("no node {} in the simulated fabric", port.node);
  const SimDevice& node = Device(port.node);
  if (port.port.value() == 0 || !node.HasPort(port.port)) {
    return NotFound("'{}' ({}) has no port {}", node.description(), node.guid(), port.port);
  }
  return absl::OkStatus();
}

PortRef SimNodes::DefaultHostPort() const {
  PortRef best;
  bool best_linked = false;
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const SimDevice* candidate = nodes_[index].device.get();
    if (!candidate || candidate->node_info().node_type != wire::NodeType::kChannelAdapter) continue;
    for (uint8_t number = 1; number <= candidate->last_port().value(); ++number) {
      const bool linked = candidate->port(PortNum(number)).plugged;
      bool better = best.IsNone() || (linked && !best_linked);
      if (!better && linked == best_linked && best.node.value() != index) {
        const SimDevice& other = Device(best.node);
        better =
            NaturalLess(candidate->description(), other.description()) ||
            (candidate->description() == other.description() && candidate->guid() < other.guid());
      }
      if (better) {
        best = {NodeIndex(index), PortNum(number)};
        best_linked = linked;
      }
    }
  }
  return best;
}

absl::StatusOr<NodeIndex> SimNodes::FindNode(const std::string& name) const {
  if (const auto found = by_description_.find(name); found != by_description_.end()) {
    if (found->second.size() == 1) return found->second.front();
    std::string guids;
    for (NodeIndex node : found->second) {
      guids += fmt::format("{}{}", guids.empty() ? "" : ", ", Device(node).guid());
    }
    return InvalidArgument("{} nodes are called '{}': {}", found->second.size(), name, guids);
  }
  if (const auto guid = ParseGuid(name)) {
    if (const auto found = by_guid_.find(*guid); found != by_guid_.end()) return found->second;
  }
  return NotFound("no node '{}' in the simulated fabric", name);
}

absl::StatusOr<PortRef> SimNodes::FindHostPort(const std::string& name) const {
  absl::StatusOr<NodeIndex> node = FindNode(name);
  std::optional<uint8_t> number;
  const size_t slash = name.rfind('/');
  if (!node.ok() && slash != std::string::npos) {
    number = ParseNumber<uint8_t>(std::string_view(name).substr(slash + 1));
    if (number) node = FindNode(name.substr(0, slash));
  }
  if (!node.ok()) return node.status();
  const SimDevice& found = Device(*node);
  const uint8_t first = found.IsSwitch() ? 0 : 1;
  const uint8_t last = found.IsSwitch() ? 0 : found.last_port().value();
  const uint8_t port = number.value_or(first);
  if (port < first || port > last) {
    return NotFound("'{}' has no end port {}", found.description(), port);
  }
  return PortRef{*node, PortNum(port)};
}

SimEndpoint SimNodes::Endpoint(PortRef port) const {
  return {Device(port.node).description(), Device(port.node).guid(), port.port};
}

std::vector<SimCable> SimNodes::ListCables() const {
  std::vector<SimCable> cables;
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    if (!nodes_[index].device) continue;
    for (uint8_t number = 1; number <= nodes_[index].device->last_port().value(); ++number) {
      const PortRef ref{NodeIndex(index), PortNum(number)};
      const SimPort& port = Port(ref);
      if (port.cable.IsNone() || port.cable < ref) continue;
      SimCable cable{Endpoint(ref), Endpoint(port.cable), port.plugged,
                     port.info.port_state >= wire::PortState::kInit};
      if (std::pair(cable.b.guid, cable.b.port) < std::pair(cable.a.guid, cable.a.port)) {
        std::swap(cable.a, cable.b);
      }
      cables.push_back(std::move(cable));
    }
  }
  std::sort(cables.begin(), cables.end(), [](const SimCable& x, const SimCable& y) {
    return std::pair(x.a.guid, x.a.port) < std::pair(y.a.guid, y.a.port);
  });
  return cables;
}

std::vector<SimNode> SimNodes::ListNodes() const {
  std::vector<SimNode> nodes;
  for (const Node& node : nodes_) {
    if (!node.device) continue;
    nodes.push_back({node.device->description(), node.device->guid(), node.device->IsSwitch(),
                     node.device->node_info().num_ports, node.power.on});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const SimNode& a, const SimNode& b) { return a.guid < b.guid; });
  return nodes;
}

std::map<std::string, std::vector<NodeIndex>> SimNodes::Hosts() const {
  const fabric::HostPatterns patterns;
  std::map<std::string, std::vector<NodeIndex>> hosts;
  for (uint32_t i = 0; i < index_end(); ++i) {
    const SimDevice* device = Find(NodeIndex(i));
    if (device == nullptr || device->node_info().node_type != wire::NodeType::kChannelAdapter) {
      continue;
    }
    const std::string name = patterns.Read(device->description()).host;
    hosts[name.empty() ? device->description() : name].push_back(NodeIndex(i));
  }
  for (auto& [name, adapters] : hosts) {
    std::stable_sort(adapters.begin(), adapters.end(), [this](NodeIndex a, NodeIndex b) {
      return NaturalLess(Device(a).description(), Device(b).description());
    });
  }
  return hosts;
}

}  // namespace fabricd::sim
