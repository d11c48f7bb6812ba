// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/rail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "common/rng.h"
#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/rails.h"
#include "routing/proof/verifier.h"
#include "sim/generate/generate.h"
#include "tests/unit/routing/patterns.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LidsInNodeOrder;
using testing::Patterns;
using Flows = std::vector<Patterns::Flow>;

// A fabric, its plan, and the end ports by what the generator names them.
struct Pod {
  Pod() = default;
  explicit Pod(const std::string& spec, uint8_t lmc = 0) {
    auto made = sim::Generate(spec);
    EXPECT_TRUE(made.ok()) << made.status();
    Route(*made, lmc);
  }
  void Route(std::shared_ptr<const fabric::FabricSnapshot> made, uint8_t lmc = 0) {
    snapshot = std::move(made);
    lids = LidsInNodeOrder(*snapshot, lmc);
    auto computed = Rail().Compute({*snapshot, lids, options, nullptr});
    ASSERT_TRUE(computed.ok()) << computed.status();
    plan = *std::move(computed);
    snapshot->ForEachNode([&](const fabric::Node& node) {
      unsigned host = 0, rail = 0;
      if (std::sscanf(node.description.c_str(), "node%u mlx5_%u", &host, &rail) != 2) return;
      ends.resize(std::max<size_t>(ends.size(), host));
      ends[host - 1].resize(std::max<size_t>(ends[host - 1].size(), rail + 1));
      ends[host - 1][rail] = {node.index, PortNum(1)};
    });
    for (auto& of_host : ends) rails = std::max(rails, of_host.size());
    for (auto& of_host : ends) of_host.resize(rails);
  }
  Patterns patterns() const { return Patterns(*snapshot, lids, plan); }
  int Contention(const Flows& flows) const { return patterns().Contention(flows); }

  RoutingOptions options;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::LidTable lids;
  RoutingPlan plan;
  std::vector<std::vector<PortRef>> ends;  // [host][rail] None: missing.
  size_t rails = 0;
};

// On each rail at once, rank i to the rank that `to` gives (none beyond the end).
template <typename To>
Flows OnAllRails(const Pod& pod, const std::vector<size_t>& ranks, To&& to) {
  Flows flows;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t peer = to(i);
    for (size_t rail = 0; rail < pod.rails && peer < ranks.size(); ++rail)
      flows.push_back({pod.ends[ranks[i]][rail], pod.ends[ranks[peer]][rail]});
  }
  return flows;
}

int Ring(const Pod& pod, const std::vector<size_t>& ranks) {
  return pod.Contention(OnAllRails(pod, ranks, [&](size_t i) { return (i + 1) % ranks.size(); }));
}

// Worst step of recursive doubling, and of shifts by all distances that are `step` apart.
int Doubling(const Pod& pod, const std::vector<size_t>& ranks) {
  int worst = 0;
  for (size_t bit = 1; bit < ranks.size(); bit *= 2)
    worst =
        std::max(worst, pod.Contention(OnAllRails(pod, ranks, [&](size_t i) { return i ^ bit; })));
  return worst;
}
int Shifts(const Pod& pod, const std::vector<size_t>& ranks, size_t step) {
  int worst = 0;
  for (size_t shift = 1; shift < ranks.size(); shift += step)
    worst = std::max(worst, pod.Contention(OnAllRails(
                                pod, ranks, [&](size_t i) { return (i + shift) % ranks.size(); })));
  return worst;
}

std::vector<size_t> Range(size_t begin, size_t end) {
  std::vector<size_t> ranks(end - begin);
  std::iota(ranks.begin(), ranks.end(), begin);
  return ranks;
}
std::vector<size_t> RandomSet(size_t all, size_t count, Rng& rng) {
  std::vector<size_t> ranks = Range(0, all);
  for (size_t i = 0; i < count; ++i) std::swap(ranks[i], ranks[i + rng.Below(all - i)]);
  ranks.resize(count);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}
// The same places of some units.
std::vector<size_t> SamePlaces(size_t first_unit, size_t units, size_t width, size_t begin,
                               size_t end) {
  std::vector<size_t> ranks;
  for (size_t unit = first_unit; unit < first_unit + units; ++unit)
    for (size_t place = begin; place < end; ++place) ranks.push_back(unit * width + place);
  return ranks;
}

struct PodCase {
  const char* spec;
  size_t units, width;
};
void PrintTo(const PodCase& one, std::ostream* out) { *out << one.spec; }

class RailPatterns : public ::testing::TestWithParam<PodCase> {};
INSTANTIATE_TEST_SUITE_P(
    SuperPods, RailPatterns,
    ::testing::Values(PodCase{"superpod:sus=4", 4, 32}, PodCase{"superpod:sus=16", 16, 32},
                      PodCase{"superpod:sus=4,missing-hcas=0.05", 4, 32},
                      PodCase{"superpod:sus=16,missing-hcas=0.05,seed=2", 16, 32},
                      PodCase{"superpod:sus=4,hosts=24,uplinks=24", 4, 24},
                      PodCase{"superpod:sus=6,hosts=12,uplinks=24,rails=4", 6, 12},
                      PodCase{"superpod:sus=5,hosts=10,uplinks=32,rails=4", 5, 10}));

TEST_P(RailPatterns, VerifiesAndKeepsRailsInTheirUnit) {
  const Pod pod(GetParam().spec);
  const VerifyReport report = Verify(*pod.snapshot, pod.lids, pod.plan);
  EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
  EXPECT_EQ(pod.plan.exempt.size(), 0u);
  const size_t width = GetParam().width;
  for (size_t host = 0; host < pod.ends.size(); ++host)
    for (size_t other = host / width * width; other < host / width * width + width; ++other)
      for (size_t rail = 0; rail < pod.rails; ++rail) {
        const PortRef from = pod.ends[host][rail], to = pod.ends[other][rail];
        if (from.IsNone() || to.IsNone() || from == to) continue;
        ASSERT_THAT(pod.patterns().Walk(from, to), ElementsAre()) << host << " " << other;
      }
}

TEST_P(RailPatterns, RingsOfAnyHostsHaveNoContention) {
  const Pod pod(GetParam().spec);
  Rng rng(7);
  EXPECT_EQ(Ring(pod, Range(0, pod.ends.size())), 1);
  for (int i = 0; i < 20; ++i)
    EXPECT_LE(Ring(pod, RandomSet(pod.ends.size(), 2 + rng.Below(pod.ends.size() - 2), rng)), 1);
}

// Shifts of whole units' worth of hosts, wherever they begin: where the end of the set is followed
// by its begin, the places must go on. (Else, and for exchanges with widths that are no power of
// two, no numbering helps: two destinations that agree modulo the up links are wanted at once.)
TEST_P(RailPatterns, ContiguousAndAlignedSetsHaveNoContention) {
  const Pod pod(GetParam().spec);
  const auto [spec, units, width] = GetParam();
  const size_t all = pod.ends.size();
  const bool doubles = (width & (width - 1)) == 0;
  Rng rng(8);
  const size_t step = all > 200 ? 17 : 3;
  for (size_t count = 1; count <= units; count += 1 + units / 8) {
    const size_t begin = rng.Below(all - count * width + 1), end = begin + count * width;
    SCOPED_TRACE(fmt::format("hosts {} to {}", begin, end));
    EXPECT_LE(Shifts(pod, Range(begin, end), step), 1);
    if (!doubles) continue;
    EXPECT_LE(Doubling(pod, Range(begin, end)), 1);
    EXPECT_LE(Doubling(pod, Range(begin, begin + 2 + rng.Below(count * width - 1))), 1);
  }
  for (const auto& [first, count, begin, end] :
       {std::tuple(size_t{0}, units, size_t{0}, width / 2),
        std::tuple(size_t{0}, units, width / 4, width - 1),
        std::tuple(size_t{1}, units - 1, width / 2, width)}) {
    const std::vector<size_t> ranks = SamePlaces(first, count, width, begin, end);
    SCOPED_TRACE(fmt::format("places {} to {} of {} units", begin, end, count));
    EXPECT_EQ(Shifts(pod, ranks, step), 1);
    if (doubles && end - begin == width / 2) {
      EXPECT_EQ(Doubling(pod, ranks), 1);
    }
  }
}

// 1 is impossible: two hosts of other leaves with the same place are sometimes both peers of one
// leaf. With many units a step of recursive doubling rarely finds three of them.
TEST_P(RailPatterns, RandomSetsHaveContentionOfTwoAtMost) {
  const Pod pod(GetParam().spec);
  Rng rng(9);
  int thrice = 0;
  for (int i = 0; i < 8; ++i) {
    const std::vector<size_t> ranks = RandomSet(pod.ends.size(), pod.ends.size() / 2, rng);
    EXPECT_LE(Shifts(pod, ranks, pod.ends.size() > 200 ? 13 : 1), 2);
    const int doubling = Doubling(pod, ranks);
    thrice += doubling == 3;
    EXPECT_LE(doubling, 3);
  }
  EXPECT_LE(thrice, GetParam().units >= 16 ? 4 : 0);
}

// Over all end ports, rails one after another, missing ones left as gaps.
TEST_P(RailPatterns, ShiftsOverAllEndPortsHaveNoContention) {
  const Pod pod(GetParam().spec);
  std::vector<PortRef> position;
  for (size_t rail = 0; rail < pod.rails; ++rail)
    for (const auto& of_host : pod.ends) position.push_back(of_host[rail]);
  for (size_t shift = 1; shift < position.size(); shift += 1 + position.size() / 60) {
    Flows flows;
    for (size_t i = 0; i < position.size(); ++i)
      flows.push_back({position[i], position[(i + shift) % position.size()]});
    ASSERT_EQ(pod.Contention(flows), 1) << "shift " << shift;
  }
}

TEST(RailTest, NotesRailsUnitsAndMisplacedCables) {
  const Pod pod("superpod:sus=2,hosts=4,rails=4,swap-cables=1,seed=3");
  ASSERT_EQ(pod.plan.notes.size(), 3u);
  EXPECT_EQ(pod.plan.notes[0], "4 rails (mlx5_0 to mlx5_3) in 2 scalable units of 4 hosts");
  EXPECT_THAT(pod.plan.notes[1], HasSubstr("misplaced cable: HCA mlx5_"));
  EXPECT_TRUE(Verify(*pod.snapshot, pod.lids, pod.plan).ok);
}

// A misplaced HCA takes the slots that are free at the leaf that it is attached to.
TEST(RailTest, MisplacedCablesDoNotDisturbTheOthers) {
  const Pod pod("superpod:sus=4,swap-cables=10");
  EXPECT_TRUE(Verify(*pod.snapshot, pod.lids, pod.plan).ok);
  const fabric::Rails rails =
      fabric::FindRails(*pod.snapshot, fabric::FindHosts(*pod.snapshot, fabric::HostPatterns()));
  ASSERT_EQ(rails.misplaced.size(), 20u);
  Flows flows;
  for (size_t i = 0; i < pod.ends.size(); ++i)
    for (size_t rail = 0; rail < pod.rails; ++rail) {
      const size_t to = (i + 32) % pod.ends.size();
      const auto is_misplaced = [&](size_t host) {
        return std::any_of(rails.misplaced.begin(), rails.misplaced.end(),
                           [&](const auto& end) { return end.end == pod.ends[host][rail]; });
      };
      if (!is_misplaced(i) && !is_misplaced(to))
        flows.push_back({pod.ends[i][rail], pod.ends[to][rail]});
    }
  EXPECT_EQ(pod.Contention(flows), 1);
}

TEST(RailTest, DeclinesWhereThereAreNoRails) {
  const auto fabric = testing::MakeFatTree(4, 2).Build();
  const auto plan = Rail().Compute({*fabric.snapshot, fabric.lids, RoutingOptions{}, nullptr});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(plan.status()),
              HasSubstr("no rails: each of 8 hosts has one HCA port (the first is "));
}

// Selene's storage fabric has two rails, leaves with 24 hosts to 16 up links, and storage heads
// with both HCAs on one leaf; the topograph example has four rails, missing spine cables and
// adapters without names.
TEST(RailTest, RoutesRealFabrics) {
  for (const char* name :
       {"nvidia-selene-storage.ibnetdiscover", "nvidia-topograph-example.ibnetdiscover"}) {
    std::ifstream file(std::string(FABRICD_SOURCE_DIR "/../shared/topologies/") + name);
    if (!file) GTEST_SKIP() << "no " << name;
    std::stringstream text;
    text << file.rdbuf();
    const fabric::ReadResult read = fabric::ReadTopology(text.str());
    ASSERT_TRUE(read.status.ok()) << read.status;
    Pod pod;
    pod.Route(read.snapshot);
    const VerifyReport report = Verify(*pod.snapshot, pod.lids, pod.plan);
    EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
    const fabric::Rails rails =
        fabric::FindRails(*pod.snapshot, fabric::FindHosts(*pod.snapshot, {}));
    for (const fabric::RailUnit& unit : rails.units) {
      std::vector<uint32_t> hosts = unit.hosts;
      std::stable_sort(hosts.begin(), hosts.end(), [&](uint32_t a, uint32_t b) {
        const auto port = [&](uint32_t h) {
          for (PortRef end : rails.hosts[h].ends)
            if (!end.IsNone()) return pod.snapshot->port(end)->peer.port;
          return PortNum(0);
        };
        return port(a) < port(b);
      });
      for (uint32_t h : hosts) pod.ends.push_back(rails.hosts[h].ends);
    }
    pod.rails = rails.names.size();
    const std::vector<size_t> all = Range(0, pod.ends.size());
    EXPECT_LE(Ring(pod, all), 2);
    EXPECT_LE(Shifts(pod, all, 7), 6);
  }
}

TEST(RailTest, DoesNotDependOnThreads) {
  Pod pod("superpod:sus=3,hosts=8,rails=4,missing-hcas=0.1,swap-cables=2,fail-links=3");
  const RoutingPlan first = pod.plan;
  for (int threads : {1, 3}) {
    pod.options.threads = threads;
    pod.Route(pod.snapshot);
    for (size_t i = 0; i < first.rows.size(); ++i) {
      ASSERT_EQ(first.rows[i] == nullptr, pod.plan.rows[i] == nullptr);
      if (first.rows[i]) {
        EXPECT_EQ(*pod.plan.rows[i], *first.rows[i]);
      }
    }
    EXPECT_EQ(pod.plan.notes, first.notes);
  }
}

}  // namespace
}  // namespace fabricd::routing
