// SPDX-License-Identifier: Apache-2.0
// Trees of the sizes that people run, from the first MAD to ACTIVE ports, judged by the devices.
// Counts only: what it costs is bench/bring_up_benchmark's to say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/checkers/key_checker.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::IsEmpty;

// Of a cold bring-up, each LinearForwardingTable block once.
uint64_t TableSets(const sim::SimFabric& fabric) {
  return fabric.stats().Of(wire::AttributeId::kLinearForwardingTable).sets;
}

void BringUp(const std::string& spec, size_t end_ports, size_t switches) {
  const auto topology = sim::Generate(spec);
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ((*topology)->node_count(), end_ports + switches);
  sim::Simulation simulation(**topology);
  sim::MadFaults delayed;
  delayed.delay = std::chrono::microseconds(10);
  simulation.fabric().SetMadFaults(delayed);
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  ASSERT_TRUE(simulation.RunUntilUp(sm)) << LogOf(simulation.manager(sm));
  const sweep::FabricView& view = *simulation.manager(sm).view;
  EXPECT_EQ(view.sweeps_done, 1u);
  EXPECT_THAT(view.problems, IsEmpty());

  const sim::SimFabric& fabric = simulation.fabric();
  EXPECT_EQ(simulation.manager(sm).store.LoadLids()->size(), end_ports + switches);
  EXPECT_EQ(TableSets(fabric), switches * ((end_ports + switches) / 64 + 1));
  EXPECT_EQ(fabric.stats().timed_out, 0u);
  EXPECT_THAT(sim::PortsNotActive(fabric), IsEmpty());
  EXPECT_THAT(sim::LidFaults(fabric), IsEmpty());
  ASSERT_NE(view.plan, nullptr);
  EXPECT_THAT(sim::TablesUnlikePlan(fabric, *view.snapshot, *view.plan), IsEmpty());
  EXPECT_THAT(sim::Loops(fabric), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(fabric), IsEmpty());
  EXPECT_THAT(sim::PKeyFaults(fabric), IsEmpty());
}

TEST(LargeBringUp, ARadix36TreeOf11664Ports) {
  BringUp("fat-tree:radix=36,levels=3", 11'664, 1'620);
}

// Ten times as long: a ctest of its own, nightly.
TEST(NightlyBringUp, ARadix56TreeOf43904Ports) {
  BringUp("fat-tree:radix=56,levels=3", 43'904, 3'920);
}

}  // namespace
}  // namespace fabricd::test
