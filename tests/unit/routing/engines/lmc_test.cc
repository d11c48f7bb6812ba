// SPDX-License-Identifier: Apache-2.0
// LMC: the LIDs of one port take ways that share no link where the fabric has as many.
#include <set>

#include <gtest/gtest.h>

#include "sim/generate/generate.h"
#include "tests/unit/routing/patterns.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using testing::Patterns;

struct LmcCase {
  const char* engine;
  const char* fabric;
  uint32_t up_links;  // Of a leaf.
  // Chosen by load, so that parallel cables down are not told apart by source.
  bool adaptive = false;
};
void PrintTo(const LmcCase& one, std::ostream* out) { *out << one.engine << " " << one.fabric; }

class Lmc : public ::testing::TestWithParam<std::tuple<LmcCase, int>> {
 protected:
  void SetUp() override {
    const auto& [one, lmc] = GetParam();
    if (!MakeEngine(one.engine)) GTEST_SKIP() << "no engine " << one.engine;
    auto made = sim::Generate(one.fabric);
    ASSERT_TRUE(made.ok()) << made.status();
    snapshot_ = *made;
    lids_ = testing::LidsInNodeOrder(*snapshot_, static_cast<uint8_t>(lmc));
    auto plan = MakeEngine(one.engine)->Compute({*snapshot_, lids_, RoutingOptions{}, nullptr});
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *std::move(plan);
    snapshot_->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) ends_.push_back({node.index, PortNum(1)});
    });
    std::sort(ends_.begin(), ends_.end(), [&](PortRef a, PortRef b) {
      return snapshot_->port(a)->peer < snapshot_->port(b)->peer;
    });
  }

  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  fabric::LidTable lids_;
  RoutingPlan plan_;
  std::vector<PortRef> ends_;  // By leaf and its port.
};

constexpr const char* kTwoLevels = "fat-tree:radix=16,levels=2";
constexpr const char* kThreeLevels = "fat-tree:radix=8,levels=3";
constexpr const char* kParallel = "superpod:sus=2,hosts=8,rails=4,radix=32";
INSTANTIATE_TEST_SUITE_P(
    Engines, Lmc,
    ::testing::Combine(
        ::testing::Values(LmcCase{"up_down", kTwoLevels, 8}, LmcCase{"up_down", kThreeLevels, 4},
                          LmcCase{"up_down", kParallel, 8}, LmcCase{"fat_tree", kTwoLevels, 8},
                          LmcCase{"fat_tree", kThreeLevels, 4}, LmcCase{"fat_tree", kParallel, 8},
                          LmcCase{"layered", kTwoLevels, 8}, LmcCase{"layered", kThreeLevels, 4},
                          LmcCase{"layered", kParallel, 8, true}, LmcCase{"min_hop", kTwoLevels, 8},
                          LmcCase{"min_hop", kThreeLevels, 4}, LmcCase{"min_hop", kParallel, 8},
                          LmcCase{"rail", kParallel, 8}),
        ::testing::Values(1, 2, 3)));

TEST_P(Lmc, LidsOfAPortShareNoLink) {
  const auto& [one, lmc] = GetParam();
  const Patterns patterns(*snapshot_, lids_, plan_);
  const VerifyReport report = Verify(*snapshot_, lids_, plan_);
  EXPECT_EQ(report.unreachable_pairs + report.loops, 0u);
  if (one.engine != std::string("min_hop")) {  // Which the chain takes only where it is.
    EXPECT_TRUE(report.deadlock_free);
  }
  const size_t most = std::min<size_t>(1u << lmc, one.up_links);
  for (size_t s = 0; s < ends_.size(); s += 5) {
    for (size_t d = 0; d < ends_.size(); d += 3) {
      std::set<PortRef> up, down;
      size_t ways = 0;
      for (uint16_t offset = 0; offset < 1u << lmc; ++offset) {
        const std::vector<PortRef> path = patterns.Walk(ends_[s], ends_[d], offset);
        if (path.empty()) continue;  // The same leaf.
        ++ways;
        up.insert(path.front());
        down.insert(path.back());
      }
      if (ways == 0) continue;
      ASSERT_EQ(up.size(), most) << "from host " << s << " to host " << d;
      ASSERT_GE(down.size(), one.adaptive ? std::min<size_t>(most, 2) : most)
          << "from host " << s << " to host " << d;
    }
  }
}

TEST_P(Lmc, ShiftsOfBaseLidsHaveNoContention) {
  const Patterns patterns(*snapshot_, lids_, plan_);
  for (size_t shift = 1; shift < ends_.size(); shift += 7) {
    std::vector<Patterns::Flow> flows;
    for (size_t i = 0; i < ends_.size(); ++i)
      flows.push_back({ends_[i], ends_[(i + shift) % ends_.size()]});
    ASSERT_EQ(patterns.Contention(flows), 1) << "shift " << shift;
  }
}

}  // namespace
}  // namespace fabricd::routing
