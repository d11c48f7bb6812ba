// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/load_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace fabricd::routing {
namespace {

constexpr float kFar = 1e30f;
constexpr uint32_t kWide = 16;  // Destinations that one pass over the arcs serves.
constexpr uint32_t kParts = 8;  // Fixed: sums of doubles must not depend on the thread count.
constexpr uint32_t kMostRounds = 40;
constexpr uint64_t kArcVisits = 400'000'000;  // Of all rounds together.
constexpr double kGrowth = 0.3;  // By which the most loaded arc's length grows in a round.
constexpr float kNearlyEqual = 1 + 1e-4f;  // Ways that share the flow.

using Lanes = std::array<float, kWide>;

double Demand(uint64_t inside, uint64_t all, uint64_t cables) {
  return cables == 0 ? 0
                     : static_cast<double>(inside) * static_cast<double>(all - inside) /
                           static_cast<double>(cables);
}

}  // namespace

void ForEachComponent(const SwitchGraph& graph, const Levels& levels, uint32_t below,
                      const std::function<void(uint64_t hosts, uint64_t cables)>& visit) {
  std::vector<uint8_t> seen(graph.size(), 0);
  std::vector<uint32_t> stack;
  for (uint32_t first = 0; first < graph.size(); ++first) {
    if (seen[first] || levels.rank[first] >= below) continue;
    uint64_t hosts = 0, cables = 0;
    stack.assign(1, first);
    seen[first] = 1;
    while (!stack.empty()) {
      const uint32_t s = stack.back();
      stack.pop_back();
      hosts += graph.hosts[s];
      for (uint32_t i = 0; i < graph.degree(s); ++i) {
        const Neighbor& to = graph.neighbor(s, i);
        if (levels.rank[to.head] >= below) {
          cables += to.cable_count;
        } else if (!seen[to.head]) {
          seen[to.head] = 1;
          stack.push_back(to.head);
        }
      }
    }
    visit(hosts, cables);
  }
}

double CutBound(const SwitchGraph& graph, const Levels& levels) {
  const uint64_t all = std::accumulate(graph.hosts.begin(), graph.hosts.end(), uint64_t{0});
  double bound = 0;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    uint64_t cables = 0;
    for (uint32_t i = 0; i < graph.degree(s); ++i) cables += graph.neighbor(s, i).cable_count;
    bound = std::max(bound, Demand(graph.hosts[s], all, cables));
  }
  for (uint32_t below = 1; below <= levels.top; ++below)
    ForEachComponent(graph, levels, below, [&](uint64_t hosts, uint64_t cables) {
      bound = std::max(bound, Demand(hosts, all, cables));
    });
  return bound;
}

namespace {

// The arcs of a graph by whether they rise in the order; what all rounds share.
struct Arcs {
  struct Arc {
    uint32_t head;
    uint32_t index;  // Into SwitchGraph::neighbors.
  };
  std::vector<uint32_t> by_position;
  std::vector<Arc> up, down;
  std::vector<uint32_t> up_begin, down_begin;  // [switch], one more at the end
  std::vector<uint32_t> destinations;          // Switches with hosts.
};

Arcs SortArcs(const SwitchGraph& graph, const Order& order) {
  Arcs arcs;
  arcs.by_position.resize(graph.size());
  for (uint32_t s = 0; s < graph.size(); ++s) arcs.by_position[order[s]] = s;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    arcs.up_begin.push_back(static_cast<uint32_t>(arcs.up.size()));
    arcs.down_begin.push_back(static_cast<uint32_t>(arcs.down.size()));
    for (uint32_t i = graph.neighbor_begin[s]; i < graph.neighbor_begin[s + 1]; ++i) {
      const uint32_t head = graph.neighbors[i].head;
      (order[head] > order[s] ? arcs.up : arcs.down).push_back({head, i});
    }
    if (graph.hosts[s] > 0) arcs.destinations.push_back(s);
  }
  arcs.up_begin.push_back(static_cast<uint32_t>(arcs.up.size()));
  arcs.down_begin.push_back(static_cast<uint32_t>(arcs.down.size()));
  return arcs;
}

// One round's distances and flow of up to kWide destinations at a time.
class Flow {
 public:
  Flow(const SwitchGraph& graph, const Arcs& arcs, const std::vector<float>& length)
      : graph_(graph),
        arcs_(arcs),
        length_(length),
        down_(graph.size()),
        total_(graph.size()),
        falling_(graph.size()),
        rising_(graph.size()) {}

  // Adds the flow to load ([neighbour], of a whole bundle); returns demand times distance.
  double Add(const uint32_t* destinations, uint32_t count, std::vector<double>& load) {
    Measure(destinations, count);
    double sum = 0;
    for (uint32_t s = 0; s < graph_.size(); ++s)
      for (uint32_t j = 0; j < count; ++j) {
        const bool demand = total_[s][j] < kFar && graph_.hosts[s] > 0;
        const float pairs = demand ? static_cast<float>(graph_.hosts[s]) *
                                         static_cast<float>(graph_.hosts[destinations[j]])
                                   : 0;
        rising_[s][j] = pairs;
        falling_[s][j] = 0;
        if (demand) sum += double{pairs} * double{total_[s][j]};
      }
    for (uint32_t s : arcs_.by_position) Rise(s, load);
    for (auto s = arcs_.by_position.rbegin(); s != arcs_.by_position.rend(); ++s) Fall(*s, load);
    return sum;
  }

 private:
  void Measure(const uint32_t* destinations, uint32_t count) {
    for (Lanes& lanes : down_) lanes.fill(kFar);
    for (uint32_t j = 0; j < count; ++j) down_[destinations[j]][j] = 0;
    for (uint32_t s : arcs_.by_position)
      for (uint32_t a = arcs_.down_begin[s]; a < arcs_.down_begin[s + 1]; ++a)
        Shorten(arcs_.down[a], down_, down_[s]);
    for (auto s = arcs_.by_position.rbegin(); s != arcs_.by_position.rend(); ++s) {
      total_[*s] = down_[*s];
      for (uint32_t a = arcs_.up_begin[*s]; a < arcs_.up_begin[*s + 1]; ++a)
        Shorten(arcs_.up[a], total_, total_[*s]);
    }
  }
  void Shorten(const Arcs::Arc& arc, const std::vector<Lanes>& from, Lanes& best) const {
    const Lanes& head = from[arc.head];
    const float length = length_[arc.index];
    for (uint32_t j = 0; j < kWide; ++j) best[j] = std::min(best[j], head[j] + length);
  }
  // Marks [lane] where the arc is (nearly) a shortest way, times its cables.
  Lanes Share(const Arcs::Arc& arc, const std::vector<Lanes>& from, const Lanes& best) const {
    const Lanes& head = from[arc.head];
    const float length = length_[arc.index];
    const float cables = graph_.neighbors[arc.index].cable_count;
    Lanes share;
    for (uint32_t j = 0; j < kWide; ++j)
      share[j] = head[j] + length <= best[j] * kNearlyEqual && best[j] < kFar ? cables : 0;
    return share;
  }
  Lanes SumOfShares(const std::vector<Arcs::Arc>& arcs, uint32_t begin, uint32_t end,
                    const std::vector<Lanes>& from, const Lanes& best) const {
    Lanes sum{};
    for (uint32_t a = begin; a < end; ++a) {
      const Lanes share = Share(arcs[a], from, best);
      for (uint32_t j = 0; j < kWide; ++j) sum[j] += share[j];
    }
    return sum;
  }
  void Divide(const std::vector<Arcs::Arc>& arcs, uint32_t begin, uint32_t end,
              const std::vector<Lanes>& from, const Lanes& best, const Lanes& per_cable,
              std::vector<Lanes>& to, std::vector<double>& load) {
    for (uint32_t a = begin; a < end; ++a) {
      const Lanes share = Share(arcs[a], from, best);
      Lanes& next = to[arcs[a].head];
      float sum = 0;
      for (uint32_t j = 0; j < kWide; ++j) {
        const float flow = share[j] * per_cable[j];
        next[j] += flow;
        sum += flow;
      }
      load[arcs[a].index] += double{sum};
    }
  }
  void Rise(uint32_t s, std::vector<double>& load) {
    const Lanes& best = total_[s];
    const Lanes sum = SumOfShares(arcs_.up, arcs_.up_begin[s], arcs_.up_begin[s + 1], total_, best);
    Lanes per_cable;
    for (uint32_t j = 0; j < kWide; ++j) {
      // Where falling is as short as rising on, it takes the flow.
      const bool falls = down_[s][j] <= best[j] || sum[j] == 0;
      falling_[s][j] += falls ? rising_[s][j] : 0;
      per_cable[j] = falls ? 0 : rising_[s][j] / sum[j];
    }
    Divide(arcs_.up, arcs_.up_begin[s], arcs_.up_begin[s + 1], total_, best, per_cable, rising_,
           load);
  }
  void Fall(uint32_t s, std::vector<double>& load) {
    const Lanes& best = down_[s];
    const Lanes sum =
        SumOfShares(arcs_.down, arcs_.down_begin[s], arcs_.down_begin[s + 1], down_, best);
    Lanes per_cable;
    for (uint32_t j = 0; j < kWide; ++j) per_cable[j] = sum[j] > 0 ? falling_[s][j] / sum[j] : 0;
    Divide(arcs_.down, arcs_.down_begin[s], arcs_.down_begin[s + 1], down_, best, per_cable,
           falling_, load);
  }

  const SwitchGraph& graph_;
  const Arcs& arcs_;
  const std::vector<float>& length_;     // [neighbour]
  std::vector<Lanes> down_, total_;      // [switch] Distance: falling only, any legal way.
  std::vector<Lanes> falling_, rising_;  // [switch] Flow that stands there.
};

double DualBound(const SwitchGraph& graph, const Order& order, Parallel& parallel) {
  const Arcs arcs = SortArcs(graph, order);
  const uint64_t visits = uint64_t{graph.neighbors.size()} * arcs.destinations.size();
  if (visits == 0) return 0;
  const uint64_t rounds = std::clamp<uint64_t>(kArcVisits / visits, 1, kMostRounds);
  std::vector<float> length(graph.neighbors.size(), 1);
  double bound = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<double>> load(kParts);
    std::array<double, kParts> demand{};
    const size_t groups = (arcs.destinations.size() + kWide - 1) / kWide;
    parallel.For(kParts, [&](size_t part) {
      load[part].assign(graph.neighbors.size(), 0);
      Flow flow(graph, arcs, length);
      for (size_t g = part; g < groups; g += kParts) {
        const size_t begin = g * kWide;
        const size_t count = std::min<size_t>(kWide, arcs.destinations.size() - begin);
        demand[part] +=
            flow.Add(&arcs.destinations[begin], static_cast<uint32_t>(count), load[part]);
      }
    });
    double lengths = 0, worst = 0;
    for (size_t i = 0; i < length.size(); ++i) {
      lengths += double{length[i]} * graph.neighbors[i].cable_count;
      for (uint32_t part = 1; part < kParts; ++part) load[0][i] += load[part][i];
      worst = std::max(worst, load[0][i] /= graph.neighbors[i].cable_count);
    }
    if (lengths == 0 || worst == 0) break;
    bound = std::max(bound, std::accumulate(demand.begin(), demand.end(), 0.0) / lengths);
    for (size_t i = 0; i < length.size(); ++i)
      length[i] *= static_cast<float>(1 + kGrowth * load[0][i] / worst);
  }
  // Distances are sums of a few floats.
  return bound * (1 - 1e-5);
}

// Equal lengths: all hops of all pairs, spread over all cables.
double HopBound(const SwitchGraph& graph, Parallel& parallel) {
  const HopCosts costs = ShortestCosts(graph, {}, parallel);
  uint64_t hops = 0;
  for (uint32_t s = 0; s < graph.size(); ++s)
    for (uint32_t d = 0; d < graph.size(); ++d)
      if (const uint8_t cost = costs.TotalRow(s)[d]; cost != HopCosts::kNoWay)
        hops += uint64_t{graph.hosts[s]} * graph.hosts[d] * cost;
  return graph.cables.empty()
             ? 0
             : static_cast<double>(hops) / static_cast<double>(graph.cables.size());
}

}  // namespace

LoadBound BoundLoad(const SwitchGraph& graph, const Levels& levels, const Order& order,
                    Parallel& parallel) {
  return {CutBound(graph, levels),
          order.empty() ? HopBound(graph, parallel) : DualBound(graph, order, parallel)};
}

}  // namespace fabricd::routing
