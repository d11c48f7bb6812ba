// SPDX-License-Identifier: Apache-2.0
// Several subnet managers in one subnet: one master, and it is the right one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/join.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::IsEmpty;
using wire::SmState;

class CoreElection : public testing::Test {
 protected:
  CoreElection() : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")) {}

  size_t Join(const std::string& host, uint8_t priority) {
    sweep::CoreOptions options;
    options.sm.priority = priority;
    options.sm.polling_timeout = std::chrono::seconds(1);
    return test::Join(harness_, host, options);
  }
  SmState State(size_t sm) { return harness_.manager(sm).core->sm_state(); }
  bool RunUntilStates(std::initializer_list<std::pair<size_t, SmState>> wanted) {
    return harness_.RunUntil([&] {
      for (const auto& [sm, state] : wanted)
        if (State(sm) != state) return false;
      return true;
    });
  }
  sim::Simulation harness_;
};

TEST_F(CoreElection, ALowerSmThatJoinsIsStandbyAndSendsNoSet) {
  const size_t master = Join("node0001 mlx5_0", 5);
  ASSERT_TRUE(harness_.RunUntilUp(master)) << LogOf(harness_.manager(master));
  harness_.RunFor(std::chrono::seconds(1));
  harness_.fabric().ResetStats();
  const size_t lower = Join("node0002 mlx5_0", 1);
  ASSERT_TRUE(RunUntilStates({{lower, SmState::kStandby}}));
  harness_.RunFor(std::chrono::seconds(20));
  EXPECT_EQ(State(master), SmState::kMaster);
  EXPECT_EQ(State(lower), SmState::kStandby);
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
}

TEST_F(CoreElection, AMasterHandsOverToAHigherSmThatJoins) {
  const size_t old_master = Join("node0001 mlx5_0", 1);
  ASSERT_TRUE(harness_.RunUntilUp(old_master)) << LogOf(harness_.manager(old_master));
  const size_t higher = Join("node0002 mlx5_0", 5);
  ASSERT_TRUE(RunUntilStates({{old_master, SmState::kStandby}, {higher, SmState::kMaster}}));
  ASSERT_TRUE(harness_.RunUntilUp(higher)) << LogOf(harness_.manager(higher));
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(CoreElection, ATakeoverWritesNoForwardingTables) {
  const size_t master = Join("node0001 mlx5_0", 5);
  ASSERT_TRUE(harness_.RunUntilUp(master)) << LogOf(harness_.manager(master));
  const size_t standby = Join("node0002 mlx5_0", 1);
  ASSERT_TRUE(RunUntilStates({{standby, SmState::kStandby}}));
  harness_.RunFor(std::chrono::seconds(3));
  harness_.Kill(master);
  harness_.fabric().ResetStats();
  ASSERT_TRUE(RunUntilStates({{standby, SmState::kMaster}}));
  ASSERT_TRUE(harness_.RunUntilUp(standby)) << LogOf(harness_.manager(standby));
  const auto& smps = harness_.fabric().stats().smps;
  const auto lft = smps.find(wire::AttributeId::kLinearForwardingTable);
  EXPECT_TRUE(lft == smps.end() || lft->second.sets == 0);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(CoreElection, OfTwoSmsThatStartTogetherTheHigherBecomesMaster) {
  const size_t low = Join("node0001 mlx5_0", 1);
  const size_t high = Join("node0002 mlx5_0", 2);
  ASSERT_TRUE(RunUntilStates({{low, SmState::kStandby}, {high, SmState::kMaster}}));
  ASSERT_TRUE(harness_.RunUntilUp(high)) << LogOf(harness_.manager(high));
  harness_.RunFor(std::chrono::seconds(20));
  EXPECT_EQ(State(low), SmState::kStandby);
  EXPECT_EQ(State(high), SmState::kMaster);
}

TEST_F(CoreElection, AThirdPartyMasterKeepsTheSubnet) {
  const auto port = harness_.fabric().FindHostPort("node0003 mlx5_0");
  wire::SmInfo foreign;
  foreign.guid = Guid(1);
  foreign.state = SmState::kMaster;
  foreign.priority = 0;
  harness_.fabric().SetScriptedSm(harness_.now(), *port, foreign);
  const size_t sm = Join("node0001 mlx5_0", 15);
  ASSERT_TRUE(RunUntilStates({{sm, SmState::kStandby}}));
  harness_.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(State(sm), SmState::kStandby);
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
}

TEST_F(CoreElection, TwoDiscoveringSmsAgreeWhenOnlyThePreMasterCheckConnects) {
  for (int offset = 0; offset < 20; ++offset) {
    SCOPED_TRACE(offset);
    sim::Simulation simulation(**sim::Generate("superpod:sus=1,hosts=4,rails=2"));
    simulation.fabric().SetMadFaults({.delay = std::chrono::microseconds(5)});
    // SMInfo is lost through all attempts of both discoveries (they take 5.6 s, for the simulated
    // kernel saw the answers); only the last look hears of the other.
    const auto deaf = [&](mad::IncomingMad& mad) {
      const auto smp = wire::Smp::Decode(
          std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
      const bool answer = smp && smp->attribute == wire::AttributeId::kSmInfo &&
                          smp->method == wire::Method::kGetResp;
      return !answer || simulation.now() > Instant(std::chrono::seconds(7));
    };
    size_t sms[2];
    for (int i = 0; i < 2; ++i) {
      sweep::CoreOptions options;
      options.sm.priority = static_cast<uint8_t>(i);
      sms[i] = simulation.Add(options, *simulation.fabric().FindHostPort(
                                           i == 0 ? "node0001 mlx5_0" : "node0002 mlx5_0"));
      simulation.manager(sms[i]).tamper = deaf;
      simulation.Start(sms[i]);
      simulation.RunFor(std::chrono::microseconds(10 * offset));
    }
    const auto is_master = [&](size_t sm) {
      return simulation.manager(sm).core->sm_state() == SmState::kMaster;
    };
    EXPECT_FALSE(simulation.RunUntil([&] { return is_master(sms[0]) && is_master(sms[1]); },
                                     std::chrono::seconds(30)))
        << "not for a moment";
    int masters = 0;
    for (size_t sm : sms) {
      masters += simulation.manager(sm).core->sm_state() == SmState::kMaster ? 1 : 0;
      EXPECT_LT(simulation.manager(sm).mads_sent, 3000u);
    }
    EXPECT_EQ(masters, 1);
    EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
  }
}

TEST_F(CoreElection, AToolOnTheOwnNodeIsNoOtherSm) {
  const size_t sm = harness_.Add({});
  harness_.Start(sm);
  wire::Smp ask;
  ask.attribute = wire::AttributeId::kSmInfo;
  ask.path = wire::DirectedPath();
  mad::IncomingMad mad;
  mad.payload.resize(wire::kMadBytes);
  ask.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  harness_.Post(sm, mad);
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
  EXPECT_THAT(harness_.manager(sm).view->sm.remote, IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
