// SPDX-License-Identifier: Apache-2.0
// Which plan stands when the routing chain has none that is better.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
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

// A subnet that is up but for one host, whose cable is not plugged in yet.
class AHostComes : public ::testing::Test {
 protected:
  AHostComes() : harness_(**sim::Generate("fat-tree:radix=4,levels=2"), Options()) {
    sm_ = harness_.Add({});
    for (const sim::SimCable& cable : harness_.fabric().ListCables()) {
      const PortRef a{*harness_.fabric().FindNode(cable.a.node), cable.a.port},
          b{*harness_.fabric().FindNode(cable.b.node), cable.b.port};
      const bool a_switch = harness_.fabric().device(a.node)->IsSwitch(),
                 b_switch = harness_.fabric().device(b.node)->IsSwitch();
      const PortRef end = a_switch ? b : a;
      if (a_switch && b_switch)
        inner_ = a;
      else if (end.node != manager().host.node)
        host_ = end;
    }
  }
  void SetUp() override {
    ASSERT_FALSE(host_.IsNone() || inner_.IsNone());
    Unlink(host_);
    harness_.Start(sm_);
    ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(manager());
  }
  static sim::SimOptions Options() {
    sim::SimOptions devices;
    devices.device.keep_lids = false;
    return devices;
  }
  sim::Manager& manager() { return harness_.manager(sm_); }
  void Unlink(PortRef port) { ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), port).ok()); }
  void ItComes() { ASSERT_TRUE(harness_.fabric().Link(harness_.now(), host_).ok()); }
  Lid LidOfHost() { return harness_.fabric().device(host_.node)->port(host_.port).info.lid; }

  sim::Simulation harness_;
  size_t sm_ = 0;
  PortRef host_, inner_;  // A CA's port; a port between switches.
};

// A LID is set only when it is durable, even if re-optimisation falls due in the meantime.
TEST_F(AHostComes, AndGetsNoLidBeforeItIsDurable) {
  // The least change waits to be settled when a host comes whose LID cannot be stored.
  Unlink(inner_);
  harness_.RunFor(std::chrono::seconds(2));
  manager().store.FailWrites(absl::InternalError("disk full"));
  ItComes();
  harness_.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(LidOfHost(), Lid(0)) << LogOf(manager());
  manager().store.FailWrites(absl::OkStatus());
  EXPECT_TRUE(harness_.RunUntilUp(sm_, std::chrono::minutes(5))) << LogOf(manager());
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
}

// Etcd is away, for example.
TEST_F(AHostComes, AndALostLinkIsRoutedAroundWhileItsLidCannotBeStored) {
  manager().store.FailWrites(Unavailable("etcd is away"));
  ItComes();
  harness_.RunFor(std::chrono::seconds(5));
  Unlink(inner_);
  harness_.RunFor(std::chrono::seconds(1));
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty()) << LogOf(manager());
  EXPECT_EQ(LidOfHost(), Lid(0));
  EXPECT_THAT(LogOf(manager()), ::testing::HasSubstr("LIDs could not be stored"));
  EXPECT_TRUE(std::any_of(
      manager().view->problems.begin(), manager().view->problems.end(),
      [](const sweep::Problem& problem) { return problem.kind == sweep::ProblemKind::kNoLid; }));
  manager().store.FailWrites(absl::OkStatus());
  EXPECT_TRUE(harness_.RunUntilUp(sm_, std::chrono::minutes(5))) << LogOf(manager());
  EXPECT_NE(LidOfHost(), Lid(0));
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
}

// Its links are active without a LID, so that nothing else is left undone.
TEST_F(AHostComes, AndASwitchWhoseLidCouldNotBeStoredGetsItOnceWritesAreTakenAgain) {
  std::vector<PortRef> links;
  const NodeIndex spine = *harness_.fabric().FindNode("spine1");
  for (const PortNum port : harness_.fabric().device(spine)->LinkPorts()) {
    links.push_back({spine, port});
    Unlink(links.back());
  }
  harness_.Kill(sm_);
  ASSERT_TRUE(harness_.fabric().Reboot(harness_.now(), spine).ok());
  harness_.RunFor(std::chrono::minutes(2));
  sm_ = harness_.Add({});  // Its records lack that switch.
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(manager());
  manager().store.FailWrites(absl::ResourceExhaustedError("etcd is full"));
  for (const PortRef link : links) ASSERT_TRUE(harness_.fabric().Link(harness_.now(), link).ok());
  harness_.RunFor(std::chrono::minutes(1));
  const auto lid = [&] { return harness_.fabric().device(spine)->port(PortNum(0)).info.lid; };
  EXPECT_EQ(lid(), Lid(0)) << LogOf(manager());
  EXPECT_FALSE(manager().core->subnet_up());
  manager().store.FailWrites(absl::OkStatus());
  harness_.Post(sm_, sweep::StoreTakesWrites());
  EXPECT_TRUE(harness_.RunUntilUp(sm_, std::chrono::seconds(3))) << LogOf(manager());
  EXPECT_NE(lid(), Lid(0));
  EXPECT_THAT(manager().view->problems, IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
