// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/quality.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "common/rng.h"
#include "routing/graph/levels.h"
#include "routing/graph/positions.h"
#include "routing/quality/link_load.h"
#include "routing/quality/load_bound.h"
#include "routing/quality/rail_patterns.h"

namespace fabricd::routing {
namespace {

Congestion MeasureShifts(const PathWalker& walker, const std::vector<uint32_t>& positions,
                         uint32_t hosts, const QualityOptions& options, Parallel& parallel) {
  const auto size = static_cast<uint32_t>(positions.size());
  if (size < 2) return {};
  const uint64_t affordable =
      std::max<uint64_t>(options.most_flows / std::max(hosts, 1u), options.least_patterns);
  const std::vector<uint32_t> shifts =
      SampleNumbers(size - 1, affordable, MakeStream(options.seed, Stream::kShifts, 0));
  Congestion result = MeasureFamily(
      walker, shifts.size(),
      [&](size_t i) {
        const uint32_t shift = shifts[i];
        Flows flows;
        for (uint32_t p = 0; p < size; ++p) {
          const uint32_t to = positions[p + shift < size ? p + shift : p + shift - size];
          if (positions[p] != kHole && to != kHole) flows.push_back({positions[p], to});
        }
        return flows;
      },
      parallel);
  result.worst = shifts[result.worst];
  result.all = shifts.size() == size - 1;
  return result;
}

Congestion MeasurePermutations(const PathWalker& walker, const std::vector<uint32_t>& hosts,
                               const QualityOptions& options, Parallel& parallel) {
  if (hosts.size() < 2) return {};
  Congestion result = MeasureFamily(
      walker, options.permutations,
      [&](size_t sample) {
        std::vector<uint32_t> to = hosts;
        Rng rng = MakeStream(options.seed, Stream::kPermutations, sample);
        Shuffle(to, rng);
        Flows flows;
        for (size_t i = 0; i < hosts.size(); ++i)
          if (hosts[i] != to[i]) flows.push_back({hosts[i], to[i]});
        return flows;
      },
      parallel);
  result.all = false;
  return result;
}

// Mean over the flows of one bisection of 1 / congestion.
double MeasureBisection(const PathWalker& walker, std::vector<uint32_t> hosts, Rng rng) {
  Shuffle(hosts, rng);
  const size_t half = hosts.size() / 2;
  Flows flows;
  for (size_t i = 0; i < half; ++i) {
    flows.push_back({hosts[i], hosts[half + i]});
    flows.push_back({hosts[half + i], hosts[i]});
  }
  const std::vector<uint32_t> count = CountFlows(walker, flows);
  double sum = 0;
  for (const Flow& flow : flows) {
    uint32_t congestion = 1;
    const bool arrives =
        walker.Walk(walker.graph().ends[flow.from].at, walker.graph().ends[flow.to],
                    [&](uint32_t link) { congestion = std::max(congestion, count[link]); });
    if (arrives) sum += 1.0 / congestion;
  }
  return sum / static_cast<double>(flows.size());
}

double MeasureBisections(const PathWalker& walker, const std::vector<uint32_t>& hosts,
                         const QualityOptions& options, Parallel& parallel) {
  if (hosts.size() < 2 || options.bisections == 0) return 1;
  std::vector<double> of(options.bisections);
  parallel.For(of.size(), [&](size_t sample) {
    of[sample] =
        MeasureBisection(walker, hosts, MakeStream(options.seed, Stream::kBisections, sample));
  });
  return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

// Fewest links from every switch to `target`.
std::vector<uint32_t> FewestLinks(const SwitchGraph& graph, uint32_t target) {
  std::vector<uint32_t> links(graph.size(), kHole);
  std::vector<uint32_t> queue{target};
  links[target] = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    const uint32_t s = queue[next];
    for (uint32_t i = 0; i < graph.degree(s); ++i) {
      const uint32_t head = graph.neighbor(s, i).head;
      if (links[head] != kHole) continue;
      links[head] = links[s] + 1;
      queue.push_back(head);
    }
  }
  return links;
}

// What is found on the ways to some hosts.
struct WaysFound {
  uint64_t ways = 0, links = 0, far_ways = 0;
  uint32_t max = 0, most_extra = 0;
  double stretch = 0;

  void Add(const WaysFound& other) {
    ways += other.ways;
    links += other.links;
    far_ways += other.far_ways;
    max = std::max(max, other.max);
    most_extra = std::max(most_extra, other.most_extra);
    stretch += other.stretch;
  }
};

WaysFound FollowWaysTo(const PathWalker& walker, const EndPort& end,
                       const std::vector<uint32_t>& fewest) {
  const SwitchGraph& graph = walker.graph();
  WaysFound found;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (graph.hosts[s] == 0) continue;
    uint32_t links = 0;
    if (!walker.Walk(s, end, [&links](uint32_t) { ++links; })) continue;
    ++found.ways;
    found.links += links;
    found.max = std::max(found.max, links);
    if (s == end.at) continue;
    ++found.far_ways;
    found.most_extra = std::max(found.most_extra, links - fewest[s]);
    found.stretch += static_cast<double>(links) / fewest[s];
  }
  return found;
}

Hops MeasureHops(const PathWalker& walker, std::vector<uint32_t> hosts,
                 const QualityOptions& options, Parallel& parallel) {
  const SwitchGraph& graph = walker.graph();
  const auto sources = std::count_if(graph.hosts.begin(), graph.hosts.end(),
                                     [](uint32_t count) { return count > 0; });
  const size_t affordable =
      std::max<uint64_t>(options.most_flows / std::max<uint64_t>(static_cast<uint64_t>(sources), 1),
                         options.least_patterns);
  Hops hops;
  hops.all = hosts.size() <= affordable;
  const size_t wanted = std::min(hosts.size(), affordable);
  std::vector<WaysFound> found(wanted);
  // Neighbours in `hosts` share a switch, and with it the search for the fewest links.
  constexpr size_t kTogether = 64;
  parallel.For((wanted + kTogether - 1) / kTogether, [&](size_t part) {
    std::vector<uint32_t> fewest;
    uint32_t fewest_to = kHole;
    for (size_t i = part * kTogether; i < std::min(wanted, (part + 1) * kTogether); ++i) {
      const EndPort& end = graph.ends[hosts[i * hosts.size() / wanted]];
      if (end.at != fewest_to) fewest = FewestLinks(graph, fewest_to = end.at);
      found[i] = FollowWaysTo(walker, end, fewest);
    }
  });
  WaysFound all;
  for (const WaysFound& of_one : found) all.Add(of_one);
  hops.max = all.max;
  hops.most_extra = all.most_extra;
  if (all.ways > 0) hops.mean = static_cast<double>(all.links) / static_cast<double>(all.ways);
  if (all.far_ways > 0) hops.mean_stretch = all.stretch / static_cast<double>(all.far_ways);
  return hops;
}

AllToAll SummariseLoad(LinkLoad load, uint32_t hosts) {
  AllToAll all;
  std::map<uint32_t, uint32_t> links_with;
  uint64_t sum = 0;
  for (uint32_t pairs : load.cable) {
    ++links_with[pairs];
    sum += pairs;
  }
  for (const auto& [pairs, links] : links_with) all.distribution.push_back({pairs, links});
  all.max = load.max;
  if (!load.cable.empty())
    all.mean = static_cast<double>(sum) / static_cast<double>(load.cable.size());
  const uint32_t sent = hosts > 1 ? hosts - 1 : 1;
  all.bandwidth = static_cast<double>(sent) / std::max(all.max, sent);
  all.load = std::move(load.cable);
  return all;
}

// The plan's order as the graph numbers its switches; empty: it has none.
Order OrderOf(const SwitchGraph& graph, const RoutingPlan& plan) {
  Order order;
  for (uint32_t s = 0; s < graph.size() && !plan.order.empty(); ++s)
    order.push_back(plan.order[graph.node[s].value()]);
  return order;
}

}  // namespace

Quality MeasureQuality(const SwitchGraph& graph, const RoutingPlan& plan, const RailedHosts* rails,
                       const QualityOptions& options, Parallel& parallel) {
  const PathWalker walker(graph, plan);
  const Levels levels = FindLevels(graph);
  const std::vector<uint32_t> positions = FindPositions(graph, levels);
  std::vector<uint32_t> hosts;
  for (uint32_t position : positions)
    if (position != kHole) hosts.push_back(position);
  Quality quality;
  quality.hosts = static_cast<uint32_t>(hosts.size());
  quality.positions = static_cast<uint32_t>(positions.size());
  quality.links = walker.link_count();
  LinkLoad load = AllToAllLoad(graph, plan, parallel);
  quality.unrouted = load.unreached_pairs;
  quality.all_to_all = SummariseLoad(std::move(load), quality.hosts);
  quality.all_to_all.lower_bound = BoundLoad(graph, levels, OrderOf(graph, plan), parallel).value();
  quality.hops = MeasureHops(walker, hosts, options, parallel);
  quality.shift = MeasureShifts(walker, positions, quality.hosts, options, parallel);
  quality.random_permutation = MeasurePermutations(walker, hosts, options, parallel);
  quality.effective_bisection = MeasureBisections(walker, hosts, options, parallel);
  quality.bisections = options.bisections;
  if (rails != nullptr) quality.rails = MeasureRails(walker, *rails, options, parallel);
  return quality;
}

}  // namespace fabricd::routing
