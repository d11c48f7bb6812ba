// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kSampledDestinations = 128;
constexpr uint32_t kLoadParts = 8;   // Fixed: sums of doubles must not depend on the thread count.
constexpr uint32_t kRootsTried = 4;  // Of leaves, and again of other switches.
constexpr uint32_t kConesTried = 32;
constexpr uint32_t kMostMended = 64;  // Summits of a cone.
// How many times the best order's peak load a remembered one may have.
constexpr double kFarMore = 1.25;

// Positions by ascending key, ties by switch number.
template <typename Key>
Order Ascending(uint32_t size, Key&& key) {
  std::vector<uint32_t> sorted(size);
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(key(a), a) < std::make_tuple(key(b), b);
  });
  Order order(size);
  for (uint32_t position = 0; position < size; ++position) order[sorted[position]] = position;
  return order;
}

uint32_t Highest(const Order& order) {
  return static_cast<uint32_t>(std::max_element(order.begin(), order.end()) - order.begin());
}

// The leaf with the most switches above it. One of several parallel cables makes no difference: for
// another leaf there would mean another order.
uint32_t BestLeaf(const SwitchGraph& graph, const Levels& levels) {
  uint32_t best = kNone, most = 0;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (levels.rank[s] != 0) continue;
    if (best == kNone || graph.degree(s) > most) best = s, most = graph.degree(s);
  }
  return best == kNone ? 0 : best;
}

// Evenly spaced members of a list.
std::vector<uint32_t> Spread(const std::vector<uint32_t>& all, uint32_t count) {
  if (all.size() <= count) return all;
  std::vector<uint32_t> some;
  for (uint64_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

}  // namespace

Order LevelOrder(const Levels& levels) {
  return Ascending(static_cast<uint32_t>(levels.rank.size()),
                   [&](uint32_t s) { return levels.rank[s]; });
}

Order ConeOrder(const SwitchGraph& graph, const Levels& levels, uint32_t apex) {
  // height[s]: 0 outside the cone, else the more the lower the rank.
  std::vector<uint32_t> height(graph.size(), 0), seen(graph.size(), 0), stack;
  for (uint32_t below = 0; below < levels.top; ++below) {
    // Whoever the apex reaches through switches of rank <= below belongs to its subtree, whichever
    // cables survive: a lost cable must not turn arcs round.
    stack.assign(1, apex);
    seen[apex] = below + 1;
    while (!stack.empty()) {
      const uint32_t s = stack.back();
      stack.pop_back();
      if (levels.rank[s] == below) height[s] = levels.top - below;
      for (uint32_t i = 0; i < graph.degree(s); ++i) {
        const uint32_t head = graph.neighbor(s, i).head;
        if (levels.rank[head] > below || seen[head] == below + 1) continue;
        seen[head] = below + 1;
        stack.push_back(head);
      }
    }
  }
  height[apex] = levels.top + 1;
  return Ascending(graph.size(),
                   [&](uint32_t s) { return std::make_pair(height[s], levels.rank[s]); });
}

Order RootOrder(const SwitchGraph& graph, uint32_t root) {
  std::vector<uint32_t> distance(graph.size(), kNone), queue{root};
  distance[root] = 0;
  for (size_t next = 0; next < queue.size(); ++next)
    for (uint32_t i = 0; i < graph.degree(queue[next]); ++i) {
      const uint32_t head = graph.neighbor(queue[next], i).head;
      if (distance[head] != kNone) continue;
      distance[head] = distance[queue[next]] + 1;
      queue.push_back(head);
    }
  return Ascending(graph.size(), [&](uint32_t s) { return kNone - distance[s]; });
}

namespace {

// Switches whose neighbours are all lower. Packets reach everything from everywhere by rising and
// falling where there is one only.
std::vector<uint32_t> Summits(const SwitchGraph& graph, const Order& order) {
  std::vector<uint32_t> summits;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    bool highest = true;
    for (uint32_t i = 0; i < graph.degree(s) && highest; ++i)
      highest = order[graph.neighbor(s, i).head] < order[s];
    if (highest) summits.push_back(s);
  }
  return summits;
}

// Sinks each summit but the highest below its neighbours, so that it has a way up. No way between
// others leads through it any more.
Order Mended(const SwitchGraph& graph, Order order) {
  for (uint32_t round = 0; round < kMostMended; ++round) {
    const std::vector<uint32_t> summits = Summits(graph, order);
    if (summits.size() == 1) break;
    const uint32_t summit = order[summits[0]] + 1 < graph.size() ? summits[0] : summits[1];
    const uint32_t was = order[summit];
    uint32_t lowest = was;
    for (uint32_t i = 0; i < graph.degree(summit); ++i)
      lowest = std::min(lowest, order[graph.neighbor(summit, i).head]);
    for (uint32_t& position : order)
      if (position >= lowest && position < was) ++position;
    order[summit] = lowest;
  }
  return order;
}

// The cone with the fewest other summits, of those of some leaves with the most switches above.
Order BestCone(const SwitchGraph& graph, const Levels& levels, uint32_t first) {
  Order best = ConeOrder(graph, levels, first);
  size_t fewest = Summits(graph, best).size();
  if (fewest == 1) return best;
  std::vector<uint32_t> leaves;
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (levels.rank[s] == 0 && graph.degree(s) == graph.degree(first)) leaves.push_back(s);
  for (uint32_t leaf : Spread(leaves, kConesTried)) {
    Order order = ConeOrder(graph, levels, leaf);
    const size_t summits = Summits(graph, order).size();
    if (summits >= fewest) continue;
    fewest = summits;
    best = std::move(order);
    if (fewest == 1) break;
  }
  return Mended(graph, std::move(best));
}

// Flow towards one destination switch, added to the load of each neighbour bundle.
class FlowTo {
 public:
  FlowTo(const SwitchGraph& graph, const Order& order, const HopCosts& costs)
      : graph_(graph), order_(order), costs_(costs), flow_(graph.size()) {}

  void Add(uint32_t destination, std::vector<double>& load) {
    std::array<std::vector<uint32_t>, HopCosts::kNoWay> at_cost;
    uint32_t furthest = 0;
    for (uint32_t s = 0; s < graph_.size(); ++s) {
      flow_[s] = graph_.hosts[s];
      const uint8_t cost = costs_.TotalRow(s)[destination];
      if (cost == HopCosts::kNoWay || s == destination) continue;
      at_cost[cost].push_back(s);
      furthest = std::max<uint32_t>(furthest, cost);
    }
    for (uint32_t cost = furthest; cost > 0; --cost)
      for (uint32_t s : at_cost[cost])
        if (flow_[s] > 0) Divide(s, destination, load);
  }

 private:
  bool IsCandidate(uint32_t s, uint32_t head, uint32_t d) const {
    const bool goes_down = costs_.DownRow(s)[d] != HopCosts::kNoWay;
    if ((order_[head] < order_[s]) != goes_down) return false;
    const uint8_t* row = goes_down ? costs_.DownRow(head) : costs_.TotalRow(head);
    return row[d] + 1 == costs_.TotalRow(s)[d];
  }
  void Divide(uint32_t s, uint32_t d, std::vector<double>& load) {
    uint32_t cables = 0;
    chosen_.clear();
    for (uint32_t i = graph_.neighbor_begin[s]; i < graph_.neighbor_begin[s + 1]; ++i) {
      if (!IsCandidate(s, graph_.neighbors[i].head, d)) continue;
      cables += graph_.neighbors[i].cable_count;
      chosen_.push_back(i);
    }
    const double share = flow_[s] / cables;
    for (uint32_t i : chosen_) {
      load[i] += share * graph_.hosts[d];
      flow_[graph_.neighbors[i].head] += share * graph_.neighbors[i].cable_count;
    }
  }

  const SwitchGraph& graph_;
  const Order& order_;
  const HopCosts& costs_;
  std::vector<double> flow_;
  std::vector<uint32_t> chosen_;
};

}  // namespace

double EstimatePeakLoad(const SwitchGraph& graph, const Order& order, const HopCosts& costs,
                        Parallel& parallel) {
  std::vector<uint32_t> destinations;
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (graph.hosts[s] > 0) destinations.push_back(s);
  destinations = Spread(destinations, kSampledDestinations);
  std::vector<std::vector<double>> load(kLoadParts, std::vector<double>(graph.neighbors.size(), 0));
  parallel.For(kLoadParts, [&](size_t part) {
    FlowTo flow(graph, order, costs);
    for (size_t i = part; i < destinations.size(); i += kLoadParts)
      flow.Add(destinations[i], load[part]);
  });
  double peak = 0;
  for (size_t i = 0; i < graph.neighbors.size(); ++i) {
    double sum = 0;
    for (const auto& part : load) sum += part[i];
    peak = std::max(peak, sum);
  }
  return peak;
}

namespace {

// Tries orders and keeps the best.
class OrderSearch {
 public:
  OrderSearch(const SwitchGraph& graph, Parallel& parallel) : graph_(graph), parallel_(parallel) {
    uint32_t highest = 0;
    for (const EndPort& end : graph.ends)
      highest = std::max(highest, end.base_lid + end.lid_count() - 1);
    short_tables_ = SwitchesWithout(graph, highest);
  }

  bool Found() const { return !best_.order.empty(); }
  bool HasShortTables() const { return !short_tables_.empty(); }
  // Takes the order without comparing if it serves all pairs, or if `always`.
  bool TakeIfServing(Order order, const char* kind, bool always = false) {
    HopCosts costs = OrderedCosts(graph_, order, {}, parallel_);
    if (!always && UnservedPairs(graph_, costs) > 0) return false;
    Keep(std::move(order), std::move(costs), kind);
    return true;
  }
  // As Consider(), but others have to be far better.
  void Prefer(Order order, const char* kind) {
    Consider(std::move(order), kind);
    load_ /= kFarMore;
  }
  void Consider(Order order, const char* kind) {
    HopCosts costs = OrderedCosts(graph_, order, {}, parallel_);
    if (UnservedPairs(graph_, costs) > 0) return;
    // LIDs that some tables cannot hold have to go round those switches in the same order.
    const uint64_t cut =
        HasShortTables()
            ? UnservedPairs(graph_, OrderedCosts(graph_, order, short_tables_, parallel_))
            : 0;
    const double load = EstimatePeakLoad(graph_, order, costs, parallel_);
    if (Found() && (cut > cut_ || (cut == cut_ && load >= load_ * (1 - 1e-9)))) return;
    cut_ = cut, load_ = load;
    Keep(std::move(order), std::move(costs), kind);
  }
  ChosenOrder Finish() { return std::move(best_); }

 private:
  void Keep(Order order, HopCosts costs, const char* kind) {
    const uint32_t apex = Highest(order);
    best_ = {std::move(order), std::move(costs), kind, apex};
  }
  const SwitchGraph& graph_;
  Parallel& parallel_;
  std::vector<uint8_t> short_tables_;
  ChosenOrder best_;
  uint64_t cut_ = 0;
  double load_ = 0;
};

}  // namespace

ChosenOrder ChooseOrder(const SwitchGraph& graph, const Levels& levels, bool ranks_given,
                        const Order& remembered, Parallel& parallel) {
  OrderSearch search(graph, parallel);
  const bool comparable = ranks_given || (levels.IsStrict() && !search.HasShortTables());
  if (!remembered.empty() && comparable && search.TakeIfServing(remembered, "remembered"))
    return search.Finish();
  const uint32_t leaf = BestLeaf(graph, levels);
  if (ranks_given) {
    if (search.TakeIfServing(LevelOrder(levels), "levels")) return search.Finish();
    if (search.TakeIfServing(BestCone(graph, levels, leaf), "cone")) return search.Finish();
  } else if (levels.IsStrict() && !search.HasShortTables()) {
    // A leaf on top keeps every way that rises and falls by level: no need to compare. Should the
    // cone of a damaged tree miss a pair, distance from the leaf never does.
    if (search.TakeIfServing(BestCone(graph, levels, leaf), "cone")) return search.Finish();
    if (search.TakeIfServing(RootOrder(graph, leaf), "root")) return search.Finish();
  }
  if (!remembered.empty()) search.Prefer(remembered, "remembered");
  search.Consider(BestCone(graph, levels, leaf), "cone");
  search.Consider(LevelOrder(levels), "levels");
  search.Consider(RootOrder(graph, leaf), "root");
  std::vector<uint32_t> leaves, others;
  for (uint32_t s = 0; s < graph.size(); ++s) (levels.rank[s] == 0 ? leaves : others).push_back(s);
  for (uint32_t root : Spread(leaves, kRootsTried)) search.Consider(RootOrder(graph, root), "root");
  for (uint32_t root : Spread(others, kRootsTried)) search.Consider(RootOrder(graph, root), "root");
  // Only ways longer than kMostHops leave nothing to choose from.
  if (!search.Found()) search.TakeIfServing(RootOrder(graph, leaf), "root", true);
  return search.Finish();
}

}  // namespace fabricd::routing
