// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/plan/work_budget.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChainResult TryChain(const TestFabric& fabric, std::vector<std::string> chain) {
  RoutingOptions options;
  options.chain = std::move(chain);
  return RunChain({*fabric.snapshot, fabric.lids, options});
}

TEST(Chain, TakesTheFirstEngineThatVerifies) {
  const ChainResult result = TryChain(MakeRing(5, 1).Build(), {"min_hop", "up_down", "min_hop"});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.plan->engine, "up_down");
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_FALSE(result.steps[0].chosen);
  EXPECT_THAT(result.steps[0].reason, AllOf(HasSubstr("credit loop"), HasSubstr("switch sw")));
  EXPECT_TRUE(result.steps[1].chosen);
  EXPECT_EQ(result.steps[1].reason, "");
}

TEST(Chain, UnknownEngineIsAStepWithAReason) {
  const ChainResult result = TryChain(MakeRing(3, 1).Build(), {"dfsssp", "up_down"});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.steps[0].engine, "dfsssp");
  EXPECT_THAT(result.steps[0].reason, HasSubstr(fmt::format("{}", fmt::join(kEngineNames, ", "))));
}

// With one core as root all paths between pods use that core.
TEST(Chain, LeavesAPlanThatIsLoadedFarAboveTheNextEngines) {
  const TestFabric fabric = MakeFatTree(6, 3).Build();
  RoutingOptions options;
  options.chain = {"up_down", "layered", "min_hop"};
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) options.roots = {node.guid()};  // The last one made is a core.
  });
  ChainResult result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.plan->engine, "layered");
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_THAT(result.steps[0].reason, AllOf(HasSubstr("times the lower bound"),
                                            HasSubstr("switch "), HasSubstr("layered needs 1.0")));
  EXPECT_FALSE(result.steps[0].chosen);
  EXPECT_TRUE(result.steps[1].chosen);

  // Nothing is left to compare with.
  options.chain = {"up_down"};
  result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.steps.size(), 1u);

  // The next one is compared, and is no better.
  options.chain = {"up_down", "up_down"};
  result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_TRUE(result.steps[0].chosen);
  EXPECT_THAT(result.steps[1].reason, HasSubstr("while up_down stays at"));
}

TEST(Chain, LeavesAnEngineThatUsesUpItsBudget) {
  const TestFabric fabric = MakeTorus({5, 5}, 1).Build();
  RoutingOptions options;
  options.chain = {"layered", "up_down"};
  options.engine_budget = 1000;
  ChainResult result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.plan->engine, "up_down");
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_FALSE(result.steps[0].chosen);
  EXPECT_THAT(result.steps[0].reason, HasSubstr("budget: paths through 25 switches"));
  EXPECT_TRUE(result.steps[1].chosen);

  // Any plan is better than none.
  options.chain = {"layered"};
  result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.plan->engine, "layered");

  options.chain = {"layered", "up_down"};
  options.engine_budget = 0;
  result = RunChain({*fabric.snapshot, fabric.lids, options});
  ASSERT_NE(result.plan, nullptr);
  EXPECT_EQ(result.plan->engine, "layered");
  options.engine_budget = kDefaultEngineBudget;
  EXPECT_EQ(RunChain({*fabric.snapshot, fabric.lids, options}).plan->engine, "layered");
}

// The steps are the same for any number of threads.
TEST(Chain, TheSameBudgetSufficesOnAnyNumberOfThreads) {
  for (const uint8_t lanes : {1, 4}) {
    const TestFabric fabric = MakeTorus({4, 5}, 1).Build();
    RoutingOptions options;
    options.lanes_max = lanes;
    const auto status_of = [&](int threads, WorkBudget& budget) {
      options.threads = threads;
      RoutingInput input{*fabric.snapshot, fabric.lids, options};
      input.budget = &budget;
      return MakeEngine("layered")->Compute(input).status();
    };
    WorkBudget unlimited;
    ASSERT_TRUE(status_of(1, unlimited).ok());
    ASSERT_GT(unlimited.spent(), 1000u);
    for (int threads : {1, 2, 8}) {
      WorkBudget enough(unlimited.spent()), too_little(unlimited.spent() - 1);
      EXPECT_TRUE(status_of(threads, enough).ok()) << threads;
      EXPECT_EQ(enough.spent(), unlimited.spent());
      EXPECT_EQ(status_of(threads, too_little).code(), absl::StatusCode::kResourceExhausted)
          << threads;
    }
  }
}

TEST(Chain, NoEngineLeft) {
  const ChainResult result = TryChain(MakeRing(5, 1).Build(), {"min_hop"});
  EXPECT_EQ(result.plan, nullptr);
  ASSERT_EQ(result.steps.size(), 1u);
  EXPECT_EQ(TryChain(MakeRing(5, 1).Build(), {}).plan, nullptr);
}

TEST(Chain, ReportsTheBeginOfEachPhase) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  RoutingOptions options;
  options.chain = {"dfsssp", "min_hop", "up_down"};
  std::vector<std::string> told;
  RunChain({*fabric.snapshot, fabric.lids, options}, [&told](std::string_view engine,
                                                             ChainPhase phase) {
    told.push_back((phase == ChainPhase::kCompute ? "compute " : "verify ") + std::string(engine));
  });
  EXPECT_THAT(
      told, ElementsAre("compute min_hop", "verify min_hop", "compute up_down", "verify up_down"));
}

TEST(Chain, EveryNameMakesAnEngineOfThatName) {
  EXPECT_FALSE(kEngineNames.empty());
  for (std::string_view name : kEngineNames) {
    const auto engine = MakeEngine(name);
    ASSERT_NE(engine, nullptr) << name;
    EXPECT_EQ(engine->name(), name);
  }
  EXPECT_EQ(MakeEngine(""), nullptr);
}

TEST(RoutingOptions, TheDigestTellsAllApartThatPlansDependOn) {
  std::vector<RoutingOptions> options(8);
  options[1].chain = {"up_down"};
  options[2].chain = {"up", "_down"};
  options[3].roots = {Guid(1)};
  options[4].lanes_max = 2;
  options[5].engine_budget = 1;
  options[6].balance = BalancePolicy::kShift;
  options[7].host_patterns = *fabric::HostPatterns::Compile("^(.*)$", "");
  std::set<uint64_t> digests;
  for (const RoutingOptions& each : options) digests.insert(DigestOf(each));
  EXPECT_EQ(digests.size(), options.size());
  options[0].threads = 7;
  EXPECT_EQ(DigestOf(options[0]), DigestOf({}));
}

}  // namespace
}  // namespace fabricd::routing
