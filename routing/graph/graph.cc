// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/graph.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "fabric/aggregation_node.h"
#include "routing/plan/no_index.h"
#include "routing/plan/usable.h"

namespace fabricd::routing {
namespace {

using fabric::FabricSnapshot;
using fabric::LidTable;
using fabric::Node;
using fabric::Port;

// The far end of an up link that can stand in a table; nullptr otherwise.
const Node* UpPeer(const FabricSnapshot& snapshot, const Node& node, size_t number) {
  const Port& port = node.ports[number];
  if (!port.IsUp() || port.peer.IsNone()) return nullptr;
  const Port* far = snapshot.port(port.peer);
  return far && far->IsUp() ? snapshot.node(port.peer.node) : nullptr;
}

size_t UsablePorts(const Node& node) { return std::min<size_t>(node.ports.size(), 255); }

struct Link {
  uint32_t tail, head;
  Cable cable;
};

// The switches of the snapshot by GUID, and the arcs between them.
struct Whole {
  std::vector<const Node*> switches;
  std::vector<uint32_t> number;     // [NodeIndex], kNone for what is not a switch.
  std::vector<Link> links;          // By tail, head, port.
  std::vector<uint32_t> component;  // [switch] Component, numbered by lowest switch.
  uint32_t components = 0;
};

void FindComponents(Whole& whole) {
  whole.component.assign(whole.switches.size(), kNone);
  std::vector<uint32_t> first(whole.switches.size() + 1, 0), stack;
  for (const Link& link : whole.links) ++first[link.tail + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  for (uint32_t s = 0; s < whole.switches.size(); ++s) {
    if (whole.component[s] != kNone) continue;
    whole.component[s] = whole.components;
    stack.assign(1, s);
    while (!stack.empty()) {
      const uint32_t tail = stack.back();
      stack.pop_back();
      for (uint32_t i = first[tail]; i < first[tail + 1]; ++i) {
        const uint32_t head = whole.links[i].head;
        if (whole.component[head] != kNone) continue;
        whole.component[head] = whole.components;
        stack.push_back(head);
      }
    }
    ++whole.components;
  }
}

Whole Survey(const FabricSnapshot& snapshot) {
  Whole whole;
  snapshot.ForEachNode([&](const Node& node) {
    if (node.IsSwitch()) whole.switches.push_back(&node);
  });
  std::sort(whole.switches.begin(), whole.switches.end(),
            [](const Node* a, const Node* b) { return a->guid() < b->guid(); });
  whole.number.assign(snapshot.node_index_end(), kNone);
  for (uint32_t s = 0; s < whole.switches.size(); ++s)
    whole.number[whole.switches[s]->index.value()] = s;
  for (uint32_t s = 0; s < whole.switches.size(); ++s) {
    const Node& node = *whole.switches[s];
    for (size_t port = 1; port < UsablePorts(node); ++port) {
      const Node* peer = UpPeer(snapshot, node, port);
      if (!peer || !peer->IsSwitch() || peer == &node) continue;
      const uint8_t head_port = node.ports[port].peer.port.value();
      if (head_port == 0 || head_port == 255) continue;
      whole.links.push_back(
          {s, whole.number[peer->index.value()], {static_cast<uint8_t>(port), head_port}});
    }
  }
  std::stable_sort(whole.links.begin(), whole.links.end(), [](const Link& a, const Link& b) {
    return std::tie(a.tail, a.head, a.cable.port) < std::tie(b.tail, b.head, b.cable.port);
  });
  FindComponents(whole);
  return whole;
}

void AddEnd(SwitchGraph& graph, uint32_t at, uint8_t port, PortRef owner, bool aggregation,
            const LidTable& lids) {
  const fabric::LidRange range = lids.Of(owner);
  if (!range.base) return;
  graph.ends.push_back({owner, at, port, range.base.value(), range.lmc, aggregation});
  if (graph.ends.back().IsHost()) ++graph.hosts[at];
}

void AddEnds(SwitchGraph& graph, uint32_t at, const Node& node, const FabricSnapshot& snapshot,
             const LidTable& lids) {
  AddEnd(graph, at, 0, {node.index, PortNum(0)}, false, lids);
  for (size_t port = 1; port < UsablePorts(node); ++port) {
    const Node* peer = UpPeer(snapshot, node, port);
    if (!peer || peer->IsSwitch()) continue;
    AddEnd(graph, at, static_cast<uint8_t>(port), node.ports[port].peer,
           fabric::IsAggregationNode(*peer) || IsClosedSwitch(*peer), lids);
  }
}

void AddNeighbors(SwitchGraph& graph, const std::vector<Link>& links, size_t& next, uint32_t tail,
                  const std::vector<uint32_t>& local) {
  const size_t begin = graph.neighbors.size();
  for (; next < links.size() && links[next].tail == tail; ++next) {
    const uint32_t head = local[links[next].head];
    if (graph.neighbors.size() == begin || graph.neighbors.back().head != head)
      graph.neighbors.push_back({head, static_cast<uint32_t>(graph.cables.size()), 0});
    graph.cables.push_back(links[next].cable);
    ++graph.neighbors.back().cable_count;
  }
}

// A cap of 0 is what a switch shows whose SwitchInfo was not read: nothing is known against it.
uint32_t LidLimit(const Node& node) {
  const bool known = node.switch_info && node.switch_info->linear_fdb_cap != 0;
  return known ? node.switch_info->linear_fdb_cap : kNone;
}

}  // namespace

uint8_t SwitchGraph::FindNeighbor(uint32_t s, uint32_t head) const {
  const auto all = NeighborsOf(s);
  const auto found =
      std::lower_bound(all.begin(), all.end(), head,
                       [](const Neighbor& neighbor, uint32_t h) { return neighbor.head < h; });
  return found != all.end() && found->head == head ? static_cast<uint8_t>(found - all.begin())
                                                   : kNotFound;
}

std::vector<uint8_t> SwitchesWithout(const SwitchGraph& graph, uint32_t lid) {
  std::vector<uint8_t> marked;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (graph.lid_limit[s] > lid) continue;
    marked.resize(graph.size(), 0);
    marked[s] = 1;
  }
  return marked;
}

std::vector<SwitchGraph> BuildGraphs(const FabricSnapshot& snapshot, const LidTable& lids) {
  const Whole whole = Survey(snapshot);
  std::vector<SwitchGraph> graphs(whole.components);
  std::vector<uint32_t> local(whole.switches.size());
  for (uint32_t s = 0; s < whole.switches.size(); ++s) {
    SwitchGraph& graph = graphs[whole.component[s]];
    local[s] = graph.size();
    graph.node.push_back(whole.switches[s]->index);
  }
  for (SwitchGraph& graph : graphs) graph.hosts.assign(graph.size(), 0);
  size_t next = 0;
  for (uint32_t s = 0; s < whole.switches.size(); ++s) {
    SwitchGraph& graph = graphs[whole.component[s]];
    graph.neighbor_begin.push_back(static_cast<uint32_t>(graph.neighbors.size()));
    AddNeighbors(graph, whole.links, next, s, local);
    graph.end_begin.push_back(static_cast<uint32_t>(graph.ends.size()));
    AddEnds(graph, local[s], *whole.switches[s], snapshot, lids);
    graph.lid_limit.push_back(LidLimit(*whole.switches[s]));
  }
  for (SwitchGraph& graph : graphs) {
    graph.neighbor_begin.push_back(static_cast<uint32_t>(graph.neighbors.size()));
    graph.end_begin.push_back(static_cast<uint32_t>(graph.ends.size()));
  }
  return graphs;
}

const SwitchGraph* LargestGraph(const std::vector<SwitchGraph>& graphs) {
  const SwitchGraph* largest = nullptr;
  uint64_t most = 0;
  for (const SwitchGraph& graph : graphs) {
    const uint64_t hosts = std::accumulate(graph.hosts.begin(), graph.hosts.end(), uint64_t{0});
    if (largest == nullptr || hosts > most) largest = &graph, most = hosts;
  }
  return largest;
}

}  // namespace fabricd::routing
