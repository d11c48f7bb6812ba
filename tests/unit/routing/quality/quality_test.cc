// SPDX-License-Identifier: Apache-2.0
// The metrics of quality.h: known figures on small fabrics, and a count by hand of every flow on
// random ones.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/graph/levels.h"
#include "routing/graph/positions.h"
#include "routing/quality/job_patterns.h"
#include "routing/quality/quality.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Measured {
  TestFabric fabric;
  SwitchGraph graph;
  RoutingPlan plan;
  std::vector<uint32_t> positions;
  Quality quality;
};

Measured Measure(const TestFabric& fabric, const std::string& engine,
                 const RailedHosts* rails = nullptr, const QualityOptions& options = {}) {
  Measured result{
      fabric, BuildGraphs(*fabric.snapshot, fabric.lids)[0], Route(fabric, engine), {}, {}};
  result.positions = FindPositions(result.graph, FindLevels(result.graph));
  Parallel parallel(2);
  result.quality = MeasureQuality(result.graph, result.plan, rails, options, parallel);
  return result;
}

// Flows by the sending end of each link between switches, followed one at a time.
class DumbCount {
 public:
  explicit DumbCount(const Measured& measured) : measured_(measured) {}
  void Add(uint32_t from, uint32_t to) {
    const SwitchGraph& graph = measured_.graph;
    const fabric::FabricSnapshot& snapshot = *measured_.fabric.snapshot;
    const Walk walk = Follow(snapshot, measured_.plan, graph.node[graph.ends[from].at],
                             Lid(graph.ends[to].base_lid));
    for (Channel channel : walk.channels)
      if (snapshot.node(snapshot.port(channel)->peer.node)->IsSwitch())
        max_ = std::max(max_, ++count_[channel]);
  }
  uint32_t max() const { return max_; }
  uint32_t at(PortRef sender) const { return count_.at(sender); }
  std::vector<uint32_t> Sorted() const {
    std::vector<uint32_t> loads;
    for (const auto& [channel, count] : count_) loads.push_back(count);
    std::sort(loads.begin(), loads.end());
    return loads;
  }

 private:
  const Measured& measured_;
  std::map<Channel, uint32_t> count_;
  uint32_t max_ = 0;
};

std::vector<uint32_t> HostsOf(const Measured& measured) {
  std::vector<uint32_t> hosts;
  for (uint32_t position : measured.positions)
    if (position != kHole) hosts.push_back(position);
  return hosts;
}

void ExpectCountsByHand(const Measured& measured) {
  const std::vector<uint32_t> hosts = HostsOf(measured);
  DumbCount all(measured);
  for (uint32_t from : hosts)
    for (uint32_t to : hosts)
      if (from != to) all.Add(from, to);
  EXPECT_EQ(measured.quality.all_to_all.max, all.max());
  std::vector<uint32_t> loads = measured.quality.all_to_all.load;
  std::sort(loads.begin(), loads.end());
  loads.erase(loads.begin(), std::upper_bound(loads.begin(), loads.end(), 0u));
  EXPECT_EQ(loads, all.Sorted());

  const auto size = static_cast<uint32_t>(measured.positions.size());
  uint32_t worst = 0, sum = 0;
  for (uint32_t k = 1; k < size; ++k) {
    DumbCount shift(measured);
    for (uint32_t p = 0; p < size; ++p) {
      const uint32_t from = measured.positions[p], to = measured.positions[(p + k) % size];
      if (from != kHole && to != kHole) shift.Add(from, to);
    }
    worst = std::max(worst, shift.max());
    sum += shift.max();
  }
  const Congestion& shift = measured.quality.shift;
  EXPECT_TRUE(shift.all);
  EXPECT_EQ(shift.max, worst);
  EXPECT_EQ(shift.patterns, size > 0 ? size - 1 : 0);
  if (size > 1) {
    EXPECT_NEAR(shift.mean_max, double{1} * sum / (size - 1), 1e-9);
  }
}

TEST(Quality, EqualsAnOracleOnDamagedTrees) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    FabricMaker maker = MakeTree({{3, 1}, {3, 2}, {2, 2, 2}});
    Rng rng(seed);
    for (size_t cable = maker.cable_count(); cable-- > 0;)
      if (rng.Chance(0.1)) maker.RemoveCable(cable);
    SCOPED_TRACE(seed);
    ExpectCountsByHand(Measure(maker.Build(), "up_down"));
  }
}

TEST(Quality, EqualsAnOracleOnRandomGraphs) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    ExpectCountsByHand(Measure(MakeRandom(9, 24, 14, seed).Build(), "up_down"));
  }
}

TEST(Quality, IntactTreeIsFreeOfContention) {
  const Quality quality = Measure(MakeFatTree(8, 3).Build(), "up_down").quality;
  EXPECT_EQ(quality.hosts, 128u);
  EXPECT_EQ(quality.links, 512u);
  EXPECT_EQ(quality.unrouted, 0u);
  EXPECT_EQ(quality.shift.max, 1u);
  EXPECT_EQ(quality.shift.bandwidth, 1);
  // Each leaf's four up links carry what its four hosts send to the 124 others.
  EXPECT_EQ(quality.all_to_all.max, 124u);
  EXPECT_NEAR(quality.all_to_all.lower_bound, 124, 1e-6);
  EXPECT_EQ(quality.all_to_all.bandwidth, 1);
  EXPECT_EQ(quality.hops.max, 4u);
  EXPECT_EQ(quality.hops.most_extra, 0u);
  EXPECT_EQ(quality.hops.mean_stretch, 1);
  EXPECT_GT(quality.effective_bisection, 0.5);
  EXPECT_LT(quality.effective_bisection, 0.8);
}

// Two switches and one cable: all is known. Hosts a and b on one, c and d on the other.
TEST(Quality, KnownFiguresOfOneCable) {
  FabricMaker maker;
  const size_t left = maker.AddSwitch(8), right = maker.AddSwitch(8);
  for (size_t on : {left, left, right, right}) maker.Host(on);
  maker.Cable(left, right);
  const Quality quality = Measure(maker.Build(), "up_down").quality;
  EXPECT_EQ(quality.all_to_all.max, 4u);
  EXPECT_EQ(quality.all_to_all.mean, 4);
  EXPECT_EQ(quality.all_to_all.bandwidth, 0.75);
  EXPECT_THAT(quality.all_to_all.distribution, ElementsAre(LoadCount{4, 2}));
  // a→b→c→d→a crosses once each way; a↔c, b↔d twice.
  EXPECT_EQ(quality.shift.max, 2u);
  EXPECT_EQ(quality.shift.worst, 2u);
  EXPECT_NEAR(quality.shift.mean_max, 4.0 / 3, 1e-9);
  EXPECT_NEAR(quality.shift.bandwidth, (1 + 0.5 + 1) / 3, 1e-9);
  // A bisection pairs either both with neighbours (1 in 3 of the pairings) or both across.
  EXPECT_NEAR(quality.effective_bisection, 1.0 / 3 + 2.0 / 3 / 2, 0.08);
}

TEST(Quality, ASampleOfShiftsIsSpreadEvenly) {
  QualityOptions options;
  options.most_flows = 0;
  options.least_patterns = 8;
  const Quality quality = Measure(MakeFatTree(8, 3).Build(), "up_down", nullptr, options).quality;
  EXPECT_FALSE(quality.shift.all);
  EXPECT_EQ(quality.shift.patterns, 8u);
  EXPECT_FALSE(quality.hops.all);
  const std::vector<uint32_t> numbers = SampleNumbers(127, 8, Rng(1));
  ASSERT_EQ(numbers.size(), 8u);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_GE(numbers[i], 1 + i * 127 / 8);
    EXPECT_LE(numbers[i], (i + 1) * 127 / 8);
  }
  EXPECT_THAT(SampleNumbers(3, 8, Rng(1)), ElementsAre(1, 2, 3));
}

TEST(Quality, ThreadsChangeNothing) {
  FabricMaker maker = MakeFatTree(8, 3);
  maker.RemoveCable(200);
  const TestFabric fabric = maker.Build();
  const SwitchGraph graph = BuildGraphs(*fabric.snapshot, fabric.lids)[0];
  const RoutingPlan plan = Route(fabric, "up_down");
  Parallel one(1), two(2);
  const Quality a = MeasureQuality(graph, plan, nullptr, {}, one);
  const Quality b = MeasureQuality(graph, plan, nullptr, {}, two);
  EXPECT_EQ(a.all_to_all.load, b.all_to_all.load);
  EXPECT_EQ(a.shift, b.shift);
  EXPECT_EQ(a.random_permutation, b.random_permutation);
  EXPECT_EQ(a.effective_bisection, b.effective_bisection);
  EXPECT_EQ(a.hops.mean_stretch, b.hops.mean_stretch);
}

TEST(Quality, CountsPairsWithoutAPath) {
  const TestFabric fabric = MakeFatTree(4, 2).Build();
  const SwitchGraph graph = BuildGraphs(*fabric.snapshot, fabric.lids)[0];
  RoutingPlan plan = Route(fabric, "up_down");
  const EndPort& host = *std::find_if(graph.ends.begin(), graph.ends.end(),
                                      [](const EndPort& end) { return end.IsHost(); });
  auto row = std::make_shared<Row>(*plan.rows[graph.node[host.at].value()]);
  row->Set(host.base_lid, kNoRoute);
  plan.rows[graph.node[host.at].value()] = row;
  Parallel parallel(1);
  const Quality quality = MeasureQuality(graph, plan, nullptr, {}, parallel);
  EXPECT_EQ(quality.hosts, 8u);
  EXPECT_EQ(quality.unrouted, 7u);
}

// Four rails, each a leaf of its own in both units of four hosts; two spines.
struct Rails {
  FabricMaker maker;
  std::vector<std::vector<size_t>> adapters;  // [host][rail]
};
Rails MakeRails() {
  Rails rails;
  std::vector<size_t> leaves, spines;
  for (int i = 0; i < 8; ++i) leaves.push_back(rails.maker.AddSwitch(8));
  for (int i = 0; i < 2; ++i) spines.push_back(rails.maker.AddSwitch(16));
  for (size_t host = 0; host < 8; ++host) {
    rails.adapters.emplace_back();
    for (size_t rail = 0; rail < 4; ++rail)
      rails.adapters.back().push_back(rails.maker.Host(leaves[host / 4 * 4 + rail]));
  }
  for (size_t leaf : leaves)
    for (size_t i = 0; i < 4; ++i) rails.maker.Cable(leaf, spines[i % 2]);
  return rails;
}

RailedHosts RailedHostsOf(const Rails& made, const TestFabric& fabric) {
  RailedHosts rails;
  rails.rails = 4;
  for (size_t host = 0; host < 8; ++host) {
    rails.ports.emplace_back();
    rails.unit.push_back(static_cast<uint32_t>(host / 4));
    for (size_t adapter : made.adapters[host])
      rails.ports.back().push_back({fabric.node[adapter], PortNum(1)});
  }
  return rails;
}

TEST(Quality, RailsAreMeasuredTogether) {
  const Rails made = MakeRails();
  const TestFabric fabric = made.maker.Build();
  RailedHosts rails = RailedHostsOf(made, fabric);
  const Measured measured = Measure(fabric, "up_down", &rails);
  ASSERT_EQ(measured.quality.rails.size(), 6u);
  for (const RailPatterns& sets : measured.quality.rails) {
    // Half of the units is one of them: nothing leaves its leaves.
    EXPECT_EQ(sets.ring.max, sets.sets == "units" ? 0u : 1u) << sets.sets;
    EXPECT_EQ(sets.samples, sets.sets == "all" ? 1u : 10u);
  }
  const RailPatterns& all = measured.quality.rails[0];
  EXPECT_EQ(all.sets, "all");
  EXPECT_EQ(all.ring.patterns, 1u);
  EXPECT_EQ(all.recursive_doubling.patterns, 3u);  // 1, 2 and 4 of eight ranks.
  EXPECT_EQ(all.all_to_all.patterns, 7u);
  // Doubling by 4 sends every host of a unit to the other: four flows from each leaf.
  DumbCount count(measured);
  std::map<PortRef, uint32_t> end_of;
  for (uint32_t e = 0; e < measured.graph.ends.size(); ++e)
    end_of[measured.graph.ends[e].owner] = e;
  for (size_t host = 0; host < 8; ++host)
    for (size_t rail = 0; rail < 4; ++rail)
      count.Add(end_of[rails.ports[host][rail]], end_of[rails.ports[host ^ 4][rail]]);
  EXPECT_GE(all.recursive_doubling.max, count.max());

  // Without the first host's adapter of rail 2 the others keep their ranks and its ring closes.
  rails.ports[0][2] = PortRef{};
  const Quality without = Measure(fabric, "up_down", &rails).quality;
  EXPECT_EQ(without.rails[0].ring.max, 1u);
  EXPECT_LE(without.rails[0].all_to_all.max, all.all_to_all.max);
}

// A job of all hosts in topological order sends what the set of all hosts does.
TEST(JobPatterns, EqualTheQualityOfTheSamePatterns) {
  const Rails made = MakeRails();
  const TestFabric fabric = made.maker.Build();
  RailedHosts hosts = RailedHostsOf(made, fabric);
  const Measured measured = Measure(fabric, "up_down", &hosts);
  const RailPatterns& all = measured.quality.rails[0];
  Parallel parallel(2);
  const auto measure = [&] {
    return MeasureJob(measured.graph, measured.plan, hosts, QualityOptions(), parallel);
  };
  const JobPatterns job = measure();
  ASSERT_EQ(job.patterns.size(), 15u);  // Three of all rails and of each.
  EXPECT_EQ(job.patterns[0].congestion.max, all.ring.max);
  EXPECT_EQ(job.patterns[1].congestion, all.recursive_doubling);
  EXPECT_EQ(job.patterns[2].congestion, all.all_to_all);
  EXPECT_THAT(job.left_out, IsEmpty());
  // The worst link carries what is said of it.
  const JobPattern& doubling = job.patterns[1];
  DumbCount count(measured);
  std::map<PortRef, uint32_t> end_of;
  for (uint32_t e = 0; e < measured.graph.ends.size(); ++e)
    end_of[measured.graph.ends[e].owner] = e;
  for (size_t host = 0; host < 8; ++host)
    for (size_t rail = 0; rail < 4; ++rail)
      count.Add(end_of[hosts.ports[host][rail]],
                end_of[hosts.ports[host ^ doubling.congestion.worst][rail]]);
  EXPECT_EQ(count.at(doubling.worst_link), doubling.congestion.max);
  EXPECT_EQ(count.max(), doubling.congestion.max);
  // One rail alone loads no link more than all together.
  for (const JobPattern& pattern : job.patterns) {
    EXPECT_EQ(pattern.rail.has_value(), &pattern - job.patterns.data() >= 3);
    EXPECT_LE(pattern.congestion.max, all.all_to_all.max);
  }
  // Who is in another component takes no part.
  hosts.ports[3][1] = PortRef{NodeIndex(10'000), PortNum(1)};
  EXPECT_THAT(measure().left_out, ElementsAre(hosts.ports[3][1]));
}

// By handle of the switch and port: what FindPositions gives on it.
std::vector<int> PortsInOrder(const Measured& measured) {
  std::vector<int> ports;
  for (uint32_t position : measured.positions)
    ports.push_back(position == kHole ? 0 : measured.graph.ends[position].port);
  return ports;
}

TEST(Positions, AMissingHostLeavesAGap) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(8), b = maker.AddSwitch(8), spine = maker.AddSwitch(8);
  for (int port : {1, 2, 3}) maker.Cable(a, port, maker.AddHost(), 1);
  for (int port : {1, 3}) maker.Cable(b, port, maker.AddHost(), 1);
  maker.Cable(a, 7, spine, 1);
  maker.Cable(b, 7, spine, 2);
  EXPECT_THAT(PortsInOrder(Measure(maker.Build(), "up_down")), ElementsAre(1, 2, 3, 1, 0, 3));
}

TEST(Positions, WithoutASharedLayoutGapsAreAtTheEnd) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(8), b = maker.AddSwitch(8), spine = maker.AddSwitch(8);
  for (int port : {1, 2, 3}) maker.Cable(a, port, maker.AddHost(), 1);
  for (int port : {4, 7}) maker.Cable(b, port, maker.AddHost(), 1);
  maker.Cable(a, 7, spine, 1);
  maker.Cable(b, 1, spine, 2);
  EXPECT_THAT(PortsInOrder(Measure(maker.Build(), "up_down")), ElementsAre(1, 2, 3, 4, 7, 0));
}

TEST(Positions, OfNoHosts) {
  FabricMaker maker;
  maker.Cable(maker.AddSwitch(4), maker.AddSwitch(4));
  const Measured measured = Measure(maker.Build(), "up_down");
  EXPECT_THAT(measured.positions, IsEmpty());
  EXPECT_EQ(measured.quality.hosts, 0u);
  EXPECT_EQ(measured.quality.shift.patterns, 0u);
  EXPECT_EQ(measured.quality.effective_bisection, 1);
}

}  // namespace
}  // namespace fabricd::routing
