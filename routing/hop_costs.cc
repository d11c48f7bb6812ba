// SPDX-License-Identifier: Apache-2.0
#include "routing/hop_costs.h"

#include <algorithm>
#include <bit>

#include "common/check.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kTile = 256;  // Columns of one piece of work: a row of it stays in cache.

// The two inner loops stand alone with restricted pointers, else byte stores may alias everything
// and nothing is vectorised.
[[gnu::noinline]] void TakeLower(uint8_t* __restrict best, const uint8_t* __restrict other, int n) {
  for (int i = 0; i < n; ++i) best[i] = best[i] < other[i] ? best[i] : other[i];
}
[[gnu::noinline]] void AddHop(uint8_t* __restrict row, int n) {
  for (int i = 0; i < n; ++i)
    row[i] = row[i] < HopCosts::kMostHops ? static_cast<uint8_t>(row[i] + 1) : HopCosts::kNoWay;
}
[[gnu::noinline]] void PreferDown(uint8_t* __restrict row, const uint8_t* __restrict down, int n) {
  for (int i = 0; i < n; ++i) row[i] = down[i] != HopCosts::kNoWay ? down[i] : row[i];
}

bool IsBlocked(const std::vector<uint8_t>& blocked, uint32_t s) {
  return !blocked.empty() && blocked[s];
}

void FillTile(const SwitchGraph& graph, const Order& order,
              const std::vector<uint32_t>& by_position, const std::vector<uint8_t>& blocked,
              uint32_t begin, uint32_t width, HopCosts& costs) {
  const auto row = [&](std::vector<uint8_t>& matrix, uint32_t s) {
    return &matrix[size_t{s} * costs.stride + begin];
  };
  const auto take_neighbors = [&](std::vector<uint8_t>& matrix, uint32_t s, bool up) {
    for (uint32_t i = 0; i < graph.degree(s); ++i) {
      const uint32_t head = graph.neighbor(s, i).head;
      if ((order[head] > order[s]) == up)
        TakeLower(row(matrix, s), row(matrix, head), static_cast<int>(width));
    }
    AddHop(row(matrix, s), static_cast<int>(width));
  };
  for (uint32_t s : by_position) {
    if (IsBlocked(blocked, s)) continue;
    take_neighbors(costs.down, s, false);
    if (s >= begin && s < begin + width) costs.down[size_t{s} * costs.stride + s] = 0;
  }
  for (auto s = by_position.rbegin(); s != by_position.rend(); ++s) {
    if (IsBlocked(blocked, *s)) continue;
    take_neighbors(costs.total, *s, true);
    PreferDown(row(costs.total, *s), row(costs.down, *s), static_cast<int>(width));
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
  costs.down.assign(size_t{graph.size()} * costs.stride, HopCosts::kNoWay);
  costs.total = costs.down;
  std::vector<uint32_t> by_position(graph.size());
  for (uint32_t s = 0; s < graph.size(); ++s) {
    FABRICD_CHECK(order[s] < graph.size(), "position {} of switch {}", order[s], s);
    by_position[order[s]] = s;
  }
  parallel.For((costs.stride + kTile - 1) / kTile, [&](size_t tile) {
    const auto begin = static_cast<uint32_t>(tile * kTile);
    FillTile(graph, order, by_position, blocked, begin, std::min(kTile, costs.stride - begin),
             costs);
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
    pairs += static_cast<uint64_t>(
        std::count(costs.TotalRow(s), costs.TotalRow(s) + graph.size(), HopCosts::kNoWay));
  return pairs;
}

}  // namespace fabricd::routing
