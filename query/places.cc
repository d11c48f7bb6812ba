// SPDX-License-Identifier: Apache-2.0
#include "query/places.h"

#include <algorithm>
#include <map>

namespace fabricd::query {
namespace {

using fabric::Node;

constexpr int kNoRail = -1;

template <typename Use>
void ForEachPeer(const Node& node, Use&& use) {
  for (const auto& [ref, port] : node.LinkPorts())
    if (!port.peer.IsNone()) use(port.peer.node);
}

}  // namespace

Places::Places(const fabric::FabricSnapshot& snapshot, const fabric::HostTable& hosts,
               const routing::TreeLayout* layout)
    : tiers_(snapshot.node_index_end()),
      rails_(snapshot.node_index_end(), kNoRail),
      is_host_(snapshot.node_index_end()) {
  for (const fabric::Host& host : hosts.hosts())
    for (const fabric::HostPort& port : host.ports) is_host_[port.port.node.value()] = true;
  FindTiers(snapshot, layout);
  FindRails(snapshot, hosts);
}

bool Places::StayPut(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& now,
                     const routing::TreeLayout* layout) {
  bool same = true;
  const auto is_placed = [&](const Node& node) {
    return node.IsSwitch() && layout && layout->RankOf(node.index) != routing::TreeLayout::kUnknown;
  };
  before.ForEachNotShared(now, [&](NodeIndex index) {
    const Node* was = before.node(index);
    const Node* is = now.node(index);
    same = same && was && is && was->ports.size() == is->ports.size();
    for (size_t number = 1; same && !is_placed(*is) && number < is->ports.size(); ++number)
      same = was->ports[number].peer == is->ports[number].peer;
  });
  return same;
}

// Switches that neither the layout nor hosts place: one more than the first switch that reaches
// them, lower tiers first.
void Places::FindTiers(const fabric::FabricSnapshot& snapshot, const routing::TreeLayout* layout) {
  std::vector<NodeIndex> found;
  snapshot.ForEachNode([&](const Node& node) {
    if (!node.IsSwitch()) return;
    uint32_t& tier = tiers_[node.index.value()];
    ForEachPeer(node, [&](NodeIndex peer) { tier |= is_host_[peer.value()]; });
    const uint32_t rank =
        layout ? layout->RankOf(node.index) : uint32_t{routing::TreeLayout::kUnknown};
    if (rank != routing::TreeLayout::kUnknown) tier = rank + 1;
    if (tier > 0) found.push_back(node.index);
  });
  std::stable_sort(found.begin(), found.end(),
                   [&](NodeIndex a, NodeIndex b) { return tiers_[a.value()] < tiers_[b.value()]; });
  for (size_t at = 0; at < found.size(); ++at) {
    const uint32_t next = tiers_[found[at].value()] + 1;
    ForEachPeer(*snapshot.node(found[at]), [&](NodeIndex peer) {
      if (!snapshot.node(peer)->IsSwitch() || tiers_[peer.value()] > 0) return;
      tiers_[peer.value()] = next;
      found.push_back(peer);
    });
  }
}

// A leaf is of the rail that more than half of its HCAs are of: one cable that is misplaced takes
// none out of its rail.
void Places::FindRails(const fabric::FabricSnapshot& snapshot, const fabric::HostTable& hosts) {
  std::map<NodeIndex, std::map<int, size_t>> hcas;  // By leaf and rail.
  for (const fabric::Host& host : hosts.hosts())
    for (const fabric::HostPort& port : host.ports) {
      if (port.rail < 0) continue;
      int& own = rails_[port.port.node.value()];
      if (own == kNoRail) own = port.rail;
      const PortRef peer = snapshot.port(port.port)->peer;
      if (peer.IsNone() || !snapshot.node(peer.node)->IsSwitch()) continue;
      ++hcas[peer.node][port.rail];
    }
  for (const auto& [leaf, by_rail] : hcas) {
    size_t all = 0;
    for (const auto& [rail, count] : by_rail) all += count;
    for (const auto& [rail, count] : by_rail)
      if (2 * count > all) rails_[leaf.value()] = rail;
  }
}

const char* Places::role(const Node& node) const {
  if (node.info.node_type == wire::NodeType::kRouter) return "router";
  if (!node.IsSwitch()) return is_host_[node.index.value()] ? "host" : "other";
  const uint32_t tier = tiers_[node.index.value()];
  return tier == 1 ? "leaf" : tier == 2 ? "spine" : "core";
}

}  // namespace fabricd::query
