// SPDX-License-Identifier: Apache-2.0
// What becomes of a core whose shell has no room for what it asks: it says so, writes nothing that
// is not proved or durable, and goes on by itself once there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using shell::Queue;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoreShell : public ::testing::Test {
 protected:
  CoreShell()
      : harness_(**sim::Generate("fat-tree:radix=4,levels=3")), sm_(harness_.Add({})) {}

  sim::Manager& manager() { return harness_.manager(sm_); }
  void SetFull(Queue queue, bool full) {
    manager().executor.capacity[static_cast<size_t>(queue)] = full ? 0 : shell::CapacityOf(queue);
  }
  void ExpectUp(Duration limit = minutes(3)) {
    ASSERT_TRUE(harness_.RunUntilUp(sm_, limit)) << LogOf(manager());
    EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
    EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
    EXPECT_THAT(manager().view->problems, IsEmpty());
  }

  sim::Simulation harness_;
  size_t sm_;
};

TEST_F(CoreShell, AFullStoreHoldsUpTheFirstSet) {
  SetFull(Queue::kStore, true);
  harness_.Start(sm_);
  harness_.RunFor(seconds(20));
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
  EXPECT_FALSE(manager().core->subnet_up());
  EXPECT_THAT(manager().view->problems,
              Contains(Field(&sweep::Problem::message, HasSubstr("the store's queue is full"))));
  SetFull(Queue::kStore, false);
  ExpectUp();
}

TEST_F(CoreShell, AFullLaneOfPlansLeavesTablesAlone) {
  SetFull(Queue::kCompute, true);
  harness_.Start(sm_);
  harness_.RunFor(seconds(20));
  EXPECT_FALSE(manager().core->subnet_up());
  EXPECT_EQ(harness_.fabric().stats().smps.count(wire::AttributeId::kLinearForwardingTable), 0u);
  EXPECT_THAT(manager().view->problems, Contains(Field(&sweep::Problem::kind, "NoPlan")));
  EXPECT_THAT(LogOf(manager()), HasSubstr("the queue of plans is full"));
  SetFull(Queue::kCompute, false);
  ExpectUp();
}

TEST_F(CoreShell, ACutWhosePlanFindsNoRoomIsRoutedRoundOnceThereIs) {
  harness_.Start(sm_);
  ExpectUp();
  SetFull(Queue::kUrgent, true);
  const auto cables = harness_.fabric().ListCables();
  const auto between_switches = std::find_if(cables.begin(), cables.end(), [&](const auto& cable) {
    return harness_.fabric().device(cable.first.node)->IsSwitch() &&
           harness_.fabric().device(cable.second.node)->IsSwitch();
  });
  ASSERT_NE(between_switches, cables.end());
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), between_switches->first).ok());
  harness_.RunFor(seconds(20));
  EXPECT_THAT(LogOf(manager()), HasSubstr("is full"));
  SetFull(Queue::kUrgent, false);
  harness_.RunFor(minutes(3));
  ExpectUp();
}

TEST_F(CoreShell, AHoldThatFindsTheStoreFullIsRefused) {
  harness_.Start(sm_);
  ExpectUp();
  SetFull(Queue::kStore, true);
  policy::Hold hold;
  hold.kind = policy::HoldKind::kDrain;
  hold.owner = "alice";
  hold.reason = "maintenance";
  const fabric::FabricSnapshot& snapshot = *manager().view->snapshot;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports)
      if (node.IsSwitch() && !port.peer.IsNone() && snapshot.node(port.peer.node)->IsSwitch())
        hold.target = policy::TargetOfPort(port.peer, snapshot, nullptr, manager().view->sm.port);
  });
  harness_.Post(sm_, sweep::CreateHold{7, hold});
  ASSERT_TRUE(harness_.RunUntil([&] { return !manager().finished.empty(); }));
  EXPECT_EQ(manager().finished[0].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(manager().view->policy->holds, IsEmpty());
  SetFull(Queue::kStore, false);
  harness_.Post(sm_, sweep::CreateHold{8, hold});
  ASSERT_TRUE(harness_.RunUntil([&] { return manager().finished.size() == 2; }));
  EXPECT_TRUE(manager().finished[1].status.ok()) << manager().finished[1].status;
}

}  // namespace
}  // namespace fabricd::test
