// SPDX-License-Identifier: Apache-2.0
// From the first MAD to ACTIVE ports, judged by what the simulated devices hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"
#include "tests/support/set_watch.h"

namespace fabricd::test {
namespace {

using testing::IsEmpty;

std::shared_ptr<const fabric::FabricSnapshot> Make(const std::string& spec) {
  auto made = sim::Generate(spec);
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

void ExpectHealthy(const sim::Simulation& harness) {
  EXPECT_THAT(sim::PortsNotActive(harness.fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness.fabric()), IsEmpty());
}

class BringUp : public testing::TestWithParam<const char*> {};

TEST_P(BringUp, EveryPortBecomesActiveAndEveryPairIsReached) {
  sim::Simulation harness(*Make(GetParam()));
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  ExpectHealthy(harness);
  EXPECT_EQ(harness.manager(sm).core->sweeps_done(), 1u);
}

TEST_P(BringUp, ASecondSweepSetsNothing) {
  sim::Simulation harness(*Make(GetParam()));
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  harness.fabric().ResetStats();
  harness.Post(sm, sweep::SweepCommand{1, true});
  ASSERT_TRUE(harness.RunUntil([&] { return !harness.manager(sm).finished.empty(); }));
  EXPECT_EQ(harness.fabric().stats().sets(), 0u);
  EXPECT_GT(harness.fabric().stats().gets(), 0u);
}

TEST(MisplacedCables, AreReportedAndTheSubnetComesUp) {
  sim::Simulation harness(*Make("superpod:sus=2,hosts=4,rails=4,swap-cables=1,seed=3"));
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  ExpectHealthy(harness);
  const auto misplaced = [&] {
    std::vector<std::string> found;
    for (const sweep::Problem& problem : harness.manager(sm).view->problems)
      if (problem.kind == sweep::ProblemKind::kMisplacedCable)
        found.push_back(problem.subject.name + " " + problem.message);
    return found;
  };
  EXPECT_THAT(misplaced(),
              testing::ElementsAre("node0003 mlx5_2 hangs on su1-rail3-leaf/3, expected on "
                                   "su1-rail2-leaf",
                                   "node0003 mlx5_3 hangs on su1-rail2-leaf/3, expected on "
                                   "su1-rail3-leaf"));
  // Still there after another sweep, and once only.
  harness.Post(sm, sweep::SweepCommand{1, true});
  ASSERT_TRUE(harness.RunUntil([&] { return !harness.manager(sm).finished.empty(); }));
  EXPECT_EQ(misplaced().size(), 2u);
}

TEST_P(BringUp, ARestartKeepsLidsAndSetsClientReregisterOncePerEndPort) {
  sim::Simulation harness(*Make(GetParam()));
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  const auto before = *harness.manager(sm).store.LoadLids();
  harness.Kill(sm);
  harness.RunFor(std::chrono::seconds(1));
  SetWatch watch;
  harness.fabric().SetObserver(&watch);
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  EXPECT_EQ(*harness.manager(sm).store.LoadLids(), before);
  EXPECT_THAT(watch.others, IsEmpty());
  size_t ca_ports = 0;
  for (uint32_t i = 0; i < harness.fabric().node_index_end(); ++i) {
    const sim::SimDevice* device = harness.fabric().device(NodeIndex(i));
    if (device->IsSwitch()) continue;
    for (uint8_t num = 1; num <= device->last_port().value(); ++num) {
      const PortRef port{NodeIndex(i), PortNum(num)};
      const bool able =
          (device->port(port.port).info.capability_mask & wire::kCapIsClientReregister) != 0;
      ca_ports += able ? 1 : 0;
      EXPECT_EQ(watch.reregisters[port], able ? 1 : 0) << device->description();
    }
  }
  EXPECT_GT(ca_ports, 0u);
  ExpectHealthy(harness);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BringUp,
                         testing::Values("superpod:sus=1,hosts=4,rails=4",
                                         "fat-tree:radix=4,levels=2", "fat-tree:radix=4,levels=3",
                                         "superpod:sus=2,hosts=8,rails=2"));

TEST(BringUpOptions, LmcGivesEveryPortAlignedLidsThatAllArrive) {
  sim::Simulation harness(*Make("fat-tree:radix=4,levels=3"));
  sweep::CoreOptions options;
  options.lmc = 2;
  const size_t sm = harness.Add(options);
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
  ExpectHealthy(harness);
}

TEST(BringUpOptions, EachCableIsProbedFromOneEndOnly) {
  const auto topology = Make("fat-tree:radix=8,levels=3");
  sim::Simulation harness(*topology);
  const size_t sm = harness.Add({});
  harness.Start(sm);
  ASSERT_TRUE(harness.RunUntilUp(sm));
  size_t cables = harness.fabric().ListCables().size();
  EXPECT_EQ(harness.fabric().stats().smps.at(wire::AttributeId::kNodeInfo).gets, cables + 1);
}

TEST(BringUpOptions, NothingIsProgrammedBeforeItsLidsAreDurable) {
  sim::Simulation harness(*Make("superpod:sus=1,hosts=4,rails=2"));
  const size_t sm = harness.Add({});
  harness.manager(sm).store.FailWrites(absl::InternalError("disk full"));
  harness.Start(sm);
  harness.RunFor(std::chrono::seconds(60));  // Many sweeps are tried.
  EXPECT_EQ(harness.fabric().stats().sets(), 0u);
  EXPECT_FALSE(harness.manager(sm).core->subnet_up());
  harness.manager(sm).store.FailWrites(absl::OkStatus());
  ASSERT_TRUE(harness.RunUntilUp(sm, std::chrono::seconds(120))) << "it is tried again by itself";
  EXPECT_THAT(sim::LidFaults(harness.fabric()), IsEmpty());
  EXPECT_EQ(harness.manager(sm).store.LoadLids()->size(),
            harness.manager(sm).view->lids->port_count());
}

TEST(BringUpOptions, ASweepThatStartsDuringAWriteWaitsForOneOfItsOwn) {
  sim::Simulation harness(*Make("superpod:sus=1,hosts=4,rails=2"));
  const size_t sm = harness.Add({});
  harness.manager(sm).executor.store_time = std::chrono::seconds(2);
  harness.Start(sm);
  harness.RunFor(std::chrono::seconds(1));
  harness.Post(sm, sweep::OptionsChanged{harness.manager(sm).options});
  harness.RunFor(std::chrono::milliseconds(500));
  EXPECT_EQ(harness.fabric().stats().sets(), 0u);
  EXPECT_TRUE(harness.manager(sm).store.LoadLids()->empty());
  ASSERT_TRUE(harness.RunUntilUp(sm));
  EXPECT_EQ(harness.manager(sm).store.LoadLids()->size(),
            harness.manager(sm).view->lids->port_count());
}

TEST(BringUpOptions, AnUnlinkedHostComesUpOnceItIsLinked) {
  sim::Simulation harness(*Make("superpod:sus=1,hosts=4,rails=2"));
  const PortRef host = harness.fabric().DefaultHostPort();
  ASSERT_TRUE(harness.fabric().Unlink(harness.now(), host).ok());
  const size_t sm = harness.Add({}, host);
  harness.Start(sm);
  harness.RunFor(std::chrono::seconds(5));
  EXPECT_FALSE(harness.manager(sm).core->subnet_up());
  ASSERT_TRUE(harness.fabric().Link(harness.now(), host).ok());
  EXPECT_TRUE(harness.RunUntilUp(sm, std::chrono::seconds(90)));
}

}  // namespace
}  // namespace fabricd::test
