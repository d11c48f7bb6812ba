// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/hop_costs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/check.h"
#include "routing/graph/byte_kernels.h"
#include "routing/plan/byte_scan.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kTile = 256;  // Columns of one piece of work: a row of it stays in cache.

bool IsBlocked(const std::vector<uint8_t>& blocked, uint32_t s) {
  return !blocked.empty() && blocked[s];
}

// The neighbours above and below each switch, so that the inner loop has no branch.
struct ArcLists {
  std::vector<uint32_t> by_position;           // Switch numbers, lowest first.
  std::vector<uint32_t> begin, middle, heads;  // [switch] Down arcs, then up arcs.
};

ArcLists SortArcs(const SwitchGraph& graph, const Order& order) {
  ArcLists arcs;
  arcs.by_position.resize(graph.size());
  arcs.heads.reserve(graph.neighbors.size());
  for (uint32_t s = 0; s < graph.size(); ++s) {
    FABRICD_CHECK(order[s] < graph.size(), "position {} of switch {}", order[s], s);
    arcs.by_position[order[s]] = s;
    arcs.begin.push_back(static_cast<uint32_t>(arcs.heads.size()));
    for (const bool up : {false, true}) {
      if (up) arcs.middle.push_back(static_cast<uint32_t>(arcs.heads.size()));
      for (uint32_t i = 0; i < graph.degree(s); ++i) {
        const uint32_t head = graph.neighbor(s, i).head;
        if ((order[head] > order[s]) == up) arcs.heads.push_back(head);
      }
    }
  }
  arcs.begin.push_back(static_cast<uint32_t>(arcs.heads.size()));
  return arcs;
}

void FillTile(const ArcLists& arcs, const std::vector<uint8_t>& blocked, uint32_t first,
              uint32_t width, HopCosts& costs) {
  const ByteKernels& kernels = Kernels();
  const auto at = [&](CostMatrix& matrix, uint32_t s) {
    return &matrix[size_t{s} * costs.stride + first];
  };
  std::vector<const uint8_t*> rows;
  const auto add_hop = [&](CostMatrix& matrix, uint32_t s, uint32_t begin, uint32_t end) {
    rows.clear();
    for (uint32_t i = begin; i < end; ++i) rows.push_back(at(matrix, arcs.heads[i]));
    kernels.add_hop(rows.data(), rows.size(), width, at(matrix, s));
  };
  for (uint32_t s : arcs.by_position) {
    if (IsBlocked(blocked, s)) {
      std::memset(at(costs.down, s), HopCosts::kNoWay, width);
      continue;
    }
    add_hop(costs.down, s, arcs.begin[s], arcs.middle[s]);
    if (s >= first && s < first + width) costs.down[size_t{s} * costs.stride + s] = 0;
  }
  for (auto s = arcs.by_position.rbegin(); s != arcs.by_position.rend(); ++s) {
    if (IsBlocked(blocked, *s)) {
      std::memset(at(costs.total, *s), HopCosts::kNoWay, width);
      continue;
    }
    add_hop(costs.total, *s, arcs.middle[*s], arcs.begin[*s + 1]);
    kernels.prefer_down(at(costs.down, *s), width, at(costs.total, *s));
  }
}

uint32_t Stride(const SwitchGraph& graph) { return (graph.size() + 63) / 64 * 64; }

// One breadth-first search from 64 destinations at a time, a bit each.
void Flood(const SwitchGraph& graph, const std::vector<uint8_t>& blocked, uint32_t first,
           HopCosts& costs) {
  std::vector<uint64_t> seen(graph.size(), 0), edge(graph.size(), 0), next(graph.size());
  for (uint32_t d = first; d < std::min(first + 64, graph.size()); ++d) {
    if (IsBlocked(blocked, d)) continue;
    seen[d] = edge[d] = uint64_t{1} << (d - first);
    costs.total[size_t{d} * costs.stride + d] = 0;
  }
  bool grew = true;
  for (uint8_t hops = 1; grew && hops <= HopCosts::kMostHops; ++hops) {
    grew = false;
    for (uint32_t s = 0; s < graph.size(); ++s) {
      next[s] = 0;
      if (IsBlocked(blocked, s)) continue;
      uint64_t reached = 0;
      for (uint32_t i = 0; i < graph.degree(s); ++i) reached |= edge[graph.neighbor(s, i).head];
      next[s] = reached & ~seen[s];
      for (uint64_t left = next[s]; left; left &= left - 1)
        costs.total[size_t{s} * costs.stride + first + std::countr_zero(left)] = hops;
      grew |= next[s] != 0;
    }
    for (uint32_t s = 0; s < graph.size(); ++s) seen[s] |= next[s];
    edge.swap(next);
  }
}

}  // namespace

HopCosts OrderedCosts(const SwitchGraph& graph, const Order& order,
                      const std::vector<uint8_t>& blocked, Parallel& parallel) {
  FABRICD_CHECK(order.size() == graph.size());
  HopCosts costs;
  costs.stride = Stride(graph);
  costs.down.resize(size_t{graph.size()} * costs.stride);
  costs.total.resize(size_t{graph.size()} * costs.stride);
  const ArcLists arcs = SortArcs(graph, order);
  parallel.For((costs.stride + kTile - 1) / kTile, [&](size_t tile) {
    const auto first = static_cast<uint32_t>(tile * kTile);
    FillTile(arcs, blocked, first, std::min(kTile, costs.stride - first), costs);
  });
  return costs;
}

HopCosts ShortestCosts(const SwitchGraph& graph, const std::vector<uint8_t>& blocked,
                       Parallel& parallel) {
  HopCosts costs;
  costs.stride = Stride(graph);
  costs.total.assign(size_t{graph.size()} * costs.stride, HopCosts::kNoWay);
  parallel.For(costs.stride / 64, [&](size_t block) {
    Flood(graph, blocked, static_cast<uint32_t>(block * 64), costs);
  });
  return costs;
}

uint64_t UnservedPairs(const SwitchGraph& graph, const HopCosts& costs) {
  uint64_t pairs = 0;
  for (uint32_t s = 0; s < graph.size(); ++s)
    pairs += Scan().count(costs.TotalRow(s), HopCosts::kNoWay, graph.size());
  return pairs;
}

}  // namespace fabricd::routing
