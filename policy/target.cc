// SPDX-License-Identifier: Apache-2.0
#include "policy/target.h"

#include <algorithm>

#include "common/check.h"
#include "common/number_text.h"
#include "common/sort_unique.h"
#include "common/status.h"

namespace fabricd::policy {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

HeldPort HeldPortOf(PortRef port, const FabricSnapshot& snapshot) {
  return {snapshot.node(port.node)->guid(), port.port};
}

const Node* PeerOf(PortRef port, const FabricSnapshot& snapshot) {
  const fabric::Port* own = snapshot.port(port);
  return own == nullptr || own->peer.IsNone() ? nullptr : snapshot.node(own->peer.node);
}

// Whether the SM still gets to `goal` when the link of `cut` is gone. Only switches pass on.
bool IsReachableWithout(PortRef cut, NodeIndex goal, const FabricSnapshot& snapshot,
                        PortRef sm_port) {
  const PortRef other = snapshot.port(cut)->peer;
  std::vector<bool> seen(snapshot.node_index_end());
  std::vector<NodeIndex> queue = {sm_port.node};
  seen[sm_port.node.value()] = true;
  for (size_t i = 0; i < queue.size(); ++i) {
    if (queue[i] == goal) return true;
    const Node* node = snapshot.node(queue[i]);
    if (node == nullptr || (!node->IsSwitch() && i > 0)) continue;
    for (const auto& [here, port] : node->LinkPorts()) {
      const PortRef peer = port.peer;
      if (peer.IsNone() || here == cut || here == other || seen[peer.node.value()]) continue;
      seen[peer.node.value()] = true;
      queue.push_back(peer.node);
    }
  }
  return false;
}

// The switch port by which the link of `port` is taken down, and up again later: the end whose
// switch stays reachable; of two such ends the one that was named.
std::vector<HeldPort> FacingOfLink(PortRef port, const FabricSnapshot& snapshot, PortRef sm_port) {
  const Node& node = *snapshot.node(port.node);
  const Node* peer = PeerOf(port, snapshot);
  const bool peer_is_switch = peer != nullptr && peer->IsSwitch();
  if (!node.IsSwitch() && !peer_is_switch) return {};
  if (!node.IsSwitch()) return {HeldPortOf(snapshot.port(port)->peer, snapshot)};
  if (!peer_is_switch || sm_port.IsNone() || snapshot.port(sm_port) == nullptr)
    return {HeldPortOf(port, snapshot)};
  if (IsReachableWithout(port, port.node, snapshot, sm_port)) return {HeldPortOf(port, snapshot)};
  return {HeldPortOf(snapshot.port(port)->peer, snapshot)};
}

// The switch ports at the other ends of all links of a node.
void AddFacing(const Node& node, const FabricSnapshot& snapshot, std::vector<HeldPort>& facing) {
  for (const auto& [ref, port] : node.LinkPorts()) {
    const Node* other = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
    if (other != nullptr && other->IsSwitch()) facing.push_back(HeldPortOf(port.peer, snapshot));
  }
}

class Resolver {
 public:
  Resolver(const TargetPlaces& places) : places_(places), snapshot_(places.snapshot) {}

  absl::StatusOr<HoldTarget> Resolve(std::optional<TargetKind> kind, std::string_view text) const {
    absl::StatusOr<HoldTarget> target = ResolveKind(kind, text);
    if (target.ok()) AddBehind(*target);
    return target;
  }

 private:
  using Address = fabric::NameTable::Address;

  // What hangs on the target: at the other ends of the ports that face it, and on a switch.
  void AddBehind(HoldTarget& target) const {
    const auto add = [&](PortRef end) {
      const fabric::Host* host = end.IsNone() ? nullptr : places_.hosts.HostOf(end.node);
      if (host == nullptr) return;
      for (const fabric::HostPort& port : host->ports)
        if (port.port == end)
          target.behind.push_back(fmt::format("{}/{}", host->name, port.device));
    };
    for (const HeldPort& facing : target.facing)
      add(snapshot_.port(PortRef{snapshot_.FindNode(facing.node)->index, facing.port})->peer);
    for (const Guid guid : target.nodes) {
      const Node& node = *snapshot_.FindNode(guid);
      if (!node.IsSwitch()) continue;
      for (const auto& [ref, port] : node.LinkPorts()) add(port.peer);
    }
    SortUnique(target.behind);
  }

  absl::StatusOr<HoldTarget> ResolveKind(std::optional<TargetKind> kind,
                                         std::string_view text) const {
    if (text.empty()) return InvalidArgument("no target is named");
    if (!kind) return Guess(text);
    switch (*kind) {
      case TargetKind::kHost: return ResolveHost(text);
      case TargetKind::kHca: return ResolveNode(TargetKind::kHca, text);
      case TargetKind::kSwitch: return ResolveNode(TargetKind::kSwitch, text);
      case TargetKind::kPort: return ResolvePort(text);
      case TargetKind::kLink: return ResolveLink(text);
    }
    return InvalidArgument("target kind {} does not exist", static_cast<int>(*kind));
  }

  fabric::NameTable Names() const { return {snapshot_, places_.names, places_.lids}; }

  std::string NameOf(const Node& node) const {
    const fabric::NodeNameMap* names = places_.names.map();
    const fabric::Host* host = places_.hosts.HostOf(node.index);
    if (host != nullptr && (names == nullptr || names->Find(node.guid()).empty()))
      for (const fabric::HostPort& port : host->ports)
        if (port.port.node == node.index && !port.device.empty())
          return fmt::format("{}/{}", host->name, port.device);
    return fabric::DisplayName(node, names);
  }

  // A node, with or without a port.
  absl::StatusOr<Address> Find(std::string_view text) const {
    if (text.starts_with("lid:")) return FindByLid(text.substr(4));
    const absl::StatusOr<Address> device = FindByDevice(text);
    if (device.ok() || !absl::IsNotFound(device.status())) return device;
    absl::StatusOr<Address> found = Names().Resolve(text);
    // Of a host that is there, what it has not says more than that there is no such node.
    const bool has_host = places_.hosts.Find(text.substr(0, text.find('/'))) != nullptr;
    return !found.ok() && absl::IsNotFound(found.status()) && has_host ? device : found;
  }

  absl::StatusOr<Address> FindByLid(std::string_view text) const {
    const uint16_t lid = ParseDecimalOrHex<uint16_t>(text).value_or(0);
    if (lid == 0 || lid > kMaxUnicastLid.value())
      return InvalidArgument("\"{}\" is no unicast LID", text);
    const absl::StatusOr<Address> found = Names().Resolve(std::to_string(lid));
    // Nodes may be named by numbers.
    if (!found.ok() || !found->has_port) return NotFound("no port has LID {}", lid);
    return found;
  }

  // "node12/mlx5_3" or "node12/mlx5_3/1": host tables know devices, descriptions need not.
  absl::StatusOr<Address> FindByDevice(std::string_view text) const {
    const size_t slash = text.find('/');
    const fabric::Host* host =
        slash == std::string_view::npos ? nullptr : places_.hosts.Find(text.substr(0, slash));
    if (host == nullptr) return NotFound("no host \"{}\"", text.substr(0, slash));
    std::string_view device = text.substr(slash + 1);
    std::optional<PortNum> port;
    if (const size_t second = device.find('/'); second != std::string_view::npos) {
      const auto number = ParseNumber<uint8_t>(device.substr(second + 1));
      if (!number) return InvalidArgument("\"{}\" is no port number", device.substr(second + 1));
      port = PortNum(*number);
      device = device.substr(0, second);
    }
    for (const fabric::HostPort& own : host->ports)
      if (own.device == device && (!port || own.port.port == *port))
        return Address{own.port.node, port.has_value(), port.value_or(PortNum(0))};
    return NotFound("host {} has no {}{}; it has {}", host->name, device,
                    port ? fmt::format(" with a port {}", *port) : "", DevicesOf(*host));
  }

  static std::string DevicesOf(const fabric::Host& host) {
    std::vector<std::string> names;
    for (const fabric::HostPort& port : host.ports)
      if (names.empty() || names.back() != port.device) names.push_back(port.device);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  absl::StatusOr<HoldTarget> ResolveHost(std::string_view text) const {
    const fabric::Host* host = places_.hosts.Find(text);
    if (host != nullptr) return TargetOfHost(*host);
    const absl::StatusOr<Address> address = Find(text);
    if (!address.ok()) {
      if (absl::IsNotFound(address.status())) return NotFound("no host \"{}\"", text);
      // Several adapters of one host have one description: they are the host all the same.
      return address.status();
    }
    host = places_.hosts.HostOf(address->node);
    if (host == nullptr)
      return InvalidArgument("\"{}\" is {} {}, not a host", text,
                             snapshot_.node(address->node)->IsSwitch() ? "switch" : "node",
                             NameOf(*snapshot_.node(address->node)));
    return TargetOfHost(*host);
  }

  HoldTarget TargetOfHost(const fabric::Host& host) const {
    HoldTarget target{TargetKind::kHost, host.name, {}, {}, {}};
    for (const fabric::HostPort& port : host.ports)
      target.nodes.push_back(snapshot_.node(port.port.node)->guid());
    SortUnique(target.nodes);
    for (Guid guid : target.nodes) AddFacing(*snapshot_.FindNode(guid), snapshot_, target.facing);
    SortUnique(target.facing);
    return target;
  }

  absl::StatusOr<HoldTarget> ResolveNode(TargetKind kind, std::string_view text) const {
    const absl::StatusOr<Address> address = Find(text);
    if (!address.ok()) {
      if (absl::IsNotFound(address.status()))
        return NotFound("no {}: {}", TargetKindName(kind), Message(address.status()));
      return address.status();
    }
    const Node& node = *snapshot_.node(address->node);
    if (node.IsSwitch() != (kind == TargetKind::kSwitch))
      return InvalidArgument("{} is {}, not {}", NameOf(node),
                             node.IsSwitch() ? "a switch" : "no switch",
                             kind == TargetKind::kSwitch ? "a switch" : "an HCA");
    return TargetOfNode(node);
  }

  HoldTarget TargetOfNode(const Node& node) const {
    HoldTarget target{node.IsSwitch() ? TargetKind::kSwitch : TargetKind::kHca,
                      NameOf(node),
                      {node.guid()},
                      {},
                      {}};
    AddFacing(node, snapshot_, target.facing);
    SortUnique(target.facing);
    return target;
  }

  // The one port that the address names.
  absl::StatusOr<PortRef> OnePort(std::string_view text) const {
    const absl::StatusOr<Address> address = Find(text);
    if (!address.ok()) return address.status();
    const Node& node = *snapshot_.node(address->node);
    // A LID or GUID of a switch names its port 0, which no link has.
    if (address->has_port && address->port != PortNum(0)) return PortRef{node.index, address->port};
    if (!node.IsSwitch() && node.info.num_ports == 1) return PortRef{node.index, PortNum(1)};
    return InvalidArgument("{} has {} ports: name one as {}/PORT", NameOf(node),
                           node.info.num_ports, NameOf(node));
  }

  absl::StatusOr<HoldTarget> ResolvePort(std::string_view text) const {
    const absl::StatusOr<PortRef> port = OnePort(text);
    if (!port.ok()) return port.status();
    HoldTarget target = TargetOfPort(*port, snapshot_, places_.names.map(), places_.sm_port);
    target.name = fabric::PortName(NameOf(*snapshot_.node(port->node)), port->port);
    return target;
  }

  absl::StatusOr<HoldTarget> ResolveLink(std::string_view text) const {
    const absl::StatusOr<PortRef> port = OnePort(text);
    if (!port.ok()) return port.status();
    if (PeerOf(*port, snapshot_) == nullptr)
      return NotFound("{} has no link",
                      fabric::PortName(NameOf(*snapshot_.node(port->node)), port->port));
    return TargetOfLink(*port, snapshot_, places_.names.map(), places_.sm_port);
  }

  absl::StatusOr<HoldTarget> Guess(std::string_view text) const {
    if (const fabric::Host* host = places_.hosts.Find(text)) return TargetOfHost(*host);
    const absl::StatusOr<Address> address = Find(text);
    if (!address.ok()) return address.status();
    const Node& node = *snapshot_.node(address->node);
    const bool is_port = address->has_port && address->port != PortNum(0) &&
                         (node.IsSwitch() || node.info.num_ports > 1);
    return is_port ? ResolvePort(text) : TargetOfNode(node);
  }

  const TargetPlaces& places_;
  const FabricSnapshot& snapshot_;
};

}  // namespace

absl::StatusOr<HoldTarget> ResolveTarget(std::optional<TargetKind> kind, std::string_view text,
                                         const TargetPlaces& places) {
  return Resolver(places).Resolve(kind, Trim(text));
}

HoldTarget TargetOfPort(PortRef port, const FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names, PortRef sm_port) {
  const Node* node = snapshot.node(port.node);
  FABRICD_CHECK(node != nullptr && port.port.value() < node->ports.size());
  return {TargetKind::kPort,
          fabric::PortName(*node, port.port, names),
          {},
          {HeldPortOf(port, snapshot)},
          FacingOfLink(port, snapshot, sm_port)};
}

HoldTarget TargetOfLink(PortRef port, const FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names, PortRef sm_port) {
  HoldTarget target = TargetOfPort(port, snapshot, names, sm_port);
  const PortRef peer = snapshot.port(port)->peer;
  FABRICD_CHECK(!peer.IsNone());
  target.kind = TargetKind::kLink;
  target.ports.push_back(HeldPortOf(peer, snapshot));
  std::sort(target.ports.begin(), target.ports.end());
  return target;
}

std::string_view TargetKindName(TargetKind kind) {
  switch (kind) {
    case TargetKind::kHost: return "host";
    case TargetKind::kHca: return "HCA";
    case TargetKind::kSwitch: return "switch";
    case TargetKind::kPort: return "port";
    case TargetKind::kLink: return "link";
  }
  return "unknown";
}

std::string_view HoldKindName(HoldKind kind) {
  switch (kind) {
    case HoldKind::kCordon: return "cordon";
    case HoldKind::kDrain: return "drain";
    case HoldKind::kIsolate: return "isolate";
    case HoldKind::kDisable: return "disable";
  }
  return "unknown";
}

std::string HoldKindText(const Hold& hold) {
  const bool soft = hold.kind == HoldKind::kDrain && hold.mode == DrainMode::kSoft;
  return fmt::format("{}{}", HoldKindName(hold.kind), soft ? " (soft)" : "");
}

}  // namespace fabricd::policy
