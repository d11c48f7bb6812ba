// SPDX-License-Identifier: Apache-2.0
// Which plan stands when the routing chain has none that is better.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/fabrics.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using ::testing::IsEmpty;

// The only engine has no plan for a tree with links between leaves. The subnet stays up with the
// applied plan, which serves all pairs.
TEST(CorePlans, AnIncrementalRepairIsKeptWhereNoEngineHasAPlan) {
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

// A LID is set only when it is durable, even if re-optimisation falls due in the meantime.
TEST(CorePlans, SetsNoLidBeforeItIsDurable) {
  sim::SimOptions devices;
  devices.device.keep_lids = false;
  sim::Simulation harness(**sim::Generate("fat-tree:radix=4,levels=2"), devices);
  const size_t sm = harness.Add({});
  PortRef host, inner;
  for (const sim::SimCable& cable : harness.fabric().ListCables()) {
    const PortRef a{*harness.fabric().FindNode(cable.a.node), cable.a.port},
        b{*harness.fabric().FindNode(cable.b.node), cable.b.port};
    const bool a_switch = harness.fabric().device(a.node)->IsSwitch(),
               b_switch = harness.fabric().device(b.node)->IsSwitch();
    const PortRef end = a_switch ? b : a;
    if (a_switch && b_switch)
      inner = a;
    else if (end.node != harness.manager(sm).host.node)
      host = end;
  }
  ASSERT_FALSE(host.IsNone() || inner.IsNone());
  ASSERT_TRUE(harness.fabric().Unlink(harness.now(), host).ok());
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  // The least change waits to be settled when a host comes whose LID cannot be stored.
  ASSERT_TRUE(harness.fabric().Unlink(harness.now(), inner).ok());
  harness.RunFor(std::chrono::seconds(2));
  harness.manager(sm).store.FailWrites(absl::InternalError("disk full"));
  ASSERT_TRUE(harness.fabric().Link(harness.now(), host).ok());
  harness.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(harness.fabric().device(host.node)->port(host.port).info.lid, Lid(0))
      << LogOf(harness.manager(sm));
  harness.manager(sm).store.FailWrites(absl::OkStatus());
  EXPECT_TRUE(harness.RunUntilUp(sm, std::chrono::minutes(5))) << LogOf(harness.manager(sm));
  EXPECT_THAT(sim::LidFaults(harness.fabric()), IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
