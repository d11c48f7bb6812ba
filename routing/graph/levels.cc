// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/levels.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "routing/graph/union_find.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

template <typename Visit>
void ForEachNeighbor(const SwitchGraph& graph, uint32_t s, Visit&& visit) {
  for (uint32_t i = graph.neighbor_begin[s]; i < graph.neighbor_begin[s + 1]; ++i)
    visit(graph.neighbors[i]);
}

std::vector<uint32_t> Distances(const SwitchGraph& graph, const std::vector<uint32_t>& from) {
  std::vector<uint32_t> distance(graph.size(), kNone), queue = from;
  for (uint32_t s : from) distance[s] = 0;
  for (size_t next = 0; next < queue.size(); ++next)
    ForEachNeighbor(graph, queue[next], [&](const Neighbor& neighbor) {
      if (distance[neighbor.head] != kNone) return;
      distance[neighbor.head] = distance[queue[next]] + 1;
      queue.push_back(neighbor.head);
    });
  return distance;
}

Levels FromRanks(const SwitchGraph& graph, std::vector<uint32_t> rank) {
  Levels levels;
  levels.rank = std::move(rank);
  for (uint32_t s = 0; s < graph.size(); ++s) {
    levels.top = std::max(levels.top, levels.rank[s]);
    ForEachNeighbor(graph, s, [&](const Neighbor& neighbor) {
      const uint32_t a = levels.rank[s], b = levels.rank[neighbor.head];
      if (a == b && s < neighbor.head) levels.same_rank_links += neighbor.cable_count;
      if (b > a + 1) levels.skip_links += neighbor.cable_count;
    });
  }
  return levels;
}

// The leaves: switches with at least `least` hosts, less those that see more hosts on neighbouring
// candidates than they have themselves (a spine with a few management hosts). Worst one first.
std::vector<uint32_t> Leaves(const SwitchGraph& graph, const std::vector<uint32_t>& weight,
                             uint32_t least) {
  std::vector<uint8_t> candidate(graph.size());
  for (uint32_t s = 0; s < graph.size(); ++s) candidate[s] = weight[s] >= least;
  std::vector<uint64_t> around(graph.size(), 0);
  for (uint32_t s = 0; s < graph.size(); ++s)
    ForEachNeighbor(graph, s, [&](const Neighbor& neighbor) {
      if (candidate[neighbor.head]) around[s] += weight[neighbor.head];
    });
  for (;;) {
    uint32_t worst = kNone;
    for (uint32_t s = 0; s < graph.size(); ++s) {
      if (!candidate[s] || around[s] <= weight[s]) continue;
      if (worst == kNone || around[s] * weight[worst] > around[worst] * weight[s]) worst = s;
    }
    if (worst == kNone) break;
    candidate[worst] = 0;
    ForEachNeighbor(graph, worst,
                    [&](const Neighbor& neighbor) { around[neighbor.head] -= weight[worst]; });
  }
  std::vector<uint32_t> leaves;
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (candidate[s]) leaves.push_back(s);
  return leaves;
}

// Where no host is known, the switches with the fewest neighbours are taken for leaves.
std::vector<uint32_t> LeafWeights(const SwitchGraph& graph) {
  if (std::any_of(graph.hosts.begin(), graph.hosts.end(), [](uint32_t n) { return n != 0; }))
    return graph.hosts;
  std::vector<uint32_t> weight(graph.size(), 0);
  uint32_t fewest = kNone;
  for (uint32_t s = 0; s < graph.size(); ++s) fewest = std::min(fewest, graph.degree(s));
  for (uint32_t s = 0; s < graph.size(); ++s) weight[s] = graph.degree(s) == fewest;
  return weight;
}

uint32_t OddLinks(const Levels& levels) { return levels.same_rank_links + levels.skip_links; }

Levels FreshLevels(const SwitchGraph& graph) {
  const std::vector<uint32_t> weight = LeafWeights(graph);
  const uint32_t most = *std::max_element(weight.begin(), weight.end());
  Levels best;
  bool first = true;
  for (uint32_t least : {1u, 2u, 3u, most / 8, most / 4, most / 2}) {
    if (least == 0 || least > most) continue;
    const std::vector<uint32_t> leaves = Leaves(graph, weight, least);
    if (leaves.empty()) continue;
    Levels levels = FromRanks(graph, Distances(graph, leaves));
    if (first || OddLinks(levels) < OddLinks(best)) best = std::move(levels);
    first = false;
    if (best.IsStrict()) break;
  }
  if (first) return FromRanks(graph, std::vector<uint32_t>(graph.size(), 0));
  return best;
}

}  // namespace

Levels FindLevels(const SwitchGraph& graph, const TreeLayout* remembered) {
  Levels fresh = FreshLevels(graph);
  if (!remembered) return fresh;
  std::vector<uint32_t> rank;
  for (NodeIndex node : graph.node) {
    rank.push_back(remembered->RankOf(node));
    if (rank.back() == TreeLayout::kUnknown) return fresh;
  }
  Levels kept = FromRanks(graph, std::move(rank));
  return OddLinks(kept) <= OddLinks(fresh) ? kept : fresh;
}

Levels LevelsFromRoots(const SwitchGraph& graph, const std::vector<uint32_t>& roots) {
  std::vector<uint32_t> rank = Distances(graph, roots);
  const uint32_t deepest = *std::max_element(rank.begin(), rank.end());
  for (uint32_t& value : rank) value = deepest - value;
  return FromRanks(graph, std::move(rank));
}

std::vector<Destination> TopologicalOrder(const SwitchGraph& graph, const Levels& levels) {
  // Subtrees by the component of the graph they form below each rank, outermost first.
  std::vector<std::vector<uint32_t>> component;
  UnionFind sets(graph.size());
  for (uint32_t below = 1; below < levels.top; ++below) {
    for (uint32_t s = 0; s < graph.size(); ++s)
      ForEachNeighbor(graph, s, [&](const Neighbor& neighbor) {
        if (std::max(levels.rank[s], levels.rank[neighbor.head]) == below)
          sets.Join(s, neighbor.head);
      });
    auto& keys = component.emplace_back(graph.size());
    for (uint32_t s = 0; s < graph.size(); ++s) keys[s] = sets.Find(s);
  }
  std::vector<uint32_t> order(graph.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    // Hosts above the leaves come last: they must not shift the leaves' windows.
    if ((levels.rank[a] == 0) != (levels.rank[b] == 0)) return levels.rank[a] == 0;
    for (auto keys = component.rbegin(); keys != component.rend(); ++keys)
      if ((*keys)[a] != (*keys)[b]) return (*keys)[a] < (*keys)[b];
    return a < b;
  });
  std::vector<Destination> destinations;
  destinations.reserve(graph.ends.size());
  const auto add = [&](auto&& wanted) {
    uint32_t index = 0;
    for (uint32_t s : order)
      for (uint32_t i = graph.end_begin[s]; i < graph.end_begin[s + 1]; ++i)
        if (const EndPort& end = graph.ends[i]; wanted(end))
          destinations.push_back({index++, end.at, end.base_lid, end.lmc, end.port});
  };
  add([](const EndPort& end) { return end.IsHost(); });
  add([](const EndPort& end) { return end.aggregation; });
  add([](const EndPort& end) { return end.IsSwitch(); });
  return destinations;
}

}  // namespace fabricd::routing
