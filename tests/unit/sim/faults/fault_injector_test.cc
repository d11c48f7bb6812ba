// SPDX-License-Identifier: Apache-2.0
// Places and the FaultInjector: that a cut cuts, and that the faults end.
#include "sim/faults/fault_injector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/faults/places.h"
#include "tests/unit/sim/generate/generated.h"

namespace fabricd::sim {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kTree = "fat-tree:radix=4,levels=3";  // 16 hosts, 20 switches, 48 cables.

size_t Plugged(const Simulation& simulation, const Places& places) {
  const auto& cables = places.cables();
  return std::count_if(cables.begin(), cables.end(), [&](PortRef cable) {
    return !simulation.fabric().LinkedPeer(cable).IsNone();
  });
}

class PlacesTest : public ::testing::Test {
 protected:
  Simulation simulation_{*Made(kTree)};
  Places places_{simulation_.fabric()};
  Rng rng_{7};
};

TEST_F(PlacesTest, NamesEachNodeAndCableOnce) {
  EXPECT_THAT(places_.nodes(), SizeIs(36));
  EXPECT_THAT(places_.cables(), SizeIs(48));
  std::set<PortRef> ends;
  for (PortRef cable : places_.cables()) {
    ends.insert(cable);
    ends.insert(simulation_.fabric().LinkedPeer(cable));
  }
  EXPECT_THAT(ends, SizeIs(96));
}

TEST_F(PlacesTest, GivesNoHostTwice) {
  for (int i = 0; i < 15; ++i) places_.TakeSomeHost(rng_);
  const PortRef from = places_.taken().front();
  const PortRef to = places_.MoveToSomeHost(from, rng_);
  EXPECT_EQ(places_.taken().front(), to);
  places_.TakeSomeHost(rng_);
  EXPECT_EQ(places_.taken().back(), from) << "the only one left";
  std::set<NodeIndex> nodes;
  for (PortRef port : places_.taken()) nodes.insert(port.node);
  EXPECT_THAT(nodes, SizeIs(16));
}

TEST_F(PlacesTest, AnUnresponsiveLinkIsNoConnection) {
  const PortRef here = places_.TakeSomeHost(rng_);
  places_.TakeSomeHost(rng_);
  EXPECT_TRUE(places_.AllTogether());
  simulation_.fabric().SetLinkLoss(here, 1);
  EXPECT_FALSE(places_.AllTogether());
  simulation_.fabric().SetLinkLoss(here, 0);
  EXPECT_TRUE(places_.AllTogether());
}

TEST_F(PlacesTest, ACutCutsOff) {
  const PortRef here = places_.TakeSomeHost(rng_);
  const PortRef there = places_.TakeSomeHost(rng_);
  EXPECT_THAT(places_.CutBetween(here, there, 1), SizeIs(1)) << "the host alone";
  for (size_t size = 1; size <= 18; ++size) {
    const std::vector<PortRef> cut = places_.CutBetween(here, there, size);
    EXPECT_LT(cut.size(), places_.cables().size() / 2) << size;
    for (PortRef cable : cut) simulation_.fabric().SetLinkLoss(cable, 1);
    EXPECT_FALSE(places_.AllTogether()) << size;
    for (PortRef cable : cut) simulation_.fabric().SetLinkLoss(cable, 0);
  }
}

// Only faults of the cables and nodes, and many of them.
Faults Heavy() {
  Faults faults{};
  faults.sick_links = 5;
  faults.sick_loss = 0.5;
  faults.phase_s = 20;
  faults.flaps = faults.mutes = faults.reboots = 10;
  faults.departures = faults.outages = faults.partitions = 10;
  faults.odd_devices = 10;
  faults.cuts = 3;
  faults.cut_gap_ms = 50;
  faults.deaths = faults.switch_reboots = faults.nic_flaps = faults.trains = 5;
  faults.train_period_s = 2;
  faults.train_down = 0.3;
  faults.storms = 2;
  faults.storm_rate = 100;
  faults.storm_s = 1;
  faults.counter_clears = faults.host_reboots = 10;
  return faults;
}

class FaultInjectorTest : public PlacesTest {
 protected:
  void PlanAll() {
    injector_.Start();
    places_.TakeSomeHost(rng_);
    places_.TakeSomeHost(rng_);
    injector_.Plan();
    injector_.PlanPartitions();
  }
  bool AnyLoss() const {
    const auto& cables = places_.cables();
    return std::any_of(cables.begin(), cables.end(),
                       [&](PortRef cable) { return simulation_.fabric().link_loss(cable) > 0; });
  }

  const Faults faults_ = Heavy();
  std::vector<std::string> story_;
  FaultInjector injector_{simulation_, places_, faults_, rng_,
                          [this](const std::string& text) { story_.push_back(text); }};
};

TEST_F(FaultInjectorTest, EveryKindHappens) {
  PlanAll();
  simulation_.RunFor(seconds(60));
  for (const char* what :
       {"pulled", "plugged", "falls silent", "speaks again", "reboots", "loses power", "has power",
        "partition:", "the partition is over", "storm of traps",
        "another program clears the counters of", "reboots with its host"})
    EXPECT_THAT(story_, Contains(HasSubstr(what)));
}

TEST_F(FaultInjectorTest, AfterStopAllIsThereAndStays) {
  PlanAll();
  simulation_.RunUntil([&] { return injector_.partitioned(); });
  simulation_.RunFor(seconds(1));
  ASSERT_TRUE(injector_.partitioned());
  EXPECT_TRUE(AnyLoss());
  EXPECT_LT(Plugged(simulation_, places_), 48u);
  injector_.Stop();
  EXPECT_FALSE(injector_.partitioned());
  EXPECT_FALSE(AnyLoss());
  simulation_.RunFor(seconds(10));  // Nodes boot, links train.
  EXPECT_EQ(Plugged(simulation_, places_), 48u);
  // What was planned for later falls flat.
  const auto disturbed = [&] {
    return AnyLoss() || injector_.partitioned() || Plugged(simulation_, places_) < 48;
  };
  EXPECT_FALSE(simulation_.RunUntil(disturbed, seconds(60)));
}

}  // namespace
}  // namespace fabricd::sim
