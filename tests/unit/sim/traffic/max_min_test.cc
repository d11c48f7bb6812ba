// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/max_min.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "common/rng.h"
#include "sim/traffic/port_loads.h"

namespace fabricd::sim {
namespace {

using Paths = std::vector<std::vector<uint32_t>>;

TEST(MaxMinTest, FlowsShareTheChannelThatSaturatesFirst) {
  // Three flows over channel 0; the third also over the narrow channel 1.
  const std::vector<double> capacities = {9, 1};
  const auto fair = MaxMinFair(capacities, Paths{{0}, {0}, {0, 1}});
  EXPECT_DOUBLE_EQ(fair[0].rate, 4);
  EXPECT_DOUBLE_EQ(fair[1].rate, 4);
  EXPECT_DOUBLE_EQ(fair[2].rate, 1);
  EXPECT_EQ(fair[0].bottleneck, 0u);
  EXPECT_EQ(fair[2].bottleneck, 1u);
}

TEST(MaxMinTest, AChannelOfNothingStopsItsFlowsOnly) {
  const std::vector<double> capacities = {0, 5};
  const auto fair = MaxMinFair(capacities, Paths{{0, 1}, {1}});
  EXPECT_DOUBLE_EQ(fair[0].rate, 0);
  EXPECT_DOUBLE_EQ(fair[1].rate, 5);
  EXPECT_TRUE(MaxMinFair(capacities, Paths{}).empty());
}

// The definition: no channel carries more than it can, and each flow has a saturated channel on
// which none is faster.
TEST(MaxMinTest, RatesAreMaxMinFair) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    std::vector<double> capacities(1 + rng.Below(20));
    for (double& capacity : capacities) capacity = static_cast<double>(rng.Below(8)) * 50;
    Paths flows(rng.Below(60));
    for (auto& flow : flows) {
      for (uint32_t i = 0; i < capacities.size(); ++i) {
        if (rng.Chance(0.2)) flow.push_back(i);
      }
      if (flow.empty()) flow.push_back(0);
    }
    const auto fair = MaxMinFair(capacities, flows);
    std::vector<double> carried(capacities.size()), fastest(capacities.size());
    for (size_t i = 0; i < flows.size(); ++i) {
      for (uint32_t channel : flows[i]) {
        carried[channel] += fair[i].rate;
        fastest[channel] = std::max(fastest[channel], fair[i].rate);
      }
    }
    for (size_t i = 0; i < capacities.size(); ++i) {
      EXPECT_LE(carried[i], capacities[i] + 1e-6) << "seed " << seed;
    }
    for (size_t i = 0; i < flows.size(); ++i) {
      const uint32_t at = flows[i][fair[i].bottleneck];
      EXPECT_NEAR(carried[at], capacities[at], 1e-6) << "seed " << seed;
      EXPECT_NEAR(fastest[at], fair[i].rate, 1e-6) << "seed " << seed;
    }
  }
}

PortRef At(uint32_t node, uint8_t port) { return {NodeIndex(node), PortNum(port)}; }

// Senders 1 and 2 at switch 10, receiver at switch 11, one trunk between them.
TrafficFlow Through(uint32_t sender, double trunk, double last, double limit) {
  TrafficFlow flow;
  flow.path = {At(sender, 1), At(10, 9), At(11, 1)};
  flow.peers = {At(10, static_cast<uint8_t>(sender)), At(11, 9), At(3, 1)};
  flow.capacities = {400, trunk, last};
  flow.limit = sender;
  flow.limit_gigabits = limit;
  return flow;
}

TEST(PortLoadsTest, ThePortThatFeedsASaturatedOneWaits) {
  const auto loads = LoadsOf({Through(1, 400, 100, 400), Through(2, 400, 100, 400)});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 50);
  const PortLoad trunk = loads.ports.at(At(10, 9));
  EXPECT_DOUBLE_EQ(trunk.xmit_gigabits, 100);
  EXPECT_DOUBLE_EQ(trunk.wait, 0.75);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(11, 9)).rcv_gigabits, 100);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(3, 1)).rcv_gigabits, 100);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(11, 1)).wait, 0);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(1, 1)).wait, 0) << "does not spread";
}

TEST(PortLoadsTest, SendersWaitForASaturatedTrunk) {
  const auto loads = LoadsOf({Through(1, 400, 800, 400), Through(2, 400, 800, 400)});
  EXPECT_DOUBLE_EQ(loads.gigabits[1], 200);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(1, 1)).wait, 0.5);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(10, 9)).wait, 0);
}

// All flows go to the receiver at (3, 1), which takes only this rate.
TrafficFlow ToSlow(uint32_t sender, double taken) {
  TrafficFlow flow = Through(sender, 400, 400, 400);
  flow.receiver_gigabits = taken;
  return flow;
}

TEST(PortLoadsTest, EveryPortOnThePathsToASlowReceiverWaits) {
  const auto loads = LoadsOf({ToSlow(1, 100), ToSlow(2, 100)});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 50);
  const PortLoad leaf = loads.ports.at(At(11, 1));
  EXPECT_DOUBLE_EQ(leaf.xmit_gigabits, 100);
  EXPECT_DOUBLE_EQ(leaf.wait, 0.75) << "the link is free, and there are no credits";
  EXPECT_DOUBLE_EQ(leaf.discarded_gigabits, 0);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(10, 9)).wait, 0.75);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(1, 1)).wait, 0.875);
}

TEST(PortLoadsTest, AFastReceiverCausesNoWait) {
  TrafficFlow flow = ToSlow(1, 100);
  flow.limit_gigabits = 80;
  const auto loads = LoadsOf({flow});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 80);
  for (const auto& [port, load] : loads.ports) EXPECT_EQ(load.wait, 0);
}

TEST(PortLoadsTest, PacketsThatASlowReceiverDelaysAreDiscardedBeforeIt) {
  const auto loads = LoadsOf({ToSlow(1, 2)});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 2);
  const PortLoad leaf = loads.ports.at(At(11, 1));
  EXPECT_DOUBLE_EQ(leaf.xmit_gigabits, 2);
  EXPECT_DOUBLE_EQ(leaf.discarded_gigabits, kHoqShare * 400 - 2);
  EXPECT_DOUBLE_EQ(leaf.wait, 1 - 2.0 / 400);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(3, 1)).rcv_gigabits, 2);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(10, 9)).xmit_gigabits, 8);
}

TEST(PortLoadsTest, FlowsThatShareAPortWithOneThatIsHeldBackGetNoMoreThanIt) {
  TrafficFlow victim = Through(2, 400, 400, 400);
  victim.path.back() = At(11, 2);
  victim.peers.back() = At(4, 1);
  TrafficFlow other = Through(5, 400, 400, 400);  // By another trunk.
  other.path = {At(5, 1), At(10, 8), At(11, 2)};
  other.peers = {At(10, 5), At(11, 8), At(4, 1)};
  const auto loads = LoadsOf({ToSlow(1, 40), victim, other});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 40);
  EXPECT_DOUBLE_EQ(loads.gigabits[1], 40);
  EXPECT_DOUBLE_EQ(loads.gigabits[2], 360) << "takes what the victim leaves";
  EXPECT_DOUBLE_EQ(loads.ports.at(At(10, 9)).wait, 0.8);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(2, 1)).wait, 0.9) << "the victim's sender";
  EXPECT_DOUBLE_EQ(loads.ports.at(At(11, 2)).wait, 0) << "the victim's receiver is not at fault";
}

// Flow 1 to a slow receiver slows flow 2 to another one, which could take 352 Gb/s.
TEST(PortLoadsTest, AReceiverWithFlowsSlowedElsewhereCausesNoWait) {
  TrafficFlow other = ToSlow(2, 352);
  other.path.back() = At(11, 2);
  other.peers.back() = At(4, 1);
  TrafficFlow behind = Through(2, 400, 400, 400);  // Shares only its sender with flow 2.
  behind.path = {At(2, 1), At(10, 8), At(11, 3)};
  behind.peers = {At(10, 2), At(11, 8), At(5, 1)};
  const auto loads = LoadsOf({ToSlow(1, 4), other, behind});
  EXPECT_DOUBLE_EQ(loads.gigabits[1], 8);
  EXPECT_DOUBLE_EQ(loads.ports.at(At(11, 2)).wait, 0) << "no fault of the second receiver";
  EXPECT_DOUBLE_EQ(loads.gigabits[2], 392);
}

TEST(PortLoadsTest, AFlowLimitedAtItsSenderCausesNoWait) {
  const auto loads = LoadsOf({Through(1, 400, 400, 80), Through(2, 400, 400, 40)});
  EXPECT_DOUBLE_EQ(loads.gigabits[0], 80);
  EXPECT_DOUBLE_EQ(loads.gigabits[1], 40);
  for (const auto& [port, load] : loads.ports) EXPECT_EQ(load.wait, 0);
}

}  // namespace
}  // namespace fabricd::sim
