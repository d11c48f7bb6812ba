// SPDX-License-Identifier: Apache-2.0
// Devices whose SMA does not respond while they forward as ever: no pair that is served may lose
// its path because of that. The TableWatch checks the real tables after each Set.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/table_watch.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

class UnresponsiveDevices : public ::testing::Test {
 protected:
  explicit UnresponsiveDevices(
      const std::string& topology = "superpod:sus=2,hosts=4,rails=2,radix=16")
      : simulation(**sim::Generate(topology)) {
    simulation.fabric().SetObserver(&watch);
    simulation.Start(sm);
    EXPECT_TRUE(simulation.RunUntilUp(sm)) << Log();
    simulation.RunFor(seconds(15));
  }
  NodeIndex Find(const char* name) { return *simulation.fabric().FindNode(name); }
  void Silence(const char* name, bool blocks_directed = false) {
    simulation.fabric().SetQuirks(Find(name),
                                  {.unresponsive = true, .blocks_directed = blocks_directed});
  }
  void EndSilence(const char* name) { simulation.fabric().SetQuirks(Find(name), {}); }
  void Sweep(bool heavy) {
    simulation.Post(sm, sweep::SweepCommand{++command, heavy});
    simulation.RunFor(seconds(12));
  }
  const fabric::Node* Known(const char* name) {
    return simulation.manager(sm).view->snapshot->FindNode(
        simulation.fabric().device(Find(name))->guid());
  }
  bool HasEvent(std::string_view type) {
    const auto& events = simulation.manager(sm).events;
    return std::any_of(events.begin(), events.end(),
                       [&](const auto& event) { return event.type == type; });
  }
  void ExpectNothingLost() {
    watch.Look();
    EXPECT_THAT(watch.findings(), IsEmpty()) << Log();
    EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty()) << Log();
    EXPECT_FALSE(HasEvent("NodeVanished")) << Log();
  }
  void ExpectPathsOverRestarts(const std::vector<const char*>& names) {
    for (const char* name : names) {
      Silence(name);
      simulation.Kill(sm);
      simulation.Start(sm);
      ASSERT_TRUE(simulation.RunUntilUp(sm)) << Log();
      simulation.RunFor(seconds(30));
      watch.Look();
      EXPECT_THAT(watch.findings(), IsEmpty()) << Log();
      EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
      EndSilence(name);
      simulation.RunFor(seconds(30));
      EXPECT_NE(Known(name), nullptr) << Log();
    }
  }
  std::string Log() { return LogOf(simulation.manager(sm)); }

  sim::Simulation simulation;
  sim::TableWatch watch{simulation.fabric(), {}};
  size_t sm = simulation.Add({});
  uint64_t command = 0;
};

TEST_F(UnresponsiveDevices, AHostKeepsItsPlaceAndItsPaths) {
  Silence("node0003 mlx5_0");
  Sweep(true);
  ASSERT_NE(Known("node0003 mlx5_0"), nullptr) << Log();
  EXPECT_TRUE(Known("node0003 mlx5_0")->unresponsive);
  EXPECT_TRUE(simulation.manager(sm).view->subnet_up);
  EXPECT_TRUE(HasEvent("SmaUnresponsive"));
  const uint64_t sets = simulation.fabric().stats().sets();
  simulation.RunFor(seconds(60));
  EXPECT_EQ(simulation.fabric().stats().sets(), sets);
  ExpectNothingLost();
  EndSilence("node0003 mlx5_0");
  simulation.RunFor(seconds(15));
  EXPECT_FALSE(Known("node0003 mlx5_0")->unresponsive);
  EXPECT_TRUE(HasEvent("SmaResponsive"));
  ExpectNothingLost();
}

// Neither the host responds nor the switch that could say whether the link is ACTIVE. Clients of a
// port that is gone while its switch is there lose what they have left with the SA.
TEST_F(UnresponsiveDevices, AHostBehindAnUnresponsiveSwitchIsNotLostWhenASetGetsNoResponse) {
  Silence("su2-rail0-leaf", /*blocks_directed=*/true);
  policy::PartitionRequest request;
  request.all = policy::ParsePartitions("Default=0x7fff: ALL=limited, SELF=full;").partitions;
  simulation.Post(sm, sweep::ChangePartitions{1, std::move(request), false, false});
  for (int i = 0; i < 300; ++i) {
    simulation.RunFor(std::chrono::milliseconds(100));
    ASSERT_NE(Known("node0005 mlx5_0"), nullptr) << Log();
  }
  EXPECT_FALSE(HasEvent("NodeVanished")) << Log();
}

TEST_F(UnresponsiveDevices, ASwitchAndAllBehindItKeepTheirPaths) {
  for (const bool blocks_directed : {false, true}) {
    for (const char* name : {"spine1", "su2-rail0-leaf"}) {
      Silence(name, blocks_directed);
      simulation.RunFor(seconds(25));
      Sweep(true);
      ASSERT_NE(Known(name), nullptr) << Log();
      EXPECT_TRUE(Known(name)->unresponsive) << Log();
      EXPECT_TRUE(simulation.manager(sm).view->subnet_up) << Log();
      ExpectNothingLost();
      EndSilence(name);
      simulation.RunFor(seconds(25));
      EXPECT_FALSE(Known(name)->unresponsive) << Log();
      ExpectNothingLost();
    }
  }
}

// Its table cannot be written, so other switches have to choose other paths.
TEST_F(UnresponsiveDevices, ALinkThatFailsMeanwhileIsRoutedAround) {
  Silence("spine1", true);
  simulation.RunFor(seconds(25));
  const PortRef link = Known("su1-rail1-leaf")->ports[9].peer.IsNone()
                           ? PortRef{Find("spine2"), PortNum(1)}
                           : PortRef{Find("su1-rail1-leaf"), PortNum(9)};
  ASSERT_TRUE(simulation.fabric().Unlink(simulation.now(), link).ok());
  simulation.RunFor(seconds(10));
  EXPECT_THAT(watch.findings(), IsEmpty()) << Log();
  EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty()) << Log();
  ASSERT_TRUE(simulation.fabric().Link(simulation.now(), link).ok());
  EndSilence("spine1");
  simulation.RunFor(seconds(60));
  EXPECT_THAT(watch.findings(), IsEmpty()) << Log();
  EXPECT_THAT(sim::TablesUnlikePlan(simulation.fabric(), *simulation.manager(sm).view->snapshot,
                                    *simulation.manager(sm).view->plan),
              IsEmpty());
  ExpectNothingLost();
}

TEST_F(UnresponsiveDevices, CountsAsLostAfterTheGracePeriod) {
  Silence("node0003 mlx5_0");
  Silence("spine1", true);
  Sweep(true);
  EXPECT_FALSE(HasEvent("NodeVanished"));
  simulation.RunFor(seconds(110));
  EXPECT_EQ(Known("node0003 mlx5_0"), nullptr) << Log();
  EXPECT_EQ(Known("spine1"), nullptr) << Log();
  EXPECT_THAT(watch.findings(), IsEmpty());
}

TEST_F(UnresponsiveDevices, ThatRestartCountAsLostAtOnce) {
  Silence("node0003 mlx5_0");
  Sweep(true);
  ASSERT_NE(Known("node0003 mlx5_0"), nullptr);
  ASSERT_TRUE(simulation.fabric().Reboot(simulation.now(), Find("node0003 mlx5_0")).ok());
  simulation.RunFor(seconds(8));
  EXPECT_EQ(Known("node0003 mlx5_0"), nullptr) << Log();
}

// The manager that starts again has never seen them, and its own tables still lead to them.
TEST_F(UnresponsiveDevices, KeepTheirPathsWhenTheManagerRestarts) {
  ExpectPathsOverRestarts({"node0003 mlx5_0", "node0006 mlx5_1"});
}

class UnresponsiveDevicesOfATorus : public UnresponsiveDevices {
 protected:
  UnresponsiveDevicesOfATorus() : UnresponsiveDevices("torus:dims=3x4,hosts=1") {}
};

// The new plan is not the old one, and has no order that old entries could obey.
TEST_F(UnresponsiveDevicesOfATorus, KeepAPathWhenTheManagerRestarts) {
  ExpectPathsOverRestarts({"node0011 mlx5_0", "node0007 mlx5_0"});
}

// Another manager has no record of the LIDs that they have.
TEST_F(UnresponsiveDevices, KeepTheirLidsAndPathsAtATakeover) {
  Silence("node0003 mlx5_0");
  const Lid lid = simulation.fabric().device(Find("node0003 mlx5_0"))->port(PortNum(1)).info.lid;
  const PortRef arriving{Find("node0007 mlx5_0"), PortNum(1)};
  ASSERT_TRUE(simulation.fabric().Reboot(simulation.now(), arriving.node).ok());
  simulation.RunFor(seconds(1));
  simulation.Kill(sm);
  const size_t other = simulation.Add({}, PortRef{Find("node0005 mlx5_0"), PortNum(1)});
  simulation.Start(other);
  ASSERT_TRUE(simulation.RunUntilUp(other)) << LogOf(simulation.manager(other));
  simulation.RunFor(seconds(30));
  EXPECT_THAT(sim::LidFaults(simulation.fabric()), IsEmpty());
  EXPECT_EQ(simulation.fabric().device(Find("node0003 mlx5_0"))->port(PortNum(1)).info.lid, lid);
  watch.Look();
  EXPECT_THAT(watch.findings(), IsEmpty()) << LogOf(simulation.manager(other));
  EndSilence("node0003 mlx5_0");
  simulation.RunFor(seconds(30));
  EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(simulation.fabric()), IsEmpty());
}

TEST_F(UnresponsiveDevices, CountAsLostAtOnceWithoutAGracePeriod) {
  sweep::CoreOptions options;
  options.sweep.unresponsive_grace = Duration::zero();
  simulation.Post(sm, sweep::OptionsChanged{options});
  simulation.RunFor(seconds(10));
  Silence("node0003 mlx5_0");
  Sweep(true);
  EXPECT_EQ(Known("node0003 mlx5_0"), nullptr) << Log();
}

}  // namespace
}  // namespace fabricd::test
