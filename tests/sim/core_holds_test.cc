// SPDX-License-Identifier: Apache-2.0
// Holds and damping on a whole core: what the simulated devices hold in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/target.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using policy::HoldKind;
using policy::HoldState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;

class CoreHolds : public testing::Test {
 protected:
  CoreHolds() : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")) {
    sm_ = harness_.Add({});
    harness_.Start(sm_);
    EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  }
  const sweep::FabricView& View() { return *harness_.manager(sm_).view; }
  const fabric::FabricSnapshot& Snapshot() { return *View().snapshot; }
  // A switch without hosts.
  NodeIndex Spine() {
    NodeIndex spine = NodeIndex::None();
    Snapshot().ForEachNode([&](const fabric::Node& node) {
      bool inner = node.IsSwitch();
      for (const fabric::Port& port : node.ports)
        inner &= port.peer.IsNone() || Snapshot().node(port.peer.node)->IsSwitch();
      if (inner && spine.IsNone()) spine = node.index;
    });
    EXPECT_FALSE(spine.IsNone());
    return spine;
  }
  // A host's port that is not the SM's.
  PortRef HostPort() {
    PortRef found;
    Snapshot().ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() && node.index != View().sm.port.node && found.IsNone())
        found = {node.index, PortNum(1)};
    });
    return found;
  }
  policy::Hold Wanted(HoldKind kind, policy::HoldTarget target) {
    policy::Hold hold;
    hold.kind = kind;
    hold.target = std::move(target);
    hold.owner = "test";
    hold.reason = "maintenance";
    return hold;
  }
  policy::HoldTarget SwitchTarget(NodeIndex node) {
    return {policy::TargetKind::kSwitch, "spine", {Snapshot().node(node)->guid()}, {}, {}};
  }
  sweep::FinishedCommand Run(sweep::Event command) {
    const size_t before = harness_.manager(sm_).finished.size();
    harness_.Post(sm_, std::move(command));
    EXPECT_TRUE(harness_.RunUntil([&] { return harness_.manager(sm_).finished.size() > before; }));
    return harness_.manager(sm_).finished.back();
  }
  uint64_t Make(policy::Hold hold) {
    const auto finished = Run(sweep::CreateHold{77, std::move(hold)});
    EXPECT_TRUE(finished.status.ok()) << finished.status;
    return finished.hold ? finished.hold->hold.id : 0;
  }
  void Delete(uint64_t id) { EXPECT_TRUE(Run(sweep::DeleteHold{78, {id, "test"}}).status.ok()); }
  bool InEffect(uint64_t id) {
    for (const policy::HoldStatus& status : View().policy->holds)
      if (status.hold.id == id) return status.state == HoldState::kInEffect;
    return false;
  }
  void UntilInEffect(uint64_t id) {
    EXPECT_TRUE(harness_.RunUntil([&] { return InEffect(id); })) << LogOf(harness_.manager(sm_));
  }
  void UntilQuiet() {
    harness_.RunFor(seconds(30));
    EXPECT_EQ(harness_.manager(sm_).core->phase(), sweep::Phase::kIdle);
  }
  // Entries of the devices' own tables that lead to the switch for a LID that is not its own.
  size_t EntriesThrough(NodeIndex spine) {
    const Guid guid = Snapshot().node(spine)->guid();
    const Lid own = View().lids->Of({spine, PortNum(0)}).base;
    size_t entries = 0;
    Snapshot().ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() || node.guid() == guid) return;
      const sim::SimDevice& device =
          *harness_.fabric().device(*harness_.fabric().FindNode(node.description));
      for (uint16_t lid = 1; lid <= View().lids->top().value(); ++lid) {
        const uint8_t port = device.LftPort(Lid(lid));
        if (Lid(lid) == own || port >= node.ports.size()) continue;
        entries += node.ports[port].peer.node == spine;
      }
    });
    return entries;
  }

  sim::Simulation harness_;
  size_t sm_ = 0;
};

TEST_F(CoreHolds, ADrainedSwitchCarriesNoPathUntilItIsReleased) {
  const NodeIndex spine = Spine();
  EXPECT_GT(EntriesThrough(spine), 0u);
  const uint64_t id = Make(Wanted(HoldKind::kDrain, SwitchTarget(spine)));
  UntilInEffect(id);
  EXPECT_EQ(EntriesThrough(spine), 0u);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
  Delete(id);
  UntilQuiet();
  EXPECT_GT(EntriesThrough(spine), 0u);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(CoreHolds, ADrainIsInEffectAfterThePacketLifetime) {
  const uint64_t id = Make(Wanted(HoldKind::kDrain, SwitchTarget(Spine())));
  const Instant begun = harness_.now();
  UntilInEffect(id);
  // Host, leaf, spine, leaf, host: three links of 1.07 s and the last of 0.27 s.
  EXPECT_GE(harness_.now() - begun, seconds(3));
  EXPECT_LE(harness_.now() - begun, seconds(4));
}

TEST_F(CoreHolds, HoldsSurviveKillAndRestart) {
  const NodeIndex spine = Spine();
  const policy::HoldTarget target = SwitchTarget(spine);
  UntilInEffect(Make(Wanted(HoldKind::kDrain, target)));
  harness_.Kill(sm_);
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  UntilInEffect(1);
  EXPECT_EQ(View().policy->holds.at(0).hold.target, target);
  EXPECT_EQ(EntriesThrough(Snapshot().FindIndex(target.nodes[0])), 0u);
}

TEST_F(CoreHolds, ADisabledPortStaysDownUntilItIsReleased) {
  const PortRef port = Snapshot().port(HostPort())->peer;
  const policy::HoldTarget target = policy::TargetOfPort(port, Snapshot(), nullptr, View().sm.port);
  const std::string name = Snapshot().node(port.node)->description;
  const auto physical = [&] {
    return harness_.fabric()
        .device(*harness_.fabric().FindNode(name))
        ->port(port.port)
        .info.port_physical_state;
  };
  const size_t nodes = Snapshot().node_count();
  const uint64_t id = Make(Wanted(HoldKind::kDisable, target));
  UntilInEffect(id);
  EXPECT_EQ(physical(), wire::PortPhysicalState::kDisabled);
  UntilQuiet();
  EXPECT_EQ(Snapshot().node_count(), nodes - 1);
  EXPECT_TRUE(View().subnet_up);
  EXPECT_THAT(View().problems, IsEmpty());
  EXPECT_THAT(View().policy->damped, IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());

  harness_.Kill(sm_);
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  UntilInEffect(id);
  EXPECT_EQ(physical(), wire::PortPhysicalState::kDisabled);

  Delete(id);
  UntilQuiet();
  EXPECT_EQ(physical(), wire::PortPhysicalState::kLinkUp);
  EXPECT_EQ(Snapshot().node_count(), nodes);
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  EXPECT_THAT(harness_.manager(sm_).store.LoadHolds()->holds, IsEmpty());
  EXPECT_THAT(View().policy->damped, IsEmpty());
}

// The SM that deletes the hold is killed before it enables the port: the next one does.
TEST_F(CoreHolds, ADisabledPortIsEnabledAfterReleaseAndRestart) {
  const PortRef port = Snapshot().port(HostPort())->peer;
  const uint64_t id = Make(
      Wanted(HoldKind::kDisable, policy::TargetOfPort(port, Snapshot(), nullptr, View().sm.port)));
  UntilInEffect(id);
  UntilQuiet();
  const size_t nodes = Snapshot().node_count();
  Delete(id);
  harness_.Kill(sm_);
  ASSERT_EQ(harness_.manager(sm_).store.LoadHolds()->holds.size(), 1u);
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  UntilQuiet();
  EXPECT_EQ(Snapshot().node_count(), nodes + 1);
  EXPECT_THAT(harness_.manager(sm_).store.LoadHolds()->holds, IsEmpty());
}

TEST_F(CoreHolds, ALeafWithHostsIsNotDrainedUnlessForced) {
  policy::Hold hold =
      Wanted(HoldKind::kDrain, SwitchTarget(Snapshot().port(HostPort())->peer.node));
  const auto refused = Run(sweep::CreateHold{77, hold});
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kFailedPrecondition) << refused.status;
  ASSERT_NE(refused.hold, nullptr);
  EXPECT_FALSE(refused.hold->consequences.cut_off.empty());
  EXPECT_THAT(View().policy->holds, IsEmpty());
  UntilQuiet();
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(CoreHolds, AHoldThatCannotBeStoredIsRefused) {
  harness_.manager(sm_).store.FailWrites(absl::InternalError("disk full"));
  const auto finished = Run(sweep::CreateHold{77, Wanted(HoldKind::kDrain, SwitchTarget(Spine()))});
  EXPECT_FALSE(finished.status.ok());
  EXPECT_THAT(View().policy->holds, IsEmpty());
  UntilQuiet();
  EXPECT_GT(EntriesThrough(Spine()), 0u);
}

// The hold was granted while the SM ran on another host. After a start behind the disabled port the
// SM must work.
TEST_F(CoreHolds, AnSmThatMovesBehindADisabledPortKeepsItsLink) {
  const PortRef host = HostPort();
  const auto target = policy::TargetOfPort(host, Snapshot(), nullptr, View().sm.port);
  const Guid guid = Snapshot().node(host.node)->guid();
  harness_.manager(sm_).options.policy.holds.budget = 10;
  harness_.Post(sm_, sweep::CreateHold{77, Wanted(HoldKind::kDisable, target)});
  // Durable, and not carried out yet.
  ASSERT_TRUE(harness_.RunUntil([&] { return !harness_.manager(sm_).finished.empty(); }));
  harness_.Kill(sm_);
  for (uint32_t i = 0; i < harness_.fabric().node_index_end(); ++i)
    if (harness_.fabric().device(NodeIndex(i))->guid() == guid)
      harness_.manager(sm_).host = {NodeIndex(i), host.port};
  harness_.Start(sm_);
  EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  harness_.RunFor(minutes(1));
  ASSERT_EQ(View().policy->holds.size(), 1u);
  EXPECT_EQ(View().policy->holds[0].state, HoldState::kPending);
  EXPECT_THAT(View().policy->holds[0].note, testing::HasSubstr("the SM's own link stays up"));
  EXPECT_FALSE(harness_.fabric().LinkedPeer(harness_.manager(sm_).host).IsNone());
}

}  // namespace
}  // namespace fabricd::test
