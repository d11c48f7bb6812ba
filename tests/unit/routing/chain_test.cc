// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run.h"

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
  EXPECT_THAT(result.steps[0].reason, HasSubstr("min_hop, rail, up_down"));
}

// With one core for a root all ways between pods go over that core.
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

TEST(Chain, NoEngineLeft) {
  const ChainResult result = TryChain(MakeRing(5, 1).Build(), {"min_hop"});
  EXPECT_EQ(result.plan, nullptr);
  ASSERT_EQ(result.steps.size(), 1u);
  EXPECT_EQ(TryChain(MakeRing(5, 1).Build(), {}).plan, nullptr);
}

TEST(Chain, TellsWhenEachPhaseBegins) {
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
  EXPECT_FALSE(EngineNames().empty());
  for (std::string_view name : EngineNames()) {
    const auto engine = MakeEngine(name);
    ASSERT_NE(engine, nullptr) << name;
    EXPECT_EQ(engine->name(), name);
  }
  EXPECT_EQ(MakeEngine(""), nullptr);
}

}  // namespace
}  // namespace fabricd::routing
