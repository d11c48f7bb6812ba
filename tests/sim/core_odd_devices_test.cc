// SPDX-License-Identifier: Apache-2.0
// Devices that depart from the specification as devices in the field do: the subnet comes up, and
// what one device does costs the others nothing.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;
using wire::AttributeId;

struct Case {
  const char* name;
  sim::Quirks quirks;
};
void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }

class OddDevices : public testing::TestWithParam<Case> {
 protected:
  OddDevices() {
    for (const char* node : {"su1-rail0-leaf", "spine1", "node0002 mlx5_0"}) {
      simulation.fabric().SetQuirks(simulation.fabric().FindNode(node).value(), GetParam().quirks);
    }
  }
  void ExpectHealthy() {
    EXPECT_THAT(sim::PortsNotActive(simulation.fabric()), IsEmpty());
    EXPECT_THAT(sim::LidFaults(simulation.fabric()), IsEmpty());
    EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
  }
  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *sim::Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  sim::Simulation simulation{*topology};
};

TEST_P(OddDevices, AreBroughtUpWithTheRest) {
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  ASSERT_TRUE(simulation.RunUntilUp(sm, std::chrono::minutes(5))) << LogOf(simulation.manager(sm));
  ExpectHealthy();
}

TEST_P(OddDevices, FollowALinkThatFails) {
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  ASSERT_TRUE(simulation.RunUntilUp(sm, std::chrono::minutes(5)));
  const PortRef cable{simulation.fabric().FindNode("spine1").value(), PortNum(1)};
  ASSERT_TRUE(simulation.fabric().Unlink(simulation.now(), cable).ok());
  simulation.RunFor(std::chrono::seconds(30));
  EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty()) << LogOf(simulation.manager(sm));
  ASSERT_TRUE(simulation.fabric().Link(simulation.now(), cable).ok());
  simulation.RunFor(std::chrono::seconds(90));
  ExpectHealthy();
}

INSTANTIATE_TEST_SUITE_P(
    All, OddDevices,
    testing::Values(Case{"Slow", {.answer_delay = milliseconds(150)}},
                    Case{"Stale", {.stale_reads = milliseconds(20)}},
                    Case{"VeryStale", {.stale_reads = std::chrono::seconds(3)}},
                    Case{"TooSlow", {.answer_delay = milliseconds(450)}},
                    Case{"BusyEveryOther", {.busy_every = 2}}, Case{"Busy", {.busy_every = 5}},
                    Case{"Ibsim", {.ignored = sim::IgnoredPortInfoFields::OfIbsim()}},
                    Case{"Older",
                         {.refused_gets = {{AttributeId::kSwitchPortStateTable,
                                            wire::kStatusUnsupportedMethodAttribute},
                                           {AttributeId::kPortInfoExtended,
                                            wire::kStatusUnsupportedMethodAttribute}}}}),
    [](const auto& each) { return std::string(each.param.name); });

// Devices that do not take what is written to them. Nothing helps but an operator, so they are
// reported by name, and written to again at a bounded rate.
class StubbornDevices : public testing::TestWithParam<Case> {};

TEST_P(StubbornDevices, AreReportedAndWrittenToAtABoundedRate) {
  sim::Simulation simulation(**sim::Generate("superpod:sus=1,hosts=4,rails=2,radix=8"));
  const char* const names[] = {"su1-rail0-leaf", "node0002 mlx5_0"};
  for (const char* name : names)
    simulation.fabric().SetQuirks(*simulation.fabric().FindNode(name), GetParam().quirks);
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  simulation.RunFor(std::chrono::minutes(2));
  const auto& manager = simulation.manager(sm);
  simulation.fabric().ResetStats();
  simulation.RunFor(std::chrono::minutes(10));
  const auto& view = *manager.view;
  // At most once a minute for each of their ports. PortStateChange, which the switch does not clear
  // either, is seen by each light sweep.
  EXPECT_LE(simulation.fabric().stats().sets(), 240u) << LogOf(manager);
  EXPECT_TRUE(std::any_of(view.problems.begin(), view.problems.end(),
                          [&](const auto& problem) { return problem.subject.name == names[0]; }));
  // The rest of the fabric is served.
  const auto broken = sim::BrokenPairs(simulation.fabric());
  EXPECT_TRUE(std::none_of(broken.begin(), broken.end(), [](const std::string& pair) {
    return pair.find("node0003 mlx5_1") != std::string::npos &&
           pair.find("node0004 mlx5_1") != std::string::npos;
  }));
}

INSTANTIATE_TEST_SUITE_P(
    All, StubbornDevices,
    testing::Values(
        Case{"LinearFdbTop", {.ignores_linear_fdb_top = true}},
        Case{"SwitchInfo", {.ignored_sets = {AttributeId::kSwitchInfo}}},
        Case{"PortInfo", {.ignored_sets = {AttributeId::kPortInfo}}},
        Case{"Lft", {.ignored_sets = {AttributeId::kLinearForwardingTable}}},
        Case{"RefusedSwitchInfo",
             {.refused_sets = {{AttributeId::kSwitchInfo, wire::kStatusInvalidAttributeValue}}}},
        Case{"RefusedPortInfo",
             {.refused_sets = {{AttributeId::kPortInfo, wire::kStatusInvalidAttributeValue}}}},
        Case{"RefusedLft",
             {.refused_sets = {{AttributeId::kLinearForwardingTable,
                                wire::kStatusInvalidAttributeValue}}}}),
    [](const auto& each) { return std::string(each.param.name); });

// A switch of 64 ports takes half a second for each response. The election takes place when its few
// ports that are up have been read; the others are read and configured when the subnet is up.
TEST(SlowSwitch, HoldsUpNoElection) {
  sim::Simulation simulation(**sim::Generate("superpod:sus=2,hosts=4,rails=4"));
  const NodeIndex slow = *simulation.fabric().FindNode("su2-rail0-leaf");
  ASSERT_EQ(simulation.fabric().device(slow)->last_port(), PortNum(64));
  simulation.fabric().SetQuirks(slow, {.answer_delay = milliseconds(540)});
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  const auto& manager = simulation.manager(sm);
  EXPECT_TRUE(simulation.RunUntil(
      [&] { return manager.core->sm_state() == wire::SmState::kMaster; }, std::chrono::seconds(12)))
      << LogOf(manager);
  ASSERT_TRUE(simulation.RunUntilUp(sm, std::chrono::seconds(30))) << LogOf(manager);
  EXPECT_THAT(sim::PortsNotActive(simulation.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());

  const auto ports_known = [&] {
    const auto& snapshot = *manager.view->snapshot;
    const auto& ports =
        snapshot.node(snapshot.FindIndex(simulation.fabric().device(slow)->guid()))->ports;
    return std::count_if(ports.begin(), ports.end(), [](const auto& port) { return port.known; });
  };
  EXPECT_LT(ports_known(), 20);
  EXPECT_TRUE(simulation.RunUntil([&] { return ports_known() == 65; }, std::chrono::minutes(2)))
      << LogOf(manager);
  simulation.RunFor(std::chrono::minutes(2));
  EXPECT_TRUE(manager.core->subnet_up()) << LogOf(manager);
  EXPECT_EQ(manager.view->sweeps_done, 1u) << LogOf(manager);
  // All is as a sweep would leave it.
  simulation.fabric().ResetStats();
  simulation.Post(sm, sweep::SweepCommand{1, /*heavy=*/true});
  simulation.RunFor(std::chrono::minutes(2));
  EXPECT_EQ(manager.view->sweeps_done, 2u) << LogOf(manager);
  EXPECT_EQ(simulation.fabric().stats().sets(), 0u);
}

// Hosts have the lowest LIDs, so these tables lack the LIDs of switches only. The entries that fit
// are written, because paths of other switches use them.
TEST(SmallTables, GetTheEntriesThatFit) {
  sim::SimOptions devices;
  devices.device.linear_fdb_cap = 9;
  devices.device.keep_lids = false;
  sim::Simulation simulation(**sim::Generate("fat-tree:radix=4,levels=2"), devices);
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  simulation.RunFor(std::chrono::seconds(10));
  const auto& view = *simulation.manager(sm).view;
  EXPECT_TRUE(std::any_of(view.problems.begin(), view.problems.end(), [](const auto& problem) {
    return problem.kind == sweep::ProblemKind::kTableTooSmall;
  }));
  ASSERT_NE(view.plan, nullptr);
  size_t switches = 0;
  for (uint32_t i = 0; i < simulation.fabric().node_index_end(); ++i) {
    const sim::SimDevice& device = *simulation.fabric().device(NodeIndex(i));
    if (!device.IsSwitch()) continue;
    ++switches;
    const wire::LinearForwardingTable table = device.LftBlock(0);
    const NodeIndex node = view.snapshot->FindIndex(device.node_info().node_guid);
    for (uint16_t lid = 1; lid < 9; ++lid) {
      EXPECT_NE(table.port[lid], wire::LinearForwardingTable::kNoPath);
      EXPECT_EQ(table.port[lid], view.plan->EgressPort(node, Lid(lid)));
    }
  }
  EXPECT_EQ(switches, 6u);
}

}  // namespace
}  // namespace fabricd::test
