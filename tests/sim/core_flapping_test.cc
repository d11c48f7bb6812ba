// SPDX-License-Identifier: Apache-2.0
// Links that flap and ports that storm, for minutes, on a whole core.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/target.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

class CoreFlapping : public testing::Test {
 protected:
  void BringUp(const std::string& topology, sweep::CoreOptions options = {}) {
    harness_.emplace(**sim::Generate(topology));
    sm_ = harness_->Add(std::move(options));
    manager().executor.plan_time = milliseconds(5);
    harness_->Start(sm_);
    ASSERT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
    harness_->RunFor(seconds(30));  // The ideal plan stands.
  }
  sim::Manager& manager() { return harness_->manager(sm_); }
  const sweep::FabricView& View() { return *manager().view; }
  // One end of each cable between switches.
  std::vector<PortRef> SwitchCables() {
    std::vector<PortRef> ends;
    for (const sim::SimCable& cable : harness_->fabric().ListCables()) {
      const PortRef a{*harness_->fabric().FindNode(cable.a.node), cable.a.port};
      const PortRef b{*harness_->fabric().FindNode(cable.b.node), cable.b.port};
      if (harness_->fabric().device(a.node)->IsSwitch() &&
          harness_->fabric().device(b.node)->IsSwitch())
        ends.push_back(a);
    }
    return ends;
  }
  // Down at once and up half a second later, each second.
  void FlapEachSecond(PortRef port, Duration offset, int times) {
    for (int i = 0; i < times; ++i) {
      const Instant down = harness_->now() + offset + seconds(i);
      harness_->At(down, [=, this] { Check(harness_->fabric().Unlink(down, port)); });
      const Instant up = down + milliseconds(500);
      harness_->At(up, [=, this] { Check(harness_->fabric().Link(up, port)); });
    }
  }
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  using Tables = std::map<NodeIndex, std::vector<uint8_t>>;  // Of the simulated devices.
  Tables DeviceTables() {
    Tables tables;
    for (uint32_t i = 0; i < harness_->fabric().node_index_end(); ++i) {
      const sim::SimDevice* device = harness_->fabric().device(NodeIndex(i));
      if (device == nullptr || !device->IsSwitch()) continue;
      for (uint16_t lid = 0; lid <= View().lids->top().value(); ++lid)
        tables[NodeIndex(i)].push_back(device->LftPort(Lid(lid)));
    }
    return tables;
  }
  std::vector<const fabric::FabricEvent*> Events(const std::string& type) {
    std::vector<const fabric::FabricEvent*> found;
    for (const fabric::FabricEvent& event : manager().events)
      if (event.type == type) found.push_back(&event);
    return found;
  }
  size_t ReroutesThatWrote() {
    const auto reroutes = Events("RerouteCompleted");
    return static_cast<size_t>(std::count_if(
        reroutes.begin(), reroutes.end(),
        [](const fabric::FabricEvent* event) { return event->reroute->blocks_written > 0; }));
  }

  std::optional<sim::Simulation> harness_;
  size_t sm_ = 0;
};

// Three flaps suppress a link. Each withdraws its routes, in at most two reroutes: the urgent one
// and that of pending pairs. After that no flap causes a Set until the link is released.
TEST_F(CoreFlapping, OneLinkForTenMinutesCausesSetsForThreeFlapsOnly) {
  BringUp("superpod:sus=2,hosts=8,rails=4");
  const PortRef port = SwitchCables().front();
  const PortRef other = harness_->fabric().device(port.node)->port(port.port).cable;
  const Tables before = DeviceTables();
  const size_t wrote_before = ReroutesThatWrote();
  FlapEachSecond(port, milliseconds(10), 600);
  harness_->RunFor(seconds(20));
  const size_t early = ReroutesThatWrote();
  EXPECT_LE(early - wrote_before, 6u);
  harness_->RunFor(seconds(581));
  EXPECT_EQ(ReroutesThatWrote(), early) << LogOf(manager());
  EXPECT_THAT(Events("LinkSuppressed"), SizeIs(1));
  EXPECT_EQ(Events("LinkDown").size(), 600u);
  ASSERT_THAT(View().policy->damped, SizeIs(1));
  EXPECT_TRUE(View().policy->damped.front().suppressed);
  EXPECT_EQ(View().policy->damped.front().flaps, 600u);
  EXPECT_THAT(sim::BrokenPairs(harness_->fabric()), IsEmpty());
  // Who never used it keeps every entry.
  const Tables now = DeviceTables();
  for (uint16_t lid = 1; lid <= View().lids->top().value(); ++lid) {
    if (before.at(port.node)[lid] == port.port.value() ||
        before.at(other.node)[lid] == other.port.value())
      continue;
    for (const auto& [node, table] : before) EXPECT_EQ(now.at(node)[lid], table[lid]) << lid;
  }
  harness_->RunFor(minutes(40));
  EXPECT_THAT(Events("LinkReleased"), SizeIs(1));
  EXPECT_EQ(DeviceTables(), before);
}

TEST_F(CoreFlapping, ASuppressedLinkStaysSuppressedAfterARestart) {
  BringUp("superpod:sus=2,hosts=8,rails=4");
  const Tables ideal = DeviceTables();
  FlapEachSecond(SwitchCables().front(), milliseconds(10), 6);
  harness_->RunFor(seconds(60));
  ASSERT_THAT(Events("LinkSuppressed"), SizeIs(1));
  const Tables before = DeviceTables();
  EXPECT_NE(before, ideal);
  const Instant release = View().policy->damped.front().release;
  harness_->Kill(sm_);
  harness_->Start(sm_);
  ASSERT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
  harness_->RunFor(seconds(60));
  EXPECT_EQ(DeviceTables(), before);
  ASSERT_THAT(View().policy->damped, SizeIs(1));
  const Duration later = View().policy->damped.front().release - release;
  EXPECT_LT(std::chrono::abs(later), milliseconds(2));
  ASSERT_THAT(View().policy->conditions, SizeIs(1));
  EXPECT_EQ(View().policy->conditions.front().type, "LinkFlapping");
  harness_->RunFor(minutes(40));
  EXPECT_THAT(Events("LinkReleased"), SizeIs(1));
  EXPECT_THAT(View().policy->conditions, IsEmpty());
  EXPECT_EQ(DeviceTables(), ideal);
}

// A cable that was pulled and put back is used again although another link is damped.
TEST_F(CoreFlapping, ADampedLinkDoesNotDelayReoptimisation) {
  BringUp("superpod:sus=2,hosts=8,rails=4");
  const PortRef port = SwitchCables().front(), pulled = SwitchCables().back();
  const PortRef other = harness_->fabric().device(port.node)->port(port.port).cable;
  const Tables before = DeviceTables();
  FlapEachSecond(port, milliseconds(10), 60);
  harness_->RunFor(seconds(20));
  ASSERT_THAT(Events("LinkSuppressed"), SizeIs(1));
  ASSERT_TRUE(harness_->fabric().Unlink(harness_->now(), pulled).ok());
  harness_->RunFor(seconds(15));
  const auto uses_pulled = [&](const Tables& tables) {
    const std::vector<uint8_t>& table = tables.at(pulled.node);
    return std::count(table.begin(), table.end(), pulled.port.value());
  };
  EXPECT_EQ(uses_pulled(DeviceTables()), 0);
  ASSERT_TRUE(harness_->fabric().Link(harness_->now(), pulled).ok());
  harness_->RunFor(seconds(40));
  EXPECT_THAT(Events("LinkReleased"), IsEmpty());
  const Tables now = DeviceTables();
  EXPECT_EQ(uses_pulled(now), uses_pulled(before)) << LogOf(manager());
  for (uint16_t lid = 1; lid <= View().lids->top().value(); ++lid) {
    if (before.at(port.node)[lid] == port.port.value() ||
        before.at(other.node)[lid] == other.port.value())
      continue;
    for (const auto& [node, table] : before) EXPECT_EQ(now.at(node)[lid], table[lid]) << lid;
  }
}

TEST_F(CoreFlapping, FiftyLinksAtOnceDoNotDelayRerouteOfAnother) {
  sweep::CoreOptions options;
  options.policy.damping.enabled = false;  // Each flap is rerouted, for a minute.
  BringUp("superpod:sus=2,hosts=16,rails=8", options);
  const std::vector<PortRef> cables = SwitchCables();
  ASSERT_GT(cables.size(), 100u);
  for (size_t i = 0; i < 50; ++i)
    FlapEachSecond(cables[2 * i], milliseconds(10) + milliseconds(19) * i, 60);
  harness_->RunFor(seconds(20));
  const size_t reroutes = Events("RerouteCompleted").size();
  const PortRef pulled = cables[1];
  ASSERT_TRUE(harness_->fabric().Unlink(harness_->now(), pulled).ok());
  const std::string name = harness_->fabric().device(pulled.node)->description();
  const auto& snapshot = *View().snapshot;
  const NodeIndex index = snapshot.FindIndex(harness_->fabric().device(pulled.node)->guid());
  EXPECT_TRUE(harness_->RunUntil(
      [&] { return !View().snapshot->node(index)->port(pulled.port).IsUp(); }, seconds(1)));
  EXPECT_TRUE(
      harness_->RunUntil([&] { return Events("RerouteCompleted").size() > reroutes; }, seconds(1)));
  // A command is answered among them.
  policy::Hold hold;
  hold.kind = policy::HoldKind::kCordon;
  hold.owner = "test";
  hold.target =
      policy::TargetOfPort({index, PortNum(1)}, *View().snapshot, nullptr, View().sm.port);
  harness_->Post(sm_, sweep::CreateHold{1, hold});
  EXPECT_TRUE(harness_->RunUntil([&] { return !manager().finished.empty(); }, milliseconds(100)));
  harness_->RunFor(seconds(60));
  ASSERT_TRUE(harness_->fabric().Link(harness_->now(), pulled).ok());
  EXPECT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
  harness_->RunFor(seconds(5));
  EXPECT_THAT(sim::PortsNotActive(harness_->fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_->fabric()), IsEmpty());
}

TEST_F(CoreFlapping, ATrapStormDelaysNoRerouteAndIsCordonedUntilItEnds) {
  sweep::CoreOptions options;
  options.policy.conditions.trap_storm.mode = policy::ConditionMode::kEnforce;
  options.policy.conditions.noisy_traps.mode = policy::ConditionMode::kObserve;
  BringUp("superpod:sus=1,hosts=8,rails=2", options);
  const PortRef cable = SwitchCables().front();
  const NodeIndex leaf = *harness_->fabric().FindNode("su1-rail0-leaf");
  const PortRef noisy{leaf, PortNum(3)};  // A host's.
  const Instant start = harness_->now();
  for (int i = 0; i < 100'000; ++i) {
    const Instant when = start + microseconds(100) * i;
    harness_->At(when, [=, this] { Check(harness_->fabric().SendStrayTrap(when, noisy, 130)); });
  }
  harness_->RunFor(seconds(5));
  const size_t reroutes = ReroutesThatWrote();
  ASSERT_TRUE(harness_->fabric().Unlink(harness_->now(), cable).ok());
  EXPECT_TRUE(harness_->RunUntil([&] { return ReroutesThatWrote() > reroutes; }, seconds(1)));
  EXPECT_THAT(sim::BrokenPairs(harness_->fabric()), IsEmpty());
  harness_->RunFor(seconds(6));
  ASSERT_THAT(View().policy->conditions,
              Contains(testing::Field(&policy::Condition::hold, testing::Ne(0u))));
  ASSERT_THAT(View().policy->holds, SizeIs(1)) << LogOf(manager());
  EXPECT_EQ(View().policy->holds.front().hold.kind, policy::HoldKind::kCordon);
  EXPECT_THAT(Events("ConditionRaised"), SizeIs(1));
  harness_->RunFor(minutes(30));
  EXPECT_THAT(View().policy->holds, IsEmpty()) << LogOf(manager());
  EXPECT_THAT(View().policy->conditions, IsEmpty());
}

// The condition is lost with the restart. A storm that goes on would raise it again.
TEST_F(CoreFlapping, AnOwnHoldSurvivesARestartAndEndsLaterWithoutItsCondition) {
  sweep::CoreOptions options;
  options.policy.conditions.trap_storm.mode = policy::ConditionMode::kEnforce;
  BringUp("superpod:sus=1,hosts=8,rails=2", options);
  const NodeIndex leaf = *harness_->fabric().FindNode("su1-rail0-leaf");
  for (int i = 0; i < 20'000; ++i) {
    const Instant when = harness_->now() + microseconds(100) * i;
    harness_->At(when, [=, this] {
      Check(harness_->fabric().SendStrayTrap(when, PortRef{leaf, PortNum(3)}, 130));
    });
  }
  harness_->RunFor(seconds(3));
  ASSERT_THAT(View().policy->holds, SizeIs(1)) << LogOf(manager());
  harness_->Kill(sm_);
  harness_->Start(sm_);
  ASSERT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
  harness_->RunFor(minutes(10));
  EXPECT_THAT(View().policy->holds, SizeIs(1));
  harness_->RunFor(minutes(25));
  EXPECT_THAT(View().policy->holds, IsEmpty()) << LogOf(manager());
}

}  // namespace
}  // namespace fabricd::test
