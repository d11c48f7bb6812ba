// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/rail_patterns.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "routing/graph/levels.h"
#include "routing/quality/rail_ends.h"

namespace fabricd::routing {
namespace {

HostSet Range(uint32_t from, uint32_t count) {
  HostSet hosts(count);
  std::iota(hosts.begin(), hosts.end(), from);
  return hosts;
}

// Half of the numbers below `count`, at least one; ascending.
HostSet DrawHalf(uint32_t count, Rng& rng) {
  HostSet drawn = Range(0, count);
  Shuffle(drawn, rng);
  drawn.resize((count + 1) / 2);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// [unit] Hosts, in order.
std::vector<HostSet> ByUnit(const RailedHosts& rails) {
  std::vector<HostSet> units;
  for (uint32_t host = 0; host < rails.ports.size(); ++host) {
    if (host == 0 || rails.unit[host] != rails.unit[host - 1]) units.emplace_back();
    units.back().push_back(host);
  }
  return units;
}

HostSet DrawNeighbors(uint32_t size, uint32_t count, Rng& rng) {
  return Range(static_cast<uint32_t>(rng.Below(count - size + 1)), size);
}

size_t LargestOf(const std::vector<HostSet>& units) {
  size_t most = 0;
  for (const HostSet& unit : units) most = std::max(most, unit.size());
  return most;
}

HostSet DrawContiguous(const std::vector<HostSet>& units, uint32_t count, Rng& rng) {
  const auto unit = static_cast<uint32_t>(LargestOf(units));
  return DrawNeighbors(unit * static_cast<uint32_t>(1 + rng.Below(count / unit)), count, rng);
}

HostSet DrawUnits(const std::vector<HostSet>& units, Rng& rng) {
  HostSet hosts;
  for (uint32_t unit : DrawHalf(static_cast<uint32_t>(units.size()), rng))
    hosts.insert(hosts.end(), units[unit].begin(), units[unit].end());
  return hosts;
}

HostSet DrawSlots(const std::vector<HostSet>& units, Rng& rng) {
  const size_t most = LargestOf(units);
  size_t sizes = 1;
  while (size_t{1} << sizes <= most) ++sizes;
  const size_t size = size_t{1} << rng.Below(sizes), from = rng.Below(most / size) * size;
  HostSet hosts;
  for (const HostSet& unit : units)
    for (size_t slot = from; slot < std::min(from + size, unit.size()); ++slot)
      hosts.push_back(unit[slot]);
  return hosts;
}

Congestion MeasureRings(const PathWalker& walker, const RailEnds& ends,
                        const std::vector<HostSet>& sets, Parallel& parallel) {
  return MeasureFamily(
      walker, sets.size(),
      [&](size_t set) {
        Flows flows;
        for (uint32_t rail = 0; rail < ends.rails(); ++rail) ends.AddRing(sets[set], rail, flows);
        return flows;
      },
      parallel);
}

// One exchange of all ranks of one set: with rank xor number, or with rank + number.
struct Exchange {
  uint32_t set, number;
};

Congestion MeasureExchanges(const PathWalker& walker, const RailEnds& ends,
                            const std::vector<HostSet>& sets,
                            const std::vector<Exchange>& exchanges, bool shift,
                            Parallel& parallel) {
  Congestion result = MeasureFamily(
      walker, exchanges.size(),
      [&](size_t i) {
        const auto [set, number] = exchanges[i];
        Flows flows;
        if (shift)
          ends.AddShift(sets[set], number, std::nullopt, flows);
        else
          ends.AddDoubling(sets[set], number, std::nullopt, flows);
        return flows;
      },
      parallel);
  if (!exchanges.empty()) result.worst = exchanges[result.worst].number;
  return result;
}

RailPatterns MeasureSets(const PathWalker& walker, const RailEnds& ends, std::string name,
                         const std::vector<HostSet>& sets, const QualityOptions& options,
                         Parallel& parallel) {
  RailPatterns result;
  result.sets = std::move(name);
  result.samples = static_cast<uint32_t>(sets.size());
  result.ring = MeasureRings(walker, ends, sets, parallel);
  std::vector<Exchange> doubling, shifts;
  bool all = true;
  for (uint32_t set = 0; set < sets.size(); ++set) {
    const auto size = static_cast<uint32_t>(sets[set].size());
    if (size < 2) continue;
    for (uint32_t bit = 1; bit < size; bit *= 2) doubling.push_back({set, bit});
    const uint64_t affordable =
        std::max<uint64_t>(options.most_flows / (uint64_t{size} * ends.rails() * sets.size()),
                           options.least_patterns / sets.size());
    all = all && affordable >= size - 1;
    const Rng rng = MakeStream(options.seed, Stream::kHostSets, size);
    for (uint32_t shift : SampleNumbers(size - 1, affordable, rng)) shifts.push_back({set, shift});
  }
  result.recursive_doubling = MeasureExchanges(walker, ends, sets, doubling, false, parallel);
  result.all_to_all = MeasureExchanges(walker, ends, sets, shifts, true, parallel);
  result.all_to_all.all = all;
  return result;
}

}  // namespace

RailedHosts OrderHosts(const fabric::FabricSnapshot& snapshot, const fabric::Rails& rails,
                       const SwitchGraph& graph) {
  std::vector<uint32_t> place(snapshot.node_index_end(), RailEnds::kNone);  // [NodeIndex]
  uint32_t next = 0;
  for (const Destination& destination : TopologicalOrder(graph, FindLevels(graph)))
    if (uint32_t& of = place[graph.node[destination.at].value()]; of == RailEnds::kNone)
      of = next++;
  using Key = std::tuple<uint32_t, uint32_t, uint8_t, uint32_t>;  // Unit's place, unit, port, host.
  std::vector<Key> keys;
  for (uint32_t unit = 0; unit < rails.units.size(); ++unit) {
    uint32_t first = RailEnds::kNone;
    for (NodeIndex leaf : rails.units[unit].leaf)
      if (!leaf.IsNone()) first = std::min(first, place[leaf.value()]);
    for (uint32_t host : rails.units[unit].hosts)
      keys.emplace_back(first, unit, fabric::CommonLeafPort(snapshot, rails.hosts[host]), host);
  }
  std::sort(keys.begin(), keys.end());
  RailedHosts ordered;
  ordered.rails = static_cast<uint32_t>(rails.names.size());
  uint32_t last = RailEnds::kNone;
  for (const auto& [first, unit, port, host] : keys) {
    const bool same = !ordered.unit.empty() && unit == last;
    ordered.unit.push_back(ordered.unit.empty() ? 0 : ordered.unit.back() + !same);
    ordered.ports.push_back(rails.hosts[host].ends);
    last = unit;
  }
  return ordered;
}

std::vector<RailPatterns> MeasureRails(const PathWalker& walker, const RailedHosts& rails,
                                       const QualityOptions& options, Parallel& parallel) {
  const auto count = static_cast<uint32_t>(rails.ports.size());
  if (count < 2 || rails.rails == 0) return {};
  const RailEnds ends(walker.graph(), rails);
  const std::vector<HostSet> units = ByUnit(rails);
  std::vector<RailPatterns> measured;
  uint64_t kind = 0;
  const auto measure = [&](const char* name, auto&& draw) {
    Rng rng = MakeStream(options.seed, Stream::kHostSets, ++kind << 32);
    std::vector<HostSet> sets(options.rail_samples);
    for (HostSet& set : sets) set = draw(rng);
    measured.push_back(MeasureSets(walker, ends, name, sets, options, parallel));
  };
  measured.push_back(MeasureSets(walker, ends, "all", {Range(0, count)}, options, parallel));
  measure("contiguous", [&](Rng& rng) { return DrawContiguous(units, count, rng); });
  measure("any length", [&](Rng& rng) {
    return DrawNeighbors(static_cast<uint32_t>(2 + rng.Below(count - 1)), count, rng);
  });
  measure("units", [&](Rng& rng) { return DrawUnits(units, rng); });
  measure("slots", [&](Rng& rng) { return DrawSlots(units, rng); });
  measure("random", [&](Rng& rng) { return DrawHalf(count, rng); });
  return measured;
}

}  // namespace fabricd::routing
