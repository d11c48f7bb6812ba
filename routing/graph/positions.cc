// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/positions.h"

#include <algorithm>
#include <bitset>

#include "routing/graph/union_find.h"

namespace fabricd::routing {
namespace {

// What the switches of one group have at their ports.
struct Layout {
  std::bitset<256> hosts, others;  // Ports with a host, and with anything else, on any of them.
  size_t most = 0;                 // Hosts on one of them.
  bool IsShared() const { return (hosts & others).none(); }
};

class Layouts {
 public:
  Layouts(const SwitchGraph& graph, const Levels& levels)
      : graph_(graph), groups_(graph.size()), hosts_(graph.size()) {
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (uint32_t i = 0; levels.rank[s] == 0 && i < graph.degree(s); ++i)
        if (const uint32_t head = graph.neighbor(s, i).head; levels.rank[head] == 1)
          groups_.Join(s, head);
    layouts_.resize(2 * size_t{graph.size()});
    for (uint32_t s = 0; s < graph.size(); ++s) {
      // Hosts that are not on a leaf share no layout with anyone.
      layout_of_.push_back(levels.rank[s] == 0 ? groups_.Find(s) : graph.size() + s);
      if (graph.hosts[s] > 0) AddSwitch(s);
    }
  }

  // Host ports of one switch; indices into SwitchGraph::ends, by port.
  const std::vector<uint32_t>& HostsOf(uint32_t s) const { return hosts_[s]; }

  void AddPositions(uint32_t s, std::vector<uint32_t>& positions) const {
    const Layout& layout = layouts_[layout_of_[s]];
    if (!layout.IsShared()) {
      positions.insert(positions.end(), hosts_[s].begin(), hosts_[s].end());
      positions.resize(positions.size() + layout.most - hosts_[s].size(), kHole);
      return;
    }
    auto host = hosts_[s].begin();
    for (size_t port = 1; port < layout.hosts.size(); ++port) {
      if (!layout.hosts[port]) continue;
      const bool here = host != hosts_[s].end() && graph_.ends[*host].port == port;
      positions.push_back(here ? *host++ : kHole);
    }
  }

 private:
  void AddSwitch(uint32_t s) {
    Layout& layout = layouts_[layout_of_[s]];
    for (uint32_t e = graph_.end_begin[s]; e < graph_.end_begin[s + 1]; ++e) {
      const EndPort& end = graph_.ends[e];
      if (end.IsSwitch()) continue;
      if (end.IsHost()) hosts_[s].push_back(e);
      (end.IsHost() ? layout.hosts : layout.others).set(end.port);
    }
    layout.most = std::max(layout.most, hosts_[s].size());
    for (uint32_t i = 0; i < graph_.degree(s); ++i) {
      const Neighbor& neighbor = graph_.neighbor(s, i);
      for (uint32_t c = 0; c < neighbor.cable_count; ++c)
        layout.others.set(graph_.cables[neighbor.first_cable + c].port);
    }
  }

  const SwitchGraph& graph_;
  UnionFind groups_;                          // Of switches.
  std::vector<std::vector<uint32_t>> hosts_;  // [switch]
  std::vector<uint32_t> layout_of_;           // [switch]
  std::vector<Layout> layouts_;
};

}  // namespace

std::vector<uint32_t> FindPositions(const SwitchGraph& graph, const Levels& levels) {
  const Layouts layouts(graph, levels);
  std::vector<uint32_t> positions;
  uint32_t last = graph.size();
  for (const Destination& destination : TopologicalOrder(graph, levels)) {
    const uint32_t s = destination.at;
    // Hosts come first, switch by switch; the other classes of destinations follow.
    if (destination.port == 0) break;
    if (s == last || layouts.HostsOf(s).empty()) continue;
    const EndPort& first = graph.ends[layouts.HostsOf(s).front()];
    if (first.base_lid != destination.base_lid) continue;  // An aggregation node.
    last = s;
    layouts.AddPositions(s, positions);
  }
  return positions;
}

}  // namespace fabricd::routing
