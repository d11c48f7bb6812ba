// SPDX-License-Identifier: Apache-2.0
// Plans of several lanes on simulated devices: mappings, arbitration and VLs of links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::IsEmpty;

std::shared_ptr<const fabric::FabricSnapshot> MakeTorus(const std::string& spec) {
  auto made = sim::Generate(spec);
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

sweep::CoreOptions Lanes(uint8_t most) {
  sweep::CoreOptions options;
  options.routing.chain = {"layered"};
  options.routing.lanes_max = most;
  return options;
}

const routing::RoutingPlan& PlanOf(const sim::Simulation& harness, size_t sm) {
  return *harness.manager(sm).view->plan;
}

std::vector<std::string> LoopsOf(const sim::Simulation& harness, size_t sm) {
  const auto& view = *harness.manager(sm).view;
  return sim::CreditLoops(harness.fabric(), *view.snapshot, *view.plan);
}

std::vector<std::string> ProblemsOf(const sim::Simulation& harness, size_t sm) {
  std::vector<std::string> kinds;
  for (const sweep::Problem& problem : harness.manager(sm).view->problems)
    kinds.emplace_back(sweep::ProblemKindName(problem.kind));
  return kinds;
}

// Every way through every switch maps level n to lane n % lanes, and every lane is served.
void ExpectLanes(const sim::SimFabric& fabric, uint8_t lanes) {
  size_t maps = 0;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const sim::SimDevice& device = *fabric.device(NodeIndex(i));
    const int last = device.IsSwitch() ? device.last_port().value() : 0;
    for (int out = 1; out <= last; ++out) {
      const PortNum to(static_cast<uint8_t>(out));
      if (!device.port(to).plugged) continue;
      EXPECT_GE(wire::DataVls(device.port(to).info.operational_vls), lanes);
      const auto low = device.port(to).vl_arbitration.find(1);
      ASSERT_NE(low, device.port(to).vl_arbitration.end());
      for (uint8_t lane = 0; lane < lanes; ++lane)
        EXPECT_TRUE(std::any_of(low->second.entries.begin(), low->second.entries.end(),
                                [&](const auto& e) { return e.vl == lane && e.weight > 0; }));
      for (int in = 0; in <= last; ++in) {
        const PortNum from(static_cast<uint8_t>(in));
        if (in == out || (in != 0 && !device.port(from).plugged)) continue;
        ++maps;
        for (uint8_t level = 0; level < 16; ++level)
          ASSERT_EQ(device.SlToVl(from, to).vl[level], level % lanes)
              << device.description() << " " << in << " to " << out;
      }
    }
  }
  EXPECT_GT(maps, 0u);
}

class LanesOnATorus : public testing::TestWithParam<bool> {};

TEST_P(LanesOnATorus, AreProgrammedOnceAndCannotDeadlock) {
  sim::SimOptions devices;
  devices.device.optimized_sl_to_vl = GetParam();
  sim::Simulation harness(*MakeTorus("torus:dims=5x5,hosts=1"), devices);
  const size_t sm = harness.Add(Lanes(8));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  EXPECT_THAT(sim::BrokenPairs(harness.fabric()), IsEmpty());
  const uint8_t lanes = PlanOf(harness, sm).lanes;
  ASSERT_GT(lanes, 1);
  ExpectLanes(harness.fabric(), lanes);
  EXPECT_THAT(LoopsOf(harness, sm), IsEmpty());
  EXPECT_THAT(ProblemsOf(harness, sm), testing::Contains("LanesInUse"));

  harness.fabric().ResetStats();
  harness.Post(sm, sweep::SweepCommand{1, true});
  ASSERT_TRUE(harness.RunUntil([&] { return !harness.manager(sm).finished.empty(); }));
  EXPECT_EQ(harness.fabric().stats().sets(), 0u);
  EXPECT_THAT(ProblemsOf(harness, sm), testing::Contains("LanesInUse")) << "it stands";
  EXPECT_GT(harness.fabric().stats().smps.at(wire::AttributeId::kSlToVlMappingTable).gets, 0u)
      << "somebody else may have written them";

  // A manager that starts anew reads what the devices have, and finds it right.
  harness.Kill(sm);
  harness.RunFor(std::chrono::seconds(1));
  harness.fabric().ResetStats();
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  const auto& again = harness.fabric().stats().smps.at(wire::AttributeId::kSlToVlMappingTable);
  EXPECT_GT(again.gets, 0u);
  EXPECT_EQ(again.sets, 0u);
}
INSTANTIATE_TEST_SUITE_P(Switches, LanesOnATorus, testing::Bool(), [](const auto& switches) {
  return std::string(switches.param ? "Optimized" : "Plain");
});

// The checker finds the credit loops that the service levels prevent.
TEST(Lanes, TheCheckerFindsCreditLoopsWithoutServiceLevels) {
  sim::Simulation harness(*MakeTorus("torus:dims=5x5,hosts=1"));
  const size_t sm = harness.Add(Lanes(8));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  ASSERT_GT(PlanOf(harness, sm).lanes, 1);
  routing::RoutingPlan flat = PlanOf(harness, sm);
  flat.service_levels.clear();
  const auto& view = *harness.manager(sm).view;
  EXPECT_FALSE(sim::CreditLoops(harness.fabric(), *view.snapshot, flat).empty());
}

TEST(Lanes, AreNoMoreThanTheVlsOfTheSwitches) {
  sim::SimOptions devices;
  devices.device.vl_cap = 1;  // VL0 alone.
  sim::Simulation harness(*MakeTorus("torus:dims=5x5,hosts=1"), devices);
  const size_t sm = harness.Add(Lanes(8));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  EXPECT_EQ(PlanOf(harness, sm).lanes, 1);
  EXPECT_THAT(LoopsOf(harness, sm), IsEmpty());
  EXPECT_THAT(PlanOf(harness, sm).notes, testing::Contains(testing::HasSubstr("port")));
}

// The plan does not need the tables, but a client requests them.
TEST(Lanes, TablesAreReadOnRequest) {
  sim::Simulation harness(*MakeTorus("torus:dims=3x3,hosts=1"));
  const size_t sm = harness.Add(Lanes(1));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  const auto& view = [&]() -> const sweep::FabricView& { return *harness.manager(sm).view; };
  NodeIndex node, host;
  view().snapshot->ForEachNode(
      [&](const fabric::Node& each) { (each.IsSwitch() ? node : host) = each.index; });
  const size_t ports = view().snapshot->node(node)->ports.size();
  harness.Post(sm, sweep::ReadLanes{{node, host, NodeIndex(4711)}});
  const auto find = [&](PortRef port) -> const fabric::PortTables* {
    const auto found = view().tables->find(port);
    return found != view().tables->end() && found->second.has_all_lanes ? &found->second : nullptr;
  };
  ASSERT_TRUE(harness.RunUntil([&] { return find({node, PortNum(0)}) != nullptr; }));
  const fabric::PortTables& tables = *find({node, PortNum(0)});
  EXPECT_EQ(tables.lanes.size(), ports * ports);
  EXPECT_GE(tables.arbitration.size(), 4 * (ports - 1));
  ASSERT_NE(find({host, PortNum(1)}), nullptr);
  EXPECT_EQ(find({host, PortNum(1)})->lanes.size(), 1u);
  EXPECT_EQ(find({host, PortNum(1)})->arbitration.size(), 4u);
  // They are not asked again.
  const auto gets = [&] {
    return harness.fabric().stats().smps.at(wire::AttributeId::kSlToVlMappingTable).gets;
  };
  const uint64_t before = gets();
  harness.Post(sm, sweep::ReadLanes{{node}});
  harness.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(gets(), before);
  // What an interrupted reading has left is read when the sweep is over.
  harness.Post(sm, sweep::ReadLanes{{NodeIndex(0), NodeIndex(1), NodeIndex(2), NodeIndex(3)}});
  harness.Post(sm, sweep::SweepCommand{1, true});
  EXPECT_TRUE(harness.RunUntil([&] {
    size_t read = 0;
    for (const auto& [port, of] : *view().tables) read += of.has_all_lanes && port.node.value() < 4;
    return read == 4;
  })) << LogOf(harness.manager(sm));
  EXPECT_EQ(harness.fabric().stats().smps.at(wire::AttributeId::kSlToVlMappingTable).sets, 0u);
}

TEST(Lanes, AreNotProgrammedWhenOneSuffices) {
  sim::Simulation harness(*MakeTorus("torus:dims=5x5,hosts=1"));
  const size_t sm = harness.Add(Lanes(1));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  EXPECT_EQ(PlanOf(harness, sm).lanes, 1);
  EXPECT_THAT(ProblemsOf(harness, sm), IsEmpty());
  EXPECT_FALSE(harness.fabric().stats().smps.count(wire::AttributeId::kSlToVlMappingTable));
  EXPECT_THAT(LoopsOf(harness, sm), IsEmpty());
}

// A restarted switch has lost its mappings, although they were confirmed before.
TEST(Lanes, AreProgrammedAgainAfterARestartOfASwitch) {
  sim::Simulation harness(*MakeTorus("torus:dims=5x5,hosts=1"));
  const size_t sm = harness.Add(Lanes(8));
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  const uint8_t lanes = PlanOf(harness, sm).lanes;
  uint32_t index = 0;
  while (!harness.fabric().device(NodeIndex(index))->IsSwitch()) ++index;
  ASSERT_TRUE(harness.fabric().Reboot(harness.now(), NodeIndex(index)).ok());
  ASSERT_TRUE(harness.RunUntil([&] {
    return harness.manager(sm).core->sweeps_done() > 1 && harness.manager(sm).core->subnet_up() &&
           sim::PortsNotActive(harness.fabric()).empty();
  }));
  harness.RunFor(std::chrono::seconds(30));
  ASSERT_EQ(PlanOf(harness, sm).lanes, lanes);
  ExpectLanes(harness.fabric(), lanes);
}

}  // namespace
}  // namespace fabricd::test
