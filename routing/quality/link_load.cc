// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/link_load.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace fabricd::routing {
namespace {

constexpr uint32_t kBlock = Row::kBlock;
constexpr uint32_t kPartsPerThread = 4;
constexpr size_t kAhead = 12;  // Switches whose entries are fetched before their turn.

enum class Turn : uint8_t { kUp, kDown, kDeliver, kLost };

// Where a port of a switch leads. Four bytes, for the table of all ports should stay in cache.
class Way {
 public:
  Way() = default;
  Way(uint32_t head, Turn turn) : value_(head << 2 | static_cast<uint32_t>(turn)) {}
  uint32_t head() const { return value_ >> 2; }
  Turn turn() const { return static_cast<Turn>(value_ & 3); }
  bool Moves() const { return turn() == Turn::kUp || turn() == Turn::kDown; }

 private:
  uint32_t value_ = static_cast<uint32_t>(Turn::kLost);
};

// The base LIDs of hosts in one block of 64.
struct Block {
  uint32_t index;
  uint64_t hosts;                   // Bit i: LID index * 64 + i.
  std::array<uint32_t, kBlock> at;  // [bit] The switch it hangs on.
  std::array<uint8_t, kBlock> port;
};

struct Tables {
  const SwitchGraph& graph;
  std::vector<const Row*> row;        // [switch]
  std::vector<Way> ways;              // [way_begin[switch] + port]
  std::vector<uint32_t> way_begin;    // [switch], one more at the end
  std::vector<uint32_t> by_position;  // Lowest first; empty: no order.
  std::vector<Block> blocks;
  uint32_t others = 0;  // Hosts that send to each host.

  // Index into ways; the last one is lost and stands for every port a switch does not use.
  uint32_t WayOf(uint32_t s, uint8_t port) const {
    const uint32_t i = way_begin[s] + port;
    return i < way_begin[s + 1] ? i : static_cast<uint32_t>(ways.size() - 1);
  }
  const uint8_t* Entries(uint32_t s, const Block& block) const {
    const bool has = row[s] && block.index < row[s]->blocks();
    return has ? row[s]->block(block.index) : kUnrouted.data();
  }
  static constexpr std::array<uint8_t, kBlock> kUnrouted = [] {
    std::array<uint8_t, kBlock> entries{};
    for (uint8_t& entry : entries) entry = kNoRoute;
    return entries;
  }();
};

void AddWays(const SwitchGraph& graph, const std::vector<uint32_t>& order, Tables& tables) {
  for (uint32_t s = 0; s < graph.size(); ++s) {
    const auto begin = static_cast<uint32_t>(tables.ways.size());
    tables.way_begin.push_back(begin);
    const auto add = [&](uint8_t port, Way way) {
      if (tables.ways.size() <= begin + port) tables.ways.resize(begin + port + size_t{1});
      tables.ways[begin + port] = way;
    };
    for (uint32_t i = graph.end_begin[s]; i < graph.end_begin[s + 1]; ++i)
      add(graph.ends[i].port, {0, Turn::kDeliver});
    for (uint32_t i = graph.neighbor_begin[s]; i < graph.neighbor_begin[s + 1]; ++i) {
      const Neighbor& to = graph.neighbors[i];
      const bool up = order.empty() || order[to.head] > order[s];
      for (uint32_t c = to.first_cable; c < to.first_cable + to.cable_count; ++c)
        add(graph.cables[c].port, {to.head, up ? Turn::kUp : Turn::kDown});
    }
  }
  tables.way_begin.push_back(static_cast<uint32_t>(tables.ways.size()));
  tables.ways.push_back({});
}

void AddBlocks(const SwitchGraph& graph, Tables& tables) {
  std::vector<const EndPort*> hosts;
  for (const EndPort& end : graph.ends)
    if (end.IsHost()) hosts.push_back(&end);
  std::sort(hosts.begin(), hosts.end(),
            [](const EndPort* a, const EndPort* b) { return a->base_lid < b->base_lid; });
  for (const EndPort* end : hosts) {
    const uint32_t index = end->base_lid / kBlock, bit = end->base_lid % kBlock;
    if (tables.blocks.empty() || tables.blocks.back().index != index)
      tables.blocks.push_back({index, 0, {}, {}});
    Block& block = tables.blocks.back();
    block.hosts |= uint64_t{1} << bit;
    block.at[bit] = end->at;
    block.port[bit] = end->port;
  }
}

// `order` may be of any numbers that all differ.
Tables ReadTables(const SwitchGraph& graph, const std::vector<const Row*>& rows,
                  const std::vector<uint32_t>& order) {
  Tables tables{graph, rows, {}, {}, {}, {}};
  tables.others = std::accumulate(graph.hosts.begin(), graph.hosts.end(), 0u) - 1;
  if (!order.empty()) {
    tables.by_position.resize(graph.size());
    std::iota(tables.by_position.begin(), tables.by_position.end(), 0u);
    std::sort(tables.by_position.begin(), tables.by_position.end(),
              [&](uint32_t a, uint32_t b) { return order[a] < order[b]; });
  }
  AddWays(graph, order, tables);
  AddBlocks(graph, tables);
  return tables;
}

// Sums of one part of the blocks.
struct Sums {
  std::vector<uint32_t> pairs;  // [way]
  uint64_t unreached = 0;
  uint32_t walked = 0;
};

// What reaches each switch of one block's destinations; scratch of one part.
class Pass {
 public:
  Pass(const Tables& tables, Sums& sums)
      : tables_(tables),
        sums_(sums),
        flow_(size_t{tables.graph.size()} * kBlock),
        standing_(tables.graph.size()) {}

  void Add(const Block& block) {
    if (!tables_.by_position.empty() && AddInOrder(block)) return;
    for (uint64_t left = block.hosts; left; left &= left - 1)
      AddByWalk(block, static_cast<uint32_t>(std::countr_zero(left)));
  }

 private:
  using Flow = uint16_t;  // At most 49,151 end ports.
  Flow* FlowAt(uint32_t s) { return &flow_[size_t{s} * kBlock]; }

  void Start(const Block& block) {
    for (uint32_t s = 0; s < tables_.graph.size(); ++s) {
      const uint32_t hosts = tables_.graph.hosts[s];
      std::fill_n(FlowAt(s), kBlock, static_cast<Flow>(hosts));
      standing_[s] = hosts ? block.hosts : 0;
    }
    for (uint64_t left = block.hosts; left; left &= left - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(left));
      --FlowAt(block.at[bit])[bit];  // None sends to itself.
    }
  }
  // Takes what stands at the switch over its entries of this turn; `sign` -1 takes it back.
  template <Turn turn>
  void Move(uint32_t s, const Block& block, uint32_t sign) {
    uint64_t left = standing_[s];
    if (!left) return;
    const uint8_t* entries = tables_.Entries(s, block);
    Flow* flow = FlowAt(s);
    for (; left; left &= left - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t port = tables_.WayOf(s, entries[i]);
      const Way way = tables_.ways[port];
      if (way.turn() != turn) continue;
      Flow& next = FlowAt(way.head())[i];
      next = static_cast<Flow>(next + flow[i]);
      sums_.pairs[port] += sign * flow[i];
      flow[i] = 0;
      standing_[s] ^= uint64_t{1} << i;
      standing_[way.head()] |= uint64_t{1} << i;
    }
  }
  void MoveInOrder(const Block& block, uint32_t sign) {
    Start(block);
    const std::vector<uint32_t>& order = tables_.by_position;
    for (size_t i = 0; i < order.size(); ++i) {
      // Rows lie far apart: nothing but us knows which comes next.
      if (i + kAhead < order.size()) __builtin_prefetch(tables_.Entries(order[i + kAhead], block));
      Move<Turn::kUp>(order[i], block, sign);
    }
    for (auto s = tables_.by_position.rbegin(); s != tables_.by_position.rend(); ++s)
      Move<Turn::kDown>(*s, block, sign);
  }
  bool Arrives(uint32_t s, uint32_t bit, const Block& block) const {
    return s == block.at[bit] && tables_.Entries(s, block)[bit] == block.port[bit];
  }
  // False: not everything arrived, and nothing was added.
  bool AddInOrder(const Block& block) {
    MoveInOrder(block, 1);
    bool all = true;
    for (uint64_t left = block.hosts; left && all; left &= left - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t at = block.at[bit];
      all = FlowAt(at)[bit] == tables_.others && Arrives(at, bit, block);
    }
    if (!all) MoveInOrder(block, uint32_t{0} - 1);
    return all;
  }
  void AddByWalk(const Block& block, uint32_t bit);

  const Tables& tables_;
  Sums& sums_;
  std::vector<Flow> flow_;                          // [switch * 64 + bit]
  std::vector<uint64_t> standing_;                  // [switch] Bits whose flow is not 0, or may be.
  std::vector<uint32_t> feeders_, ready_, amount_;  // [switch]
  std::vector<uint32_t> way_;                       // [switch]
};

// The next hops towards one destination are a forest but for loops: the ends of its branches first.
void Pass::AddByWalk(const Block& block, uint32_t bit) {
  const uint32_t size = tables_.graph.size();
  feeders_.assign(size, 0);
  way_.resize(size);
  for (uint32_t s = 0; s < size; ++s) {
    way_[s] = tables_.WayOf(s, tables_.Entries(s, block)[bit]);
    if (const Way way = tables_.ways[way_[s]]; way.Moves()) ++feeders_[way.head()];
  }
  amount_.assign(tables_.graph.hosts.begin(), tables_.graph.hosts.end());
  --amount_[block.at[bit]];
  ready_.clear();
  for (uint32_t s = 0; s < size; ++s)
    if (feeders_[s] == 0) ready_.push_back(s);
  uint32_t arrived = 0;
  for (size_t next = 0; next < ready_.size(); ++next) {
    const uint32_t s = ready_[next];
    if (Arrives(s, bit, block)) arrived = amount_[s];
    const Way way = tables_.ways[way_[s]];
    if (!way.Moves()) continue;
    sums_.pairs[way_[s]] += amount_[s];
    amount_[way.head()] += amount_[s];
    if (--feeders_[way.head()] == 0) ready_.push_back(way.head());
  }
  ++sums_.walked;
  sums_.unreached += tables_.others - arrived;
}

// All cables of a switch lie together.
template <typename Visit>
void ForEachCable(const SwitchGraph& graph, uint32_t s, Visit&& visit) {
  if (graph.degree(s) == 0) return;
  const Neighbor& first = graph.neighbor(s, 0);
  const Neighbor& last = graph.neighbor(s, graph.degree(s) - 1);
  for (uint32_t c = first.first_cable; c < last.first_cable + last.cable_count; ++c) visit(c);
}

}  // namespace

LinkLoad AllToAllLoad(const SwitchGraph& graph, const RoutingPlan& plan, Parallel& parallel) {
  std::vector<const Row*> rows;
  std::vector<uint32_t> order;
  for (const NodeIndex node : graph.node) {
    rows.push_back(plan.HasRow(node) ? plan.rows[node.value()].get() : nullptr);
    if (node.value() < plan.order.size()) order.push_back(plan.order[node.value()]);
  }
  if (order.size() != graph.size()) order.clear();
  return AllToAllLoad(graph, rows, order, parallel);
}

LinkLoad AllToAllLoad(const SwitchGraph& graph, const std::vector<const Row*>& rows,
                      const std::vector<uint32_t>& order, Parallel& parallel) {
  const Tables tables = ReadTables(graph, rows, order);
  const size_t parts = std::min<size_t>(
      tables.blocks.size(), kPartsPerThread * static_cast<size_t>(parallel.concurrency()));
  std::vector<Sums> sums(parts);
  parallel.For(parts, [&](size_t part) {
    sums[part].pairs.assign(tables.ways.size(), 0);
    Pass pass(tables, sums[part]);
    for (size_t b = part * tables.blocks.size() / parts;
         b < (part + 1) * tables.blocks.size() / parts; ++b)
      pass.Add(tables.blocks[b]);
  });
  LinkLoad load;
  load.cable.assign(graph.cables.size(), 0);
  for (const Sums& part : sums) {
    for (uint32_t s = 0; s < graph.size(); ++s)
      ForEachCable(graph, s, [&](uint32_t c) {
        load.cable[c] += part.pairs[tables.way_begin[s] + graph.cables[c].port];
      });
    load.unreached_pairs += part.unreached;
    load.walked_destinations += part.walked;
  }
  for (uint32_t value : load.cable) load.max = std::max(load.max, value);
  return load;
}

PortRef SendingEnd(const SwitchGraph& graph, size_t cable) {
  const auto after = std::upper_bound(
      graph.neighbors.begin(), graph.neighbors.end(), cable,
      [](size_t number, const Neighbor& neighbor) { return number < neighbor.first_cable; });
  const auto owner = std::upper_bound(graph.neighbor_begin.begin(), graph.neighbor_begin.end(),
                                      static_cast<uint32_t>(after - graph.neighbors.begin() - 1));
  return {graph.node[static_cast<size_t>(owner - graph.neighbor_begin.begin() - 1)],
          PortNum(graph.cables[cable].port)};
}

}  // namespace fabricd::routing
