// SPDX-License-Identifier: Apache-2.0
// What becomes of a core whose shell has no room for what it asks: it says so, writes nothing that
// is not proved or durable, and goes on by itself once there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/target.h"
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
  CoreShell() : harness_(**sim::Generate("fat-tree:radix=4,levels=3")), sm_(harness_.Add({})) {}

  sim::Manager& manager() { return harness_.manager(sm_); }
  void SetFull(Queue queue, bool full) {
    manager().executor.capacity[static_cast<size_t>(queue)] = full ? 0 : shell::CapacityOf(queue);
  }
  // A port of a switch that a cable joins to another switch.
  PortRef SomeTrunk() {
    for (uint32_t node = 0; node < harness_.fabric().node_index_end(); ++node) {
      const sim::SimDevice& device = *harness_.fabric().device(NodeIndex(node));
      if (!device.IsSwitch()) continue;
      for (uint8_t port = 1; port <= device.last_port().value(); ++port) {
        const PortRef peer = device.port(PortNum(port)).cable;
        if (!peer.IsNone() && harness_.fabric().device(peer.node)->IsSwitch())
          return {NodeIndex(node), PortNum(port)};
      }
    }
    return {};
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
  EXPECT_THAT(LogOf(manager()), HasSubstr("could not be stored: the store's queue is full"));
  SetFull(Queue::kStore, false);
  ExpectUp();
}

TEST_F(CoreShell, AFullQueueOfPlansLeavesTablesAlone) {
  SetFull(Queue::kCompute, true);
  harness_.Start(sm_);
  harness_.RunFor(seconds(20));
  EXPECT_FALSE(manager().core->subnet_up());
  EXPECT_EQ(harness_.fabric().stats().smps.at(wire::AttributeId::kLinearForwardingTable).sets, 0u);
  EXPECT_THAT(manager().view->problems, Contains(Field(&sweep::Problem::kind, "NoPlan")));
  EXPECT_THAT(LogOf(manager()), HasSubstr("the queue of plans is full"));
  SetFull(Queue::kCompute, false);
  ExpectUp();
}

TEST_F(CoreShell, ACutWhosePlanFindsNoRoomIsRoutedRoundOnceThereIs) {
  harness_.Start(sm_);
  ExpectUp();
  SetFull(Queue::kUrgent, true);
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), SomeTrunk()).ok());
  harness_.RunFor(seconds(20));
  EXPECT_THAT(LogOf(manager()), HasSubstr("is full"));
  SetFull(Queue::kUrgent, false);
  harness_.RunFor(minutes(3));
  ExpectUp();
}

TEST_F(CoreShell, APlanWhoseOrderFindsNoRoomIsWrittenOnceThereIs) {
  manager().executor.plan_time = std::chrono::milliseconds(5);
  harness_.Start(sm_);
  ExpectUp();
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), SomeTrunk()).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return manager().executor.NextDue() != kNever; }));
  SetFull(Queue::kUrgent, true);  // The plan is under way; its order is asked for next.
  harness_.RunFor(seconds(5));
  EXPECT_THAT(LogOf(manager()), HasSubstr("the queue of urgent computing is full"));
  const bool is_broken = !sim::BrokenPairs(harness_.fabric()).empty();
  EXPECT_FALSE(is_broken && manager().core->subnet_up());
  SetFull(Queue::kUrgent, false);
  ASSERT_TRUE(harness_.RunUntil(
      [&] { return manager().core->subnet_up() && !manager().core->surveys(); }, minutes(3)));
  harness_.RunFor(seconds(30));
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
  const PortRef trunk{snapshot.FindIndex(harness_.fabric().device(SomeTrunk().node)->guid()),
                      SomeTrunk().port};
  hold.target = policy::TargetOfPort(trunk, snapshot, nullptr, manager().view->sm.port);
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
