// SPDX-License-Identifier: Apache-2.0
// What every engine owes, whatever the fabric: each on random fabrics of all generators with random
// damage, against the dumb oracles. FABRICD_NIGHTLY=1 tries twenty times as many.
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "routing/graph/levels.h"
#include "routing/graph/positions.h"
#include "routing/quality/quality.h"
#include "sim/generate/decorate.h"
#include "sim/generate/generate.h"
#include "sweep/plan/lid_assignment.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

uint64_t Cases(uint64_t count) {
  const char* nightly = std::getenv("FABRICD_NIGHTLY");
  return nightly != nullptr && *nightly != 0 ? 20 * count : count;
}

uint64_t CountSwitchCables(const fabric::FabricSnapshot& snapshot) {
  uint64_t ends = 0;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports)
      ends += node.IsSwitch() && !port.peer.IsNone() && snapshot.node(port.peer.node)->IsSwitch();
  });
  return ends / 2;
}

std::string DrawSpec(Rng& rng) {
  const auto of = [&rng](uint64_t from, uint64_t to) { return from + rng.Below(to - from + 1); };
  switch (rng.Below(6)) {
    case 0:
      return fmt::format("fat-tree:radix={},levels={},pods={}", 2 * of(2, 3), of(2, 3), of(2, 4));
    case 1:
      return fmt::format("superpod:sus={},hosts={},rails={},radix={}", of(1, 3), of(1, 4), of(1, 4),
                         of(0, 1) ? 8 : 0);
    case 2: return fmt::format("torus:dims={}x{},parallel={}", of(2, 5), of(2, 5), of(1, 2));
    case 3:
      return fmt::format("dragonfly-plus:groups={},leaves={},spines={},hosts={}", of(2, 4),
                         of(1, 3), of(1, 3), of(1, 2));
    case 4: return fmt::format("hypercube:dimensions={},hosts={}", of(1, 4), of(0, 2));
    default:
      return fmt::format("random:switches={},degree={},hosts={}", of(6, 16), 2 * of(1, 2),
                         of(0, 2));
  }
}

struct Drawn {
  TestFabric fabric;
  std::string what;
};

// A fabric of one of the generators, damaged as chance has it.
Drawn DrawGenerated(uint64_t seed) {
  Rng rng(seed);
  Drawn drawn;
  for (;;) {
    drawn.what = DrawSpec(rng);
    auto plain = sim::Generate(drawn.what);
    if (!plain.ok()) continue;  // The parameters do not go together.
    sim::Decoration decoration;
    decoration.seed = rng.Next();
    const uint64_t cables = CountSwitchCables(**plain);
    if (rng.Chance(0.7)) decoration.fail_links = static_cast<int>(rng.Below(cables / 3 + 1));
    decoration.permute_ports = rng.Chance(0.3);
    if (rng.Chance(0.3)) decoration.fill = 0.7;
    auto damaged = sim::Decorate(*plain, decoration);
    if (!damaged.ok()) continue;  // No host would be left.
    drawn.what += fmt::format(",fail-links={},permute={},fill={}", decoration.fail_links,
                              decoration.permute_ports, decoration.fill);
    drawn.fabric.snapshot = *damaged;
    break;
  }
  const auto lmc = static_cast<uint8_t>(rng.Chance(0.3) ? rng.Below(3) : 0);
  drawn.fabric.lids = sweep::AssignLids(*drawn.fabric.snapshot, {}, lmc, false).table;
  drawn.what += fmt::format(",lmc={}", lmc);
  return drawn;
}

// A fabric that no generator makes: hosts anywhere, odd cables, several components.
FabricMaker DrawOdd(uint64_t seed) {
  Rng rng(seed);
  const auto below = [&rng](uint64_t end) { return static_cast<int>(rng.Below(end)); };
  if (rng.Chance(0.5)) return MakeRandom(1 + below(13), below(30), below(16), rng.Next());
  FabricMaker maker =
      MakeTree({{2, 1}, {1 + below(3), 1 + below(3)}, {1 + below(3), 1 + below(2), 2}});
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(0.15)) maker.RemoveCable(cable);
  return maker;
}

Drawn Draw(uint64_t seed) {
  if (seed % 3 != 0) return DrawGenerated(seed);
  const auto lmc = static_cast<uint8_t>(seed % 2);
  return {DrawOdd(seed).Build(lmc), fmt::format("odd fabric, lmc={}", lmc)};
}

class EveryEngine : public ::testing::TestWithParam<std::string> {
 protected:
  // Engines that any fabric fits.
  bool MayDecline() const { return GetParam() != "up_down" && GetParam() != "layered"; }
  // Engines whose plans must be free of credit loops; of the others the verifier decides.
  bool MayHaveCreditLoops() const { return GetParam() == "min_hop"; }

  absl::StatusOr<RoutingPlan> Compute(const TestFabric& fabric, int threads = 2,
                                      uint8_t lanes = 8) const {
    RoutingOptions options;
    options.threads = threads;
    options.lanes_max = lanes;
    return MakeEngine(GetParam())->Compute({*fabric.snapshot, fabric.lids, options});
  }
};

TEST_P(EveryEngine, ServesEveryPairWithoutCreditLoops) {
  uint64_t planned = 0;
  for (uint64_t seed = 1; seed <= Cases(2000); ++seed) {
    const Drawn drawn = Draw(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, drawn.what));
    const auto lanes = static_cast<uint8_t>(seed % 4 == 0 ? 1 : 8);
    const auto plan = Compute(drawn.fabric, 2, lanes);
    if (!plan.ok()) {
      ASSERT_TRUE(MayDecline()) << plan.status();
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_NE(Message(plan.status()), "");
      continue;
    }
    ++planned;
    EXPECT_LE(plan->lanes, lanes);
    const uint64_t unreachable = UnreachablePairs(drawn.fabric, *plan);
    const bool cycle = HasCreditLoop(drawn.fabric, *plan);
    const VerifyReport report = Judge(drawn.fabric, *plan);
    ASSERT_EQ(unreachable, plan->exempt.size());
    ASSERT_EQ(report.unreachable_pairs, 0u) << ::testing::PrintToString(report.faults);
    ASSERT_EQ(report.loops, 0u);
    ASSERT_EQ(report.deadlock_free, !cycle);
    ASSERT_TRUE(report.ok || MayHaveCreditLoops()) << ::testing::PrintToString(report.faults);
    ASSERT_TRUE(plan->exempt.empty() || MayDecline());
  }
  EXPECT_GT(planned, Cases(2000) / 20) << "too few fabrics fit";
}

TEST_P(EveryEngine, NeitherThreadsNorTheOrderOfInputChangeABit) {
  uint64_t planned = 0;
  for (uint64_t seed = 1; seed <= Cases(200); ++seed) {
    const FabricMaker maker = DrawOdd(seed);
    const auto lmc = static_cast<uint8_t>(seed % 3);
    const TestFabric plain = maker.Build(lmc), shuffled = maker.Build(lmc, seed);
    SCOPED_TRACE(seed);
    const auto one = Compute(plain, 1), two = Compute(plain, 2), other = Compute(shuffled, 2);
    ASSERT_EQ(one.ok(), two.ok());
    ASSERT_EQ(one.ok(), other.ok());
    if (!one.ok()) continue;
    ++planned;
    ASSERT_EQ(ByGuid(plain, *one), ByGuid(plain, *two));
    ASSERT_EQ(ByGuid(plain, *one), ByGuid(shuffled, *other));
    ASSERT_EQ(one->lanes, other->lanes);
  }
  for (uint64_t seed = 1; seed <= Cases(200); ++seed) {
    const Drawn drawn = DrawGenerated(seed);
    SCOPED_TRACE(drawn.what);
    const auto one = Compute(drawn.fabric, 1), two = Compute(drawn.fabric, 2);
    ASSERT_EQ(one.ok(), two.ok());
    if (!one.ok()) continue;
    ++planned;
    ASSERT_EQ(ByGuid(drawn.fabric, *one), ByGuid(drawn.fabric, *two));
  }
  EXPECT_GT(planned, 0u);
}

// Links between switches that a packet to a host port takes.
std::vector<Channel> SwitchLinks(const TestFabric& fabric, const RoutingPlan& plan,
                                 const SwitchGraph& graph, uint32_t at, const EndPort& to) {
  std::vector<Channel> links;
  for (Channel channel : Follow(*fabric.snapshot, plan, graph.node[at], Lid(to.base_lid)).channels)
    if (fabric.snapshot->node(fabric.snapshot->port(channel)->peer.node)->IsSwitch())
      links.push_back(channel);
  return links;
}

TEST_P(EveryEngine, QualityEqualsTheCountOfAnOracle) {
  uint64_t planned = 0;
  for (uint64_t seed = 1; seed <= Cases(200); ++seed) {
    const Drawn drawn = Draw(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, drawn.what));
    const auto plan = Compute(drawn.fabric);
    const auto graphs = BuildGraphs(*drawn.fabric.snapshot, drawn.fabric.lids);
    if (!plan.ok() || graphs.empty()) continue;
    ++planned;
    const SwitchGraph& graph = graphs[0];
    Parallel parallel(2);
    const Quality quality = MeasureQuality(graph, *plan, nullptr, {}, parallel);
    const auto fewest = SwitchDistances(drawn.fabric);
    std::map<Channel, uint32_t> load;
    uint32_t max_load = 0, most_extra = 0, longest = 0;
    for (const EndPort& to : graph.ends) {
      if (!to.IsHost()) continue;
      for (uint32_t at = 0; at < graph.size(); ++at) {
        if (graph.hosts[at] == 0) continue;
        const std::vector<Channel> links = SwitchLinks(drawn.fabric, *plan, graph, at, to);
        const uint32_t extra =
            static_cast<uint32_t>(links.size() - fewest.at({graph.node[at], graph.node[to.at]}));
        most_extra = std::max(most_extra, extra);
        longest = std::max(longest, static_cast<uint32_t>(links.size()));
        for (Channel link : links) max_load = std::max(max_load, load[link] += graph.hosts[at]);
      }
    }
    ASSERT_EQ(quality.unrouted, 0u);
    ASSERT_EQ(quality.all_to_all.max, max_load);
    ASSERT_EQ(quality.hops.max, longest);
    ASSERT_EQ(quality.hops.most_extra, most_extra);
    // What no tables can beat, these do not.
    ASSERT_GE(quality.all_to_all.max + 1e-3, quality.all_to_all.lower_bound);
  }
  EXPECT_GT(planned, 0u);
}

// The worst contention of all shifts, counted flow by flow.
uint32_t WorstShift(const TestFabric& fabric, const RoutingPlan& plan) {
  const SwitchGraph graph = BuildGraphs(*fabric.snapshot, fabric.lids)[0];
  const std::vector<uint32_t> positions = FindPositions(graph, FindLevels(graph));
  const size_t size = positions.size();
  std::vector<std::vector<std::vector<Channel>>> ways(graph.size());
  for (uint32_t at = 0; at < graph.size(); ++at)
    if (graph.hosts[at] > 0)
      for (const EndPort& to : graph.ends)
        ways[at].push_back(SwitchLinks(fabric, plan, graph, at, to));
  uint32_t worst = 0;
  for (size_t shift = 1; shift < size; ++shift) {
    std::map<Channel, uint32_t> flows;
    for (size_t p = 0; p < size; ++p) {
      const uint32_t from = positions[p], to = positions[(p + shift) % size];
      if (from == kHole || to == kHole) continue;
      for (Channel link : ways[graph.ends[from].at][to]) worst = std::max(worst, ++flows[link]);
    }
  }
  return worst;
}

TEST_P(EveryEngine, ShiftsOnIntactTreesHaveNoContention) {
  for (const char* spec :
       {"fat-tree:radix=4,levels=2", "fat-tree:radix=8,levels=2", "fat-tree:radix=12,levels=2",
        "fat-tree:radix=4,levels=3", "fat-tree:radix=6,levels=3", "fat-tree:radix=8,levels=3",
        "fat-tree:radix=8,levels=2,parallel=2", "fat-tree:radix=8,levels=3,parallel=2",
        "fat-tree:radix=4,levels=4"}) {
    SCOPED_TRACE(spec);
    const auto snapshot = sim::Generate(spec);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const TestFabric fabric{*snapshot, sweep::AssignLids(**snapshot, {}, 0, false).table, {}};
    const auto plan = Compute(fabric);
    if (GetParam() == "rail") {
      EXPECT_FALSE(plan.ok()) << "hosts with one adapter have no rails";
      continue;
    }
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(WorstShift(fabric, *plan), 1u);
  }
}

TEST_P(EveryEngine, ShiftsOnIntactSuperpodsHaveNoContention) {
  for (const char* spec :
       {"superpod:sus=2,hosts=4,rails=4,radix=8", "superpod:sus=4,hosts=4,rails=2,radix=8",
        "superpod:sus=4,hosts=8,rails=4,radix=16", "superpod:sus=8,hosts=4,rails=2,radix=8"}) {
    SCOPED_TRACE(spec);
    const auto snapshot = sim::Generate(spec);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const TestFabric fabric{*snapshot, sweep::AssignLids(**snapshot, {}, 0, false).table, {}};
    const auto plan = Compute(fabric);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(WorstShift(fabric, *plan), 1u);
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (std::string_view name : EngineNames()) names.emplace_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(, EveryEngine, ::testing::ValuesIn(Names()),
                         [](const auto& engine) { return engine.param; });

}  // namespace
}  // namespace fabricd::routing
