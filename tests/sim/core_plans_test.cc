// SPDX-License-Identifier: Apache-2.0
// Which plan stands when the routing chain has none that is better.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/checkers.h"
#include "sim/run/simulation.h"
#include "tests/support/fabrics.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using ::testing::IsEmpty;

// The only engine has no plan for a tree with cables between leaves: the one that stands and serves
// all is no reason to call the subnet down.
TEST(CorePlans, TheLeastChangeStandsWhereNoEngineFits) {
  fabricd::testing::FabricMaker maker;
  for (int s = 0; s < 6; ++s) maker.AddSwitch(8);
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    for (size_t spine : {4u, 5u}) maker.Cable(leaf, spine);
    for (int host = 0; host < 2; ++host) maker.Host(leaf);
  }
  for (size_t leaf = 0; leaf < 4; ++leaf) maker.Cable(leaf, 7, (leaf + 1) % 4, 8);
  const fabricd::testing::TestFabric topology = maker.Build();
  fabric::SnapshotBuilder builder(*topology.snapshot);
  topology.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch())
      builder.SetPortGuid({node.index, PortNum(1)}, Guid(node.guid().value() + 1));
  });
  sweep::CoreOptions options;
  options.routing.chain = {"fat_tree"};
  sim::Simulation harness(*builder.Build());
  const auto odd = [&](size_t leaf) {
    return PortRef{*harness.fabric().FindNode(fmt::format("sw{}", leaf)), PortNum(7)};
  };
  for (size_t leaf = 0; leaf < 4; ++leaf)
    ASSERT_TRUE(harness.fabric().Unlink(harness.now(), odd(leaf)).ok());
  const size_t sm = harness.Add(options);
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  for (size_t leaf = 0; leaf < 4; ++leaf)
    ASSERT_TRUE(harness.fabric().Link(harness.now(), odd(leaf)).ok());
  ASSERT_TRUE(harness.RunUntil(
      [&] { return harness.manager(sm).view->last_sweep.kind == sweep::SweepKind::kSettle; },
      std::chrono::minutes(10)))
      << LogOf(harness.manager(sm));
  harness.RunFor(std::chrono::minutes(2));
  const auto& view = *harness.manager(sm).view;
  EXPECT_TRUE(std::none_of(view.chain.begin(), view.chain.end(),
                           [](const auto& step) { return step.chosen; }));
  EXPECT_TRUE(harness.manager(sm).core->subnet_up()) << LogOf(harness.manager(sm));
  EXPECT_THAT(view.problems, IsEmpty());
  EXPECT_THAT(sim::PortsNotActive(harness.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness.fabric()), IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
