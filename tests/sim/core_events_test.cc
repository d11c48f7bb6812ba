// SPDX-License-Identifier: Apache-2.0
// A fabric that changes while it is managed.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "routing/plan/plan_diff.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CoreEvents : public testing::Test {
 protected:
  CoreEvents() : harness_(**sim::Generate("superpod:sus=2,hosts=4,rails=2")) {
    sm_ = harness_.Add({});
    harness_.Start(sm_);
    EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  }
  // A cable between two switches that is up.
  sim::SimCable SwitchCable() {
    for (const sim::SimCable& cable : harness_.fabric().ListCables()) {
      const auto a = harness_.fabric().FindNode(cable.a.node),
                 b = harness_.fabric().FindNode(cable.b.node);
      if (harness_.fabric().device(*a)->IsSwitch() && harness_.fabric().device(*b)->IsSwitch())
        return cable;
    }
    ADD_FAILURE();
    return {};
  }
  PortRef Ref(const sim::SimEndpoint& end) {
    return {*harness_.fabric().FindNode(end.node), end.port};
  }
  size_t Reroutes() const {
    const auto& events = harness_.manager(sm_).events;
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& event) {
      return event.type == "RerouteCompleted";
    }));
  }
  bool IsCalm() const {
    const auto& core = *harness_.manager(sm_).core;
    return core.phase() == sweep::Phase::kIdle && core.subnet_up();
  }
  // The SM knows that it is up, and who is behind it.
  bool IsKnownUp(PortRef port) {
    const auto& snapshot = *harness_.manager(sm_).view->snapshot;
    const NodeIndex node = snapshot.FindIndex(harness_.fabric().device(port.node)->guid());
    const fabric::Port& known = snapshot.node(node)->port(port.port);
    return known.IsUp() && !known.peer.IsNone();
  }
  void CalmAfter(size_t reroutes) {
    EXPECT_TRUE(harness_.RunUntil([&] { return Reroutes() > reroutes && IsCalm(); }))
        << LogOf(harness_.manager(sm_));
  }

  // Less than any time-out.
  static constexpr Duration kSoon = std::chrono::milliseconds(100);

  sim::Simulation harness_;
  size_t sm_ = 0;
};

TEST_F(CoreEvents, RoutesAroundAPulledCableAndUsesItAgain) {
  const sim::SimCable cable = SwitchCable();
  size_t reroutes = Reroutes();
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), Ref(cable.a)).ok());
  CalmAfter(reroutes);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  reroutes = Reroutes();
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), Ref(cable.a)).ok());
  CalmAfter(reroutes);
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

// Requests to a switch that reported a change and then stops responding time out after seconds.
// Other changes do not wait for that.
TEST_F(CoreEvents, DetectsAChangeWhileAnUnresponsiveSwitchIsSurveyed) {
  auto& fabric = harness_.fabric();
  const NodeIndex silent = *fabric.FindNode("su2-rail1-leaf");
  const sim::SimCable cable = SwitchCable();
  ASSERT_NE(*fabric.FindNode(cable.a.node), silent);
  ASSERT_NE(*fabric.FindNode(cable.b.node), silent);
  ASSERT_TRUE(fabric.SendStrayTrap(harness_.now(), {silent, PortNum(1)}, 128).ok());
  harness_.RunFor(std::chrono::milliseconds(2));
  for (uint8_t num = 1; num <= fabric.device(silent)->last_port().value(); ++num)
    fabric.SetLinkLoss({silent, PortNum(num)}, 1);
  harness_.RunFor(std::chrono::milliseconds(20));
  ASSERT_EQ(harness_.manager(sm_).core->phase(), sweep::Phase::kSurveying);
  ASSERT_TRUE(fabric.Unlink(harness_.now(), Ref(cable.a)).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return !IsKnownUp(Ref(cable.a)); }, kSoon))
      << LogOf(harness_.manager(sm_));
}

// The LID of a new host is being stored when a slow switch reports a change: both are programmed.
TEST(CoreEventsStore, AChangeWhileLidsAreStoredIsProgrammed) {
  sim::Simulation harness(**sim::Generate("superpod:sus=2,hosts=4,rails=2"));
  auto& fabric = harness.fabric();
  const PortRef fresh = *fabric.FindHostPort("node0002 mlx5_0");
  const PortRef leaving = *fabric.FindHostPort("node0008 mlx5_1");
  const NodeIndex slow = fabric.LinkedPeer(leaving).node;
  ASSERT_NE(slow, fabric.LinkedPeer(fresh).node);
  ASSERT_TRUE(fabric.Unlink(harness.now(), fresh).ok());
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  harness.manager(sm).executor.store_time = std::chrono::seconds(2);

  const auto lose_all_of_slow = [&](double loss) {
    for (uint8_t num = 1; num <= fabric.device(slow)->last_port().value(); ++num)
      fabric.SetLinkLoss({slow, PortNum(num)}, loss);
  };
  ASSERT_TRUE(fabric.SendStrayTrap(harness.now(), {slow, PortNum(1)}, 128).ok());
  harness.RunFor(std::chrono::milliseconds(2));
  lose_all_of_slow(1);
  ASSERT_TRUE(fabric.Unlink(harness.now(), leaving).ok());
  harness.RunFor(std::chrono::milliseconds(20));
  ASSERT_EQ(harness.manager(sm).core->phase(), sweep::Phase::kSurveying);
  ASSERT_TRUE(fabric.Link(harness.now(), fresh).ok());
  ASSERT_TRUE(harness.RunUntil([&] {
    return harness.manager(sm).core->phase() == sweep::Phase::kAssigningLids;
  })) << LogOf(harness.manager(sm));
  lose_all_of_slow(0);
  ASSERT_TRUE(harness.RunUntil([&] {
    return harness.manager(sm).core->phase() == sweep::Phase::kIdle;
  })) << LogOf(harness.manager(sm));
  EXPECT_THAT(sim::PortsNotActive(fabric), IsEmpty()) << LogOf(harness.manager(sm));
}

// Requests to the peer of a port time out after seconds too, unless the port is known to be down
// again.
TEST_F(CoreEvents, DoesNotWaitForAPeerBehindALinkThatIsDownAgain) {
  auto& fabric = harness_.fabric();
  const PortRef bad = Ref(SwitchCable().a);
  const PortRef good = {bad.node, PortNum(static_cast<uint8_t>(bad.port.value() + 1))};
  ASSERT_FALSE(fabric.LinkedPeer(good).IsNone());
  for (const PortRef port : {bad, good}) {
    const size_t reroutes = Reroutes();
    ASSERT_TRUE(fabric.Unlink(harness_.now(), port).ok());
    CalmAfter(reroutes);
  }
  fabric.SetLinkLoss(bad, 1);
  ASSERT_TRUE(fabric.Link(harness_.now(), bad).ok());
  harness_.RunFor(std::chrono::milliseconds(50));
  ASSERT_EQ(harness_.manager(sm_).core->phase(), sweep::Phase::kSurveying);
  ASSERT_TRUE(fabric.Unlink(harness_.now(), bad).ok());
  ASSERT_TRUE(fabric.Link(harness_.now(), good).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return IsKnownUp(good); }, kSoon))
      << LogOf(harness_.manager(sm_));
}

// A cable that is plugged again changes no entry until the ideal plan, which restores all of them.
TEST_F(CoreEvents, TheIncrementalRepairIsFollowedByTheIdealPlan) {
  const auto intact = harness_.manager(sm_).view->plan;
  const auto settled = [&] {
    return harness_.manager(sm_).view->last_sweep.kind == sweep::SweepKind::kSettle &&
           harness_.manager(sm_).core->phase() == sweep::Phase::kIdle;
  };
  const sim::SimCable cable = SwitchCable();
  size_t reroutes = Reroutes();
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), Ref(cable.a)).ok());
  CalmAfter(reroutes);
  const auto urgent = harness_.manager(sm_).view->plan;
  EXPECT_GT(routing::DiffPlans(*intact, *urgent).entries, 0u);
  EXPECT_TRUE(harness_.RunUntil(settled)) << LogOf(harness_.manager(sm_));
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());

  const auto damaged = harness_.manager(sm_).view->plan;
  reroutes = Reroutes();
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), Ref(cable.a)).ok());
  CalmAfter(reroutes);
  EXPECT_TRUE(routing::DiffPlans(*damaged, *harness_.manager(sm_).view->plan).blocks.empty());
  EXPECT_TRUE(harness_.RunUntil(settled)) << LogOf(harness_.manager(sm_));
  EXPECT_TRUE(routing::DiffPlans(*intact, *harness_.manager(sm_).view->plan).blocks.empty())
      << LogOf(harness_.manager(sm_));
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());

  // Nothing is left to settle.
  harness_.fabric().ResetStats();
  harness_.RunFor(std::chrono::minutes(5));
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
}

TEST_F(CoreEvents, ALostTrapIsFoundByTheLightSweep) {
  sweep::CoreOptions options;
  options.sweep.on_trap = false;
  sim::Simulation harness(**sim::Generate("superpod:sus=2,hosts=4,rails=2"));
  const size_t sm = harness.Add(options);
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  const sim::SimCable cable = SwitchCable();
  ASSERT_TRUE(harness.fabric().Unlink(harness.now(), Ref(cable.a)).ok());
  ASSERT_TRUE(harness.RunUntil([&] { return !harness.manager(sm).events.empty(); }));
  ASSERT_TRUE(harness.RunUntilUp(sm));
  EXPECT_THAT(sim::BrokenPairs(harness.fabric()), IsEmpty());
}

// A change every four seconds, and a link that comes back without a trap.
TEST_F(CoreEvents, LightSweepsGoOnBetweenFrequentChanges) {
  auto& fabric = harness_.fabric();
  const PortRef unreported = Ref(SwitchCable().a);
  const PortRef flapping = *fabric.FindHostPort("node0008 mlx5_1");
  const PortRef heard = fabric.LinkedPeer(flapping);
  ASSERT_NE(heard.node, unreported.node);
  ASSERT_TRUE(fabric.Unlink(harness_.now(), unreported).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return !IsKnownUp(unreported); }));
  harness_.RunFor(std::chrono::minutes(1));
  const sim::SimDevice& leaf = *fabric.device(heard.node);
  harness_.manager(sm_).tamper = [&leaf](const mad::IncomingMad& mad) {
    const auto smp = wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    return !smp || smp->method != wire::Method::kTrap || leaf.OwnsLid(PortNum(0), mad.from.lid);
  };
  ASSERT_TRUE(fabric.Link(harness_.now(), unreported).ok());
  bool is_up = true;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(
        (is_up ? fabric.Unlink(harness_.now(), flapping) : fabric.Link(harness_.now(), flapping))
            .ok());
    is_up = !is_up;
    harness_.RunFor(std::chrono::seconds(4));
  }
  EXPECT_TRUE(IsKnownUp(unreported)) << LogOf(harness_.manager(sm_));
}

TEST_F(CoreEvents, ARebootedSwitchIsProgrammedWholly) {
  const size_t reroutes = Reroutes();
  NodeIndex spine = *harness_.fabric().FindNode(SwitchCable().b.node);
  ASSERT_TRUE(harness_.fabric().Reboot(harness_.now(), spine).ok());
  CalmAfter(reroutes);
  harness_.RunFor(std::chrono::seconds(5));
  EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

// A host is plugged in after its leaf was read and before PortStateChange is cleared there, and no
// trap reports it. The reads that this causes are in flight when another change supersedes the run.
TEST_F(CoreEvents, ASupersededRunKeepsThePortsToReadAgain) {
  auto& fabric = harness_.fabric();
  const PortRef host = *fabric.FindHostPort("node0008 mlx5_1");
  const PortRef other = *fabric.FindHostPort("node0007 mlx5_1");
  const NodeIndex leaf = fabric.LinkedPeer(host).node;
  ASSERT_EQ(fabric.LinkedPeer(other).node, leaf);
  const size_t reroutes = Reroutes();
  ASSERT_TRUE(fabric.Unlink(harness_.now(), host).ok());
  CalmAfter(reroutes);
  fabric.SetMadFaults({.trap_loss = 1});
  ASSERT_TRUE(fabric.Unlink(harness_.now(), other).ok());  // PortStateChange is set.
  ASSERT_TRUE(fabric.Link(harness_.now(), other).ok());
  fabric.SetQuirks(leaf, {.answer_delay = std::chrono::milliseconds(150)});
  harness_.Post(sm_, sweep::SweepCommand{1, true});
  const sweep::Core& core = *harness_.manager(sm_).core;
  ASSERT_TRUE(harness_.RunUntil([&] { return core.progress().step == "switches"; }));
  ASSERT_TRUE(fabric.Link(harness_.now(), host).ok());
  harness_.RunFor(std::chrono::milliseconds(160));
  policy::PartitionRequest request;
  request.all = policy::ParsePartitions("Default=0x7fff: ALL=limited, SELF=full;").partitions;
  harness_.Post(sm_, sweep::ChangePartitions{2, std::move(request), false, false});
  harness_.RunFor(std::chrono::seconds(30));
  EXPECT_THAT(sim::PortsNotActive(fabric), IsEmpty()) << LogOf(harness_.manager(sm_));
}

// The host does not respond while its leaf reboots, and no trap reports either.
TEST_F(CoreEvents, FindsAHostThatRespondsAgainAfterItsLeafRebooted) {
  auto& fabric = harness_.fabric();
  const PortRef host = *fabric.FindHostPort("node0008 mlx5_1");
  fabric.SetLinkLoss(host, 1);
  fabric.SetMadFaults({.trap_loss = 1});
  ASSERT_TRUE(fabric.Reboot(harness_.now(), fabric.LinkedPeer(host).node).ok());
  harness_.RunFor(std::chrono::seconds(30));
  EXPECT_FALSE(IsKnownUp(fabric.LinkedPeer(host))) << LogOf(harness_.manager(sm_));
  EXPECT_THAT(LogOf(harness_.manager(sm_)), Not(HasSubstr("left undone")))
      << "its link was programmed although nobody answered behind it";
  fabric.SetLinkLoss(host, 0);
  harness_.RunFor(std::chrono::seconds(15));
  EXPECT_THAT(sim::PortsNotActive(fabric), IsEmpty()) << LogOf(harness_.manager(sm_));
}

TEST_F(CoreEvents, ALostSwitchKeepsLinearFdbTop) {
  const auto& view = *harness_.manager(sm_).view;
  const PortRef last = view.lids->Owner(view.lids->top());
  const NodeIndex spine = *harness_.fabric().FindNode(view.snapshot->node(last.node)->description);
  ASSERT_TRUE(harness_.fabric().device(spine)->IsSwitch());
  const size_t reroutes = Reroutes();
  for (uint8_t port = 1; port <= harness_.fabric().device(spine)->last_port().value(); ++port) {
    if (harness_.fabric().LinkedPeer({spine, PortNum(port)}).IsNone()) continue;
    ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), {spine, PortNum(port)}).ok());
  }
  CalmAfter(reroutes);
  harness_.RunFor(std::chrono::seconds(30));  // The ideal plan, too, has come.
  harness_.fabric().ResetStats();
  harness_.Post(sm_, sweep::SweepCommand{1, true});
  const uint32_t sweeps = harness_.manager(sm_).core->sweeps_done();
  ASSERT_TRUE(harness_.RunUntil(
      [&] { return harness_.manager(sm_).core->sweeps_done() > sweeps && IsCalm(); }));
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
}

TEST_F(CoreEvents, AQuietFabricGetsOnlySwitchInfoAndSomeTableReads) {
  harness_.RunFor(std::chrono::seconds(1));  // The light sweep after the first sweep.
  harness_.fabric().ResetStats();
  harness_.RunFor(std::chrono::seconds(25));
  const auto& stats = harness_.fabric().stats();
  const size_t switches = harness_.manager(sm_).view->snapshot->switch_count();
  EXPECT_EQ(stats.sets(), 0u);
  uint64_t gets = 0;
  for (const auto& [attribute, count] : stats.smps) gets += count.gets;
  EXPECT_EQ(stats.smps.at(wire::AttributeId::kSwitchInfo).gets, 2 * switches);
  EXPECT_EQ(stats.smps.at(wire::AttributeId::kLinearForwardingTable).gets, 2 * switches)
      << "these have one block each";
  // The tables of the last device that a sample comes to are all read: no more than 16.
  const size_t others = std::max(switches, sweep::ReadBack::kLeastOthers);
  EXPECT_LE(gets, 2 * (2 * switches + others + 16));
  EXPECT_EQ(harness_.manager(sm_).core->sweeps_done(), 1u);
}

// A sweep of a quiet fabric leaves the wire to other traffic, SA requests of clients above all. A
// change does not wait for the end of the sweep.
TEST_F(CoreEvents, ASweepOfAQuietFabricLimitsItsWindowUntilAReport) {
  const auto& core = *harness_.manager(sm_).core;
  const size_t patient = harness_.manager(sm_).options.smp.window_patient;
  enum class Report { kNone, kTrapMeanwhile, kBefore };
  for (const Report report : {Report::kNone, Report::kTrapMeanwhile, Report::kBefore}) {
    const uint32_t sweeps = core.sweeps_done();
    if (report == Report::kBefore)
      harness_.Post(sm_, mad::LocalPortEvent{mad::LocalPortEvent::Kind::kPortDown});
    else
      harness_.Post(sm_, sweep::SweepCommand{1, /*heavy=*/true});
    ASSERT_TRUE(harness_.RunUntil([&] { return core.phase() == sweep::Phase::kDiscovering; }));
    if (report == Report::kTrapMeanwhile) {
      const PortRef port = Ref(SwitchCable().a);
      ASSERT_TRUE(harness_.fabric().SendStrayTrap(harness_.now(), port, 128).ok());
    }
    size_t most = 0;
    ASSERT_TRUE(harness_.RunUntil([&] {
      if (core.phase() == sweep::Phase::kDiscovering) most = std::max(most, core.smps_in_flight());
      return core.sweeps_done() > sweeps && IsCalm();
    })) << LogOf(harness_.manager(sm_));
    if (report == Report::kNone)
      EXPECT_EQ(most, patient);
    else
      EXPECT_GT(most, patient);
  }
}

TEST_F(CoreEvents, AReportedChangeGoesBeforeARequestedSweep) {
  const auto& core = *harness_.manager(sm_).core;
  const size_t reroutes = Reroutes();
  const uint32_t sweeps = core.sweeps_done();
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), Ref(SwitchCable().a)).ok());
  harness_.RunFor(std::chrono::milliseconds(1));
  harness_.Post(sm_, sweep::SweepCommand{1, /*heavy=*/true});
  ASSERT_TRUE(harness_.RunUntil([&] { return core.phase() == sweep::Phase::kDiscovering; }))
      << LogOf(harness_.manager(sm_));
  EXPECT_EQ(Reroutes(), reroutes + 1) << LogOf(harness_.manager(sm_));
  EXPECT_TRUE(harness_.RunUntil([&] { return core.sweeps_done() > sweeps && IsCalm(); }));
}

TEST_F(CoreEvents, AChangedConfigurationIsCarriedOutByASweep) {
  sweep::CoreOptions options = harness_.manager(sm_).options;
  options.lmc = 1;
  options.link.subnet_timeout = 17;
  const uint32_t sweeps = harness_.manager(sm_).core->sweeps_done();
  harness_.Post(sm_, sweep::OptionsChanged{options});
  EXPECT_TRUE(harness_.RunUntil([&] {
    return harness_.manager(sm_).core->sweeps_done() > sweeps && IsCalm();
  })) << LogOf(harness_.manager(sm_));
  const auto host = harness_.fabric().FindHostPort("node0005 mlx5_1");
  const auto& info = harness_.fabric().device(host->node)->port(host->port).info;
  EXPECT_EQ(info.lmc, 1);
  EXPECT_EQ(info.subnet_timeout, 17);
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
