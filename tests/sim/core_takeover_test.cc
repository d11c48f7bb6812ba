// SPDX-License-Identifier: Apache-2.0
// What a killed master costs, with the configuration's own defaults: how long until the next one
// has the subnet up, what it writes, and that no master is ever taken for dead that is not.
#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/join.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;
using wire::SmState;

sweep::CoreOptions Defaults(uint8_t priority) {
  const config::Sm configured;
  sweep::CoreOptions options;
  options.sm.priority = priority;
  options.sm.polling_timeout = configured.polling_timeout;
  options.sm.polling_retries = configured.polling_retries;
  return options;
}

// Two fabricds, the first of them master, the other standing by.
struct Pair {
  Pair(const std::string& topology, const char* first, const char* second)
      : simulation(**sim::Generate(topology)) {
    master = Join(simulation, first, Defaults(5));
    EXPECT_TRUE(simulation.RunUntilUp(master)) << LogOf(simulation.manager(master));
    standby = Join(simulation, second, Defaults(4));
    EXPECT_TRUE(simulation.RunUntil([&] { return State(standby) == SmState::kStandby; }));
    simulation.RunFor(std::chrono::seconds(12));
  }
  SmState State(size_t sm) { return simulation.manager(sm).core->sm_state(); }
  size_t EndPorts() {
    size_t ports = 0;
    for (uint32_t i = 0; i < simulation.fabric().node_index_end(); ++i)
      ports += simulation.fabric().device(NodeIndex(i)) != nullptr;
    return ports;
  }

  sim::Simulation simulation;
  size_t master = 0, standby = 0;
};

TEST(CoreTakeover, SetsMasterSmLidOncePerEndPortOnly) {
  Pair pair("superpod:sus=2,hosts=8,rails=4", "node0001 mlx5_0", "node0009 mlx5_0");
  pair.simulation.Kill(pair.master);
  pair.simulation.fabric().ResetStats();
  ASSERT_TRUE(pair.simulation.RunUntilUp(pair.standby))
      << LogOf(pair.simulation.manager(pair.standby));
  const auto& stats = pair.simulation.fabric().stats();
  for (const auto& [attribute, count] : stats.smps)
    EXPECT_EQ(count.sets, attribute == wire::AttributeId::kPortInfo ? pair.EndPorts() : 0u)
        << wire::AttributeName(attribute);
  EXPECT_EQ(pair.EndPorts(), 74u);
  EXPECT_THAT(sim::BrokenPairs(pair.simulation.fabric()), IsEmpty());
}

TEST(CoreTakeover, AThousandPortsAreUpAgainInThreeSeconds) {
  Pair pair("superpod:sus=4", "node0001 mlx5_0", "node0033 mlx5_0");
  ASSERT_GT(pair.EndPorts(), 1024u);
  pair.simulation.fabric().SetMadFaults({.delay = std::chrono::microseconds(5)});
  // At several places between two polls; right after one is the latest to be noticed.
  Duration longest{};
  for (int kill = 0; kill < 4; ++kill) {
    pair.simulation.RunFor(milliseconds(130 * (kill + 1)));
    pair.simulation.Kill(pair.master);
    const Instant killed = pair.simulation.now();
    ASSERT_TRUE(pair.simulation.RunUntilUp(pair.standby));
    longest = std::max(longest, pair.simulation.now() - killed);
    // The higher one comes back, and is handed the subnet.
    pair.simulation.Start(pair.master);
    ASSERT_TRUE(pair.simulation.RunUntil([&] {
      return pair.State(pair.standby) == SmState::kStandby &&
             pair.simulation.manager(pair.master).core->subnet_up();
    }));
    pair.simulation.RunFor(std::chrono::seconds(2));
  }
  EXPECT_LE(longest, std::chrono::seconds(3));
  RecordProperty("longest_ms", static_cast<int>(longest / milliseconds(1)));
}

// A cable comes back when the next master has read its switches, and is not master yet.
class CableBackInATakeover : public testing::Test {
 protected:
  // Returns when `next` has the subnet up.
  void RunTakeover(sim::Simulation& simulation, size_t old, size_t next) {
    auto& fabric = simulation.fabric();
    const auto cables = fabric.ListCables();
    const auto cable = std::find_if(cables.begin(), cables.end(), [&](const sim::SimCable& each) {
      return fabric.device(*fabric.FindNode(each.a.node))->IsSwitch() &&
             fabric.device(*fabric.FindNode(each.b.node))->IsSwitch();
    });
    ASSERT_NE(cable, cables.end());
    const PortRef end{*fabric.FindNode(cable->a.node), cable->a.port};
    ASSERT_TRUE(fabric.Unlink(simulation.now(), end).ok());
    simulation.RunFor(std::chrono::seconds(30));
    ASSERT_TRUE(simulation.RunUntilUp(old)) << LogOf(simulation.manager(old));
    fabric.SetQuirks(fabric.FindHostPort("node0008 mlx5_1")->node,
                     {.answer_delay = milliseconds(150)});
    simulation.Kill(old);
    if (next == old) simulation.Start(next);
    const sweep::Core& core = *simulation.manager(next).core;
    ASSERT_TRUE(simulation.RunUntil([&] { return core.phase() == sweep::Phase::kDiscovering; }));
    simulation.RunFor(milliseconds(100));
    ASSERT_NE(core.sm_state(), SmState::kMaster);
    ASSERT_TRUE(fabric.Link(simulation.now(), end).ok());
    ASSERT_TRUE(simulation.RunUntil([&] { return core.sm_state() == SmState::kMaster; }));
    EXPECT_THAT(sim::PortsNotActive(fabric), testing::Not(IsEmpty()));
    ASSERT_TRUE(simulation.RunUntilUp(next)) << LogOf(simulation.manager(next));
  }
};

TEST_F(CableBackInATakeover, IsReportedToTheNextMasterSinceNoneElseRepressesTheTrap) {
  sim::Simulation simulation(**sim::Generate("superpod:sus=2,hosts=4,rails=2"));
  const size_t sm = Join(simulation, "node0001 mlx5_0", Defaults(5));
  ASSERT_TRUE(simulation.RunUntilUp(sm));
  RunTakeover(simulation, sm, sm);
  simulation.RunFor(milliseconds(800));
  EXPECT_THAT(sim::PortsNotActive(simulation.fabric()), IsEmpty()) << LogOf(simulation.manager(sm));
}

TEST_F(CableBackInATakeover, IsFoundSoonAfterwardsWhereItsTrapsAreLost) {
  Pair pair("superpod:sus=2,hosts=4,rails=2", "node0001 mlx5_0", "node0005 mlx5_0");
  pair.simulation.fabric().SetMadFaults({.trap_loss = 1});
  RunTakeover(pair.simulation, pair.master, pair.standby);
  pair.simulation.RunFor(milliseconds(500));
  EXPECT_THAT(sim::PortsNotActive(pair.simulation.fabric()), IsEmpty())
      << LogOf(pair.simulation.manager(pair.standby));
}

// A takeover needs twelve MADs in a row to be lost with their responses: the four attempts of the
// poll, those of the SMInfo Get of the discovery that follows, and those of the pre-master check.
// At a loss of 5 % each direction that is 0.0975^12 = 7e-13 a poll, and 5e-6 in the 7.2 million
// polls of a thousand hours.
TEST(CoreTakeover, NoTakeoverFromARespondingMasterAtFivePercentLoss) {
  const bool nightly = std::getenv("FABRICD_NIGHTLY") != nullptr;
  Pair pair("superpod:sus=1,hosts=2,rails=1", "node0001 mlx5_0", "node0002 mlx5_0");
  pair.simulation.fabric().SetMadFaults({.loss = 0.05});
  for (int hour = 0; hour < (nightly ? 1000 : 1); ++hour) {
    pair.simulation.RunFor(std::chrono::hours(1));
    ASSERT_EQ(pair.State(pair.master), SmState::kMaster) << "after " << hour << " hours";
    ASSERT_NE(pair.State(pair.standby), SmState::kMaster) << "after " << hour << " hours";
    for (const size_t sm : {pair.master, pair.standby})
      for (const auto& record : pair.simulation.manager(sm).log)
        ASSERT_THAT(record.text, testing::Not(testing::HasSubstr("MASTER -> STANDBY"))) << hour;
    for (const size_t sm : {pair.master, pair.standby}) pair.simulation.manager(sm).log.clear();
  }
  // It has been in doubt, or nothing was tested.
  EXPECT_GT(pair.simulation.fabric().stats().lost_by_fault, 1000u);
}

}  // namespace
}  // namespace fabricd::test
