// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/decorate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "common/rng.h"
#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "sim/device/link_rate.h"

namespace fabricd::sim {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;
using fabric::Port;
using wire::LinkSpeed;

enum Stream : uint64_t {
  kFailLinks = 1,
  kMixedSpeeds = 2,
  kPermutePorts = 3,
  kMissingHcas = 4,
  kSwapCables = 5
};

// The stream of one purpose; `of` tells apart the streams of one purpose.
Rng MakeStream(uint64_t seed, Stream purpose, Guid of = Guid()) {
  const uint64_t of_purpose = Rng(Rng(seed).Next() ^ purpose).Next();
  return Rng(of_purpose ^ of.value());
}

// `count` of the numbers below `all`, in the order in which they are drawn.
std::vector<size_t> Draw(size_t count, size_t all, Rng rng) {
  std::vector<size_t> numbers(all);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  for (size_t i = 0; i < count; ++i) std::swap(numbers[i], numbers[i + rng.Below(all - i)]);
  numbers.resize(count);
  return numbers;
}

LinkSpeed OneSlower(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::kXdr: return LinkSpeed::kNdr;
    case LinkSpeed::kNdr: return LinkSpeed::kHdr;
    case LinkSpeed::kHdr: return LinkSpeed::kEdr;
    case LinkSpeed::kEdr: return LinkSpeed::kFdr;
    case LinkSpeed::kFdr:
    case LinkSpeed::kFdr10: return LinkSpeed::kQdr;
    case LinkSpeed::kQdr: return LinkSpeed::kDdr;
    default: return LinkSpeed::kSdr;
  }
}

// A fabric being changed: copies of the nodes, that keep their old indices until Build().
class Decorator {
 public:
  explicit Decorator(const FabricSnapshot& fabric) : nodes_(fabric.node_index_end()) {
    fabric.ForEachNode([&](const Node& node) { nodes_[node.index.value()] = node; });
  }

  absl::Status Fill(double fraction);
  absl::Status TakeHcas(double fraction, Rng rng);
  absl::Status SwapCables(int pairs, Rng rng);
  absl::Status FailLinks(int count, Rng rng);
  absl::Status MixSpeeds(double fraction, Rng rng);
  void PermutePorts(uint64_t seed);
  void TakeAway(NodeIndex node);
  void CutCable(PortRef end);
  std::shared_ptr<const FabricSnapshot> Build() const;

 private:
  struct Cable {
    PortRef a, b;
  };
  Port& At(PortRef ref) { return nodes_[ref.node.value()]->ports[ref.port.value()]; }
  std::vector<Cable> SwitchCables() const;
  // The adapters of each host, hosts by the switch of their first cable.
  std::vector<std::vector<std::vector<NodeIndex>>> HostsBySwitch() const;
  void Disconnect(PortRef end);

  std::vector<std::optional<Node>> nodes_;  // [index]
};

void Decorator::Disconnect(PortRef end) {
  Port& port = At(end);
  port.peer = PortRef();
  port.fdr10 = false;
  port.info.port_state = wire::PortState::kDown;
  port.info.port_physical_state = wire::PortPhysicalState::kPolling;
  port.info.link_speed_active = port.info.link_width_active = 0;
  port.info.link_speed_ext_active = port.info.link_speed_ext_active2 = 0;
}

void Decorator::CutCable(PortRef end) {
  if (const PortRef peer = At(end).peer; !peer.IsNone()) Disconnect(peer);
  Disconnect(end);
}

void Decorator::TakeAway(NodeIndex node) {
  if (!nodes_[node.value()]) return;
  for (const Port& port : nodes_[node.value()]->ports) {
    if (!port.peer.IsNone()) Disconnect(port.peer);
  }
  nodes_[node.value()].reset();
}

std::vector<Decorator::Cable> Decorator::SwitchCables() const {
  std::vector<Cable> cables;
  for (const std::optional<Node>& node : nodes_) {
    if (!node || !node->IsSwitch()) continue;
    for (const auto& [self, port] : node->LinkPorts()) {
      const PortRef peer = port.peer;
      if (peer.IsNone() || peer < self || !nodes_[peer.node.value()]->IsSwitch()) continue;
      cables.push_back({self, peer});
    }
  }
  return cables;
}

std::vector<std::vector<std::vector<NodeIndex>>> Decorator::HostsBySwitch() const {
  std::vector<std::vector<std::vector<NodeIndex>>> groups;
  std::map<Guid, std::pair<size_t, size_t>> places;  // System: group, host within it.
  std::map<NodeIndex, size_t> group_of;
  for (const std::optional<Node>& node : nodes_) {
    if (!node || node->info.node_type != wire::NodeType::kChannelAdapter) continue;
    const Guid system = node->info.system_image_guid ? node->info.system_image_guid : node->guid();
    auto place = places.find(system);
    if (place == places.end()) {
      NodeIndex leaf = NodeIndex::None();
      for (const Port& port : node->ports) {
        if (leaf.IsNone()) leaf = port.peer.node;
      }
      const size_t group = group_of.emplace(leaf, groups.size()).first->second;
      if (group == groups.size()) groups.emplace_back();
      place = places.emplace(system, std::pair(group, groups[group].size())).first;
      groups[group].emplace_back();
    }
    groups[place->second.first][place->second.second].push_back(node->index);
  }
  return groups;
}

absl::Status Decorator::Fill(double fraction) {
  if (!(fraction > 0 && fraction <= 1)) {
    return InvalidArgument("fill {}: above 0, at most 1", fraction);
  }
  const auto groups = HostsBySwitch();
  size_t all = 0, before = 0;
  for (const auto& group : groups) all += group.size();
  const auto kept = static_cast<size_t>(std::llround(fraction * static_cast<double>(all)));
  if (kept == 0 && all > 0) {
    return InvalidArgument("fill {}: leaves none of {} hosts", fraction, all);
  }
  for (const auto& group : groups) {
    const size_t after = before + group.size();
    const size_t here = after * kept / all - before * kept / all;
    for (size_t host = here; host < group.size(); ++host) {
      for (NodeIndex adapter : group[host]) TakeAway(adapter);
    }
    before = after;
  }
  return absl::OkStatus();
}

absl::Status Decorator::TakeHcas(double fraction, Rng rng) {
  if (!(fraction >= 0 && fraction <= 1)) {
    return InvalidArgument("missing-hcas {}: from 0 to 1", fraction);
  }
  std::vector<NodeIndex> adapters;
  for (const std::optional<Node>& node : nodes_) {
    if (node && node->info.node_type == wire::NodeType::kChannelAdapter)
      adapters.push_back(node->index);
  }
  const auto count =
      static_cast<size_t>(std::llround(fraction * static_cast<double>(adapters.size())));
  for (size_t i : Draw(count, adapters.size(), rng)) TakeAway(adapters[i]);
  return absl::OkStatus();
}

absl::Status Decorator::SwapCables(int pairs, Rng rng) {
  std::vector<PortRef> ends;  // At the HCAs.
  for (const std::optional<Node>& node : nodes_) {
    if (!node || node->IsSwitch()) continue;
    for (const auto& [ref, port] : node->LinkPorts()) {
      if (const PortRef peer = port.peer; !peer.IsNone() && nodes_[peer.node.value()]->IsSwitch())
        ends.push_back(ref);
    }
  }
  std::vector<size_t> left = Draw(ends.size(), ends.size(), rng);
  int swapped = 0;
  for (; swapped < pairs && !left.empty(); ++swapped) {
    const PortRef a = ends[left.front()];
    const auto other = std::find_if(left.begin(), left.end(), [&](size_t i) {
      return At(ends[i]).peer.node != At(a).peer.node;
    });
    if (other == left.end()) break;
    const PortRef b = ends[*other];
    left.erase(other);
    left.erase(left.begin());
    std::swap(At(At(a).peer), At(At(b).peer));
    std::swap(At(At(a).peer).info.local_port, At(At(b).peer).info.local_port);
    std::swap(At(a).peer, At(b).peer);
  }
  if (pairs < 0 || swapped < pairs) {
    return InvalidArgument("swap-cables {}: from 0 to {}, the pairs of HCAs on different switches",
                           pairs, swapped);
  }
  return absl::OkStatus();
}

absl::Status Decorator::FailLinks(int count, Rng rng) {
  const std::vector<Cable> cables = SwitchCables();
  if (count < 0 || static_cast<size_t>(count) > cables.size()) {
    return InvalidArgument("fail-links {}: from 0 to {}, the cables between switches", count,
                           cables.size());
  }
  for (size_t i : Draw(static_cast<size_t>(count), cables.size(), rng)) {
    Disconnect(cables[i].a);
    Disconnect(cables[i].b);
  }
  return absl::OkStatus();
}

absl::Status Decorator::MixSpeeds(double fraction, Rng rng) {
  if (!(fraction >= 0 && fraction <= 1)) {
    return InvalidArgument("mixed-speeds {}: from 0 to 1", fraction);
  }
  const std::vector<Cable> cables = SwitchCables();
  const auto count =
      static_cast<size_t>(std::llround(fraction * static_cast<double>(cables.size())));
  for (size_t i : Draw(count, cables.size(), rng)) {
    const LinkSpeed speed = At(cables[i].a).Speed();
    if (speed <= LinkSpeed::kSdr) {
      return InvalidArgument("mixed-speeds {}: no speed is slower than {}", fraction,
                             wire::SpeedName(speed));
    }
    for (PortRef end : {cables[i].a, cables[i].b}) {
      Port& port = At(end);
      const int lanes = wire::ActiveWidth(port.info);
      port.fdr10 = false;
      // Supported too, or the cable would be as fast as the others after the first bounce.
      SetSupportedRate(port.info, OneSlower(speed), lanes);
      SetActiveRate(port.info, OneSlower(speed), lanes);
    }
  }
  return absl::OkStatus();
}

void Decorator::PermutePorts(uint64_t seed) {
  std::vector<std::vector<size_t>> numbers(nodes_.size());  // [index][old number]: new number
  for (std::optional<Node>& node : nodes_) {
    if (!node || !node->IsSwitch()) continue;
    // By GUID: a switch keeps its order when the fabric grows.
    const size_t external = node->ports.size() - 1;
    std::vector<size_t>& number = numbers[node->index.value()];
    number.push_back(0);
    for (size_t drawn : Draw(external, external, MakeStream(seed, kPermutePorts, node->guid()))) {
      number.push_back(drawn + 1);
    }
    std::vector<Port> ports(node->ports.size());
    for (size_t old = 0; old < ports.size(); ++old) {
      ports[number[old]] = std::move(node->ports[old]);
      ports[number[old]].info.local_port = PortNum(static_cast<uint8_t>(number[old]));
    }
    node->ports = std::move(ports);
  }
  for (std::optional<Node>& node : nodes_) {
    if (!node) continue;
    for (Port& port : node->ports) {
      if (port.peer.IsNone() || numbers[port.peer.node.value()].empty()) continue;
      const size_t number = numbers[port.peer.node.value()][port.peer.port.value()];
      port.peer.port = PortNum(static_cast<uint8_t>(number));
    }
  }
}

std::shared_ptr<const FabricSnapshot> Decorator::Build() const {
  fabric::SnapshotBuilder builder;
  std::vector<NodeIndex> indices(nodes_.size());
  for (const std::optional<Node>& node : nodes_) {
    if (!node) continue;
    const NodeIndex index = indices[node->index.value()] = builder.PutNode(node->info);
    builder.SetDescription(index, node->description);
    if (node->switch_info) builder.SetSwitchInfo(index, *node->switch_info);
    for (const auto& [ref, port] : node->AllPorts()) {
      const PortRef self{index, ref.port};
      if (port.known) builder.SetPortInfo(self, port.info);
      builder.SetPortGuid(self, port.guid);
      builder.SetPortFdr10(self, port.fdr10);
    }
  }
  for (const std::optional<Node>& node : nodes_) {
    if (!node) continue;
    for (const auto& [ref, port] : node->AllPorts()) {
      const PortRef peer = port.peer;
      if (peer.IsNone()) continue;
      builder.Link({indices[node->index.value()], ref.port},
                   {indices[peer.node.value()], peer.port});
    }
  }
  return builder.Build();
}

}  // namespace

std::vector<Parameter> DecorationParameters(Decoration& decoration) {
  return {
      {"fill", "Fraction of the hosts that are there, spread evenly", &decoration.fill},
      {"missing-hcas", "Fraction of the HCAs that are gone, by seed", &decoration.missing_hcas},
      {"swap-cables", "Pairs of HCAs whose cables are exchanged, by seed", &decoration.swap_cables},
      {"fail-links", "Cables between switches that are gone, by seed", &decoration.fail_links},
      {"mixed-speeds", "Fraction of the cables between switches one generation slower, by seed",
       &decoration.mixed_speeds},
      {"permute-ports", "Number the ports of every switch anew, by seed",
       &decoration.permute_ports},
      {"seed", "Seed of what is drawn by chance", &decoration.seed}};
}

absl::StatusOr<std::shared_ptr<const FabricSnapshot>> Decorate(
    std::shared_ptr<const FabricSnapshot> fabric, const Decoration& decoration) {
  Decoration plain;
  plain.seed = decoration.seed;
  if (decoration == plain) return fabric;
  Decorator decorator(*fabric);
  FABRICD_RETURN_IF_ERROR(decorator.Fill(decoration.fill));
  FABRICD_RETURN_IF_ERROR(
      decorator.TakeHcas(decoration.missing_hcas, MakeStream(decoration.seed, kMissingHcas)));
  FABRICD_RETURN_IF_ERROR(
      decorator.SwapCables(decoration.swap_cables, MakeStream(decoration.seed, kSwapCables)));
  FABRICD_RETURN_IF_ERROR(
      decorator.FailLinks(decoration.fail_links, MakeStream(decoration.seed, kFailLinks)));
  FABRICD_RETURN_IF_ERROR(
      decorator.MixSpeeds(decoration.mixed_speeds, MakeStream(decoration.seed, kMixedSpeeds)));
  if (decoration.permute_ports) decorator.PermutePorts(decoration.seed);
  return decorator.Build();
}

std::shared_ptr<const FabricSnapshot> Remove(const FabricSnapshot& fabric,
                                             const std::vector<PortRef>& cables,
                                             const std::vector<NodeIndex>& nodes) {
  Decorator decorator(fabric);
  for (PortRef end : cables) decorator.CutCable(end);
  for (NodeIndex node : nodes) decorator.TakeAway(node);
  return decorator.Build();
}

}  // namespace fabricd::sim
