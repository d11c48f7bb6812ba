// SPDX-License-Identifier: Apache-2.0
// The collector against the simulator's agents, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(CollectorTest, CountsIncreasesSinceTheFirstReading) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Count(port, sim::Counter::kRcvErrors, 7);  // Before anybody looked.
  polled.Begin();
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kRcvErrors), 0u);
  polled.Count(port, sim::Counter::kRcvErrors, 5);
  polled.Count(port, sim::Counter::kXmitData, 1000);
  polled.Run(minutes(1));
  const auto view = polled.View();
  const PortRecord& record = *view->Find(port);
  EXPECT_EQ(record.Total(Counter::kRcvErrors), 5u);
  EXPECT_EQ(record.Raw(Counter::kRcvErrors), 12u);
  EXPECT_EQ(record.Total(Counter::kXmitData), 1000u);
  EXPECT_EQ(view->FreshnessOf(record), Freshness::kFresh);
  const ErrorLog& errors = view->FindDevice(port.node)->errors;
  ASSERT_EQ(errors.entries().size(), 1u);
  EXPECT_EQ(errors.entries()[0].counter, Counter::kRcvErrors);
  EXPECT_EQ(errors.entries()[0].count, 5u);
  EXPECT_EQ(errors.entries()[0].port, port.port);
}

TEST(CollectorTest, SaysWhenEachPortHasHadItsTurn) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(seconds(10));
  EXPECT_FALSE(polled.View()->HasPolledAll());
  polled.Run(minutes(2));
  EXPECT_TRUE(polled.View()->HasPolledAll());
}

TEST(CollectorTest, ReadsEachActivePortOnceInAnInterval) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(minutes(2));
  const uint64_t before = polled.Asked(Ask::kExtended);
  polled.Run(minutes(1));
  size_t active = 0;
  polled.Discover()->ForEachNode([&](const fabric::Node& node) {
    for (size_t i = 1; i < node.ports.size(); ++i) {
      active += node.ports[i].info.port_state == wire::PortState::kActive;
    }
  });
  EXPECT_EQ(polled.Asked(Ask::kExtended) - before, 2 * active);
}

TEST(CollectorTest, SendsGetsOnlyAndNeverMoreThanTwoToADevice) {
  PolledFabric polled;
  bool only_gets = true;
  polled.on_send = [&](const mad::OutgoingMad& mad) {
    const std::span<const uint8_t, wire::kMadBytes> bytes(mad.payload.data(), wire::kMadBytes);
    const auto header = wire::MadHeader::Decode(bytes);
    only_gets = only_gets && header.method == wire::Method::kGet;
    if (header.management_class == wire::ManagementClass::kVendor &&
        header.modifier == static_cast<uint32_t>(wire::RegisterId::kPpcnt)) {
      const auto vendor = wire::VendorMad::Decode(bytes);
      only_gets =
          only_gets && !wire::ClearsCounters(wire::AccessRegister::Decode(vendor->data).bytes);
    }
  };
  polled.Begin();
  for (int i = 0; i < 5; ++i) {
    polled.Tell(PollNow{1});
    polled.Run(seconds(40));
  }
  EXPECT_TRUE(only_gets);
  EXPECT_EQ(polled.most_to_one, 2);
  EXPECT_LE(polled.most_smps, 1);
}

TEST(CollectorTest, AClearByAnotherToolBeginsAnEpochAndAddsNothing) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Count(port, sim::Counter::kSymbolErrors, 100);
  polled.Begin();
  polled.Run(minutes(1));
  ASSERT_TRUE(polled.fabric.ClearCounters(polled.client.now, port).ok());
  polled.Count(port, sim::Counter::kSymbolErrors, 3);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kSymbolErrors), 0u);
  ASSERT_EQ(polled.epochs.size(), 1u);
  EXPECT_EQ(polled.epochs[0].port, port);
  EXPECT_EQ(polled.epochs[0].cause, EpochCause::kCounterReset);
  polled.Count(port, sim::Counter::kSymbolErrors, 2);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kSymbolErrors), 2u);
}

TEST(CollectorTest, ReadsErrorDetailsWhenErrorsGrow) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(2));
  polled.Count(port, sim::Counter::kRcvLocalPhysicalErrors, 6);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kRcvErrors), 6u);
  EXPECT_EQ(polled.Total(port, Counter::kRcvLocalPhysicalErrors), 6u);
}

TEST(CollectorTest, SendsNothingWhileTheCoreIsBusyForAMinuteAtMost) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(minutes(1));
  polled.Tell(CoreLoad{.busy = true});
  const uint64_t before = polled.View()->stats.requests;
  polled.Run(seconds(59));
  EXPECT_EQ(polled.View()->stats.requests, before);
  polled.Run(seconds(30));
  EXPECT_GT(polled.View()->stats.requests, before);
}

TEST(CollectorTest, StandbyDoesNotPoll) {
  PolledFabric polled;
  polled.Begin(State::kStandby);
  polled.Run(minutes(2));
  EXPECT_EQ(polled.View()->stats.requests, 0u);
  EXPECT_EQ(polled.View()->state, State::kStandby);
  polled.Tell(PollNow{7});
  EXPECT_EQ(polled.passes_refused, std::vector<uint64_t>{7});
  EXPECT_TRUE(polled.passes_done.empty());
}

TEST(CollectorTest, AStandbyPollsIfConfigured) {
  PolledFabric polled({.as_standby = true});
  polled.Begin(State::kStandby);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.View()->state, State::kPolling);
  EXPECT_GT(polled.View()->stats.requests, 0u);
  polled.Tell(NewOptions{});
  EXPECT_EQ(polled.View()->state, State::kStandby);
  const uint64_t before = polled.View()->stats.requests;
  polled.Run(minutes(1));
  EXPECT_EQ(polled.View()->stats.requests, before);
  polled.Tell(NewOptions{{.as_standby = true}});
  polled.Run(minutes(1));
  EXPECT_EQ(polled.View()->state, State::kPolling);
  EXPECT_GT(polled.View()->stats.requests, before);
}

TEST(CollectorTest, APassOnDemandEndsWherePollingDoes) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(minutes(1));
  polled.Tell(PollNow{7});
  polled.Begin(State::kStandby);
  EXPECT_EQ(polled.passes_refused, std::vector<uint64_t>{7});
}

TEST(CollectorTest, CountsPassesOfTheScheduleAndOnDemand) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(seconds(95));
  EXPECT_EQ(polled.View()->stats.passes, 3u);
  polled.Tell(PollNow{7});
  polled.Run(seconds(1));
  EXPECT_EQ(polled.View()->stats.passes, 4u);
}

TEST(CollectorTest, APassOnDemandReadsEveryPortAtOnce) {
  PolledFabric polled;
  polled.Begin();
  polled.Run(minutes(1));
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Count(port, sim::Counter::kRcvErrors, 1);
  polled.Tell(PollNow{42});
  polled.Run(std::chrono::milliseconds(10));
  EXPECT_EQ(polled.passes_done, std::vector<uint64_t>{42});
  EXPECT_EQ(polled.Total(port, Counter::kRcvErrors), 1u);
}

TEST(CollectorTest, EveryPortHasABaselineOfPortCountersAfterOneInterval) {
  PolledFabric polled({}, "plain");
  polled.Begin();
  polled.Run(seconds(31));
  for (uint8_t port = 1; port <= 6; ++port) {
    polled.Count(polled.Port(kLeaf, port), sim::Counter::kRcvErrors, 3);
  }
  polled.Run(minutes(3));
  for (uint8_t port = 1; port <= 6; ++port) {
    EXPECT_EQ(polled.Total(polled.Port(kLeaf, port), Counter::kRcvErrors), 3u) << int{port};
  }
}

TEST(CollectorTest, AnEpochReadsBothAttributesAgainAtOnce) {
  PolledFabric polled({.classic_interval = hours(1)}, "plain");
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Count(port, sim::Counter::kXmitData, 1000);
  polled.Run(minutes(1));
  ASSERT_TRUE(polled.fabric.ClearCounters(polled.client.now, port).ok());
  polled.Run(seconds(31));
  ASSERT_EQ(polled.epochs.size(), 1u);
  polled.Count(port, sim::Counter::kRcvErrors, 2);
  polled.Run(minutes(61));
  EXPECT_EQ(polled.Total(port, Counter::kRcvErrors), 2u);
}

TEST(CollectorTest, APassOnDemandWaitsForNothingThatADeviceNeedNotHave) {
  PolledFabric polled({}, "no_tick,vs_key_hidden");
  polled.Begin();
  polled.Tell(PollNow{42});
  polled.Run(std::chrono::milliseconds(100));
  EXPECT_EQ(polled.passes_done, std::vector<uint64_t>{42});  // Beside what is waited for.
}

TEST(CollectorTest, APassOnDemandWaitsForNoDeviceThatIsGivenUp) {
  PolledFabric polled;
  polled.Quirks(polled.Port(kHca, 1), "unresponsive");
  polled.Begin();
  polled.Run(minutes(1));
  polled.Tell(PollNow{42});
  polled.Run(std::chrono::milliseconds(100));
  EXPECT_EQ(polled.passes_done, std::vector<uint64_t>{42});
  // And one that becomes unresponsive meanwhile costs its timeouts.
  polled.Quirks(polled.Port("node0002 mlx5_0", 1), "unresponsive");
  polled.Tell(PollNow{43});
  polled.Run(std::chrono::milliseconds(100));
  EXPECT_EQ(polled.passes_done.size(), 1u);
  polled.Run(seconds(10));
  EXPECT_EQ(polled.passes_done.size(), 2u);
}

TEST(CollectorTest, HistoryHoldsTheRatesOfTheLastHour) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  for (int i = 0; i < 20; ++i) {
    polled.Run(seconds(30));
    polled.Count(port, sim::Counter::kXmitData, 30 * 250'000);  // 1 MB/s.
    polled.Count(port, sim::Counter::kXmitPackets, 30 * 1'000);
  }
  polled.Tell(ReadHistory{1, port, minutes(10)});
  ASSERT_EQ(polled.histories.size(), 1u);
  ASSERT_TRUE(polled.histories[0].known);
  int near = 0;
  for (const HistorySample& sample : polled.histories[0].samples) {
    near += sample.known && std::abs(sample.xmit_bytes - 1e6F) < 1e4F;
  }
  EXPECT_GE(near, 15);
  polled.Tell(ReadHistory{2, {NodeIndex(4711), PortNum(1)}, minutes(10)});
  EXPECT_FALSE(polled.histories[1].known);
}

TEST(CollectorTest, AViewThatIsHeldDoesNotChange) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  const auto held = polled.View();
  polled.Count(port, sim::Counter::kRcvErrors, 9);
  polled.Run(minutes(1));
  EXPECT_EQ(held->Find(port)->Total(Counter::kRcvErrors), 0u);
  EXPECT_EQ(polled.View()->Find(port)->Total(Counter::kRcvErrors), 9u);
}

TEST(CollectorTest, TheRateOfALinkIsThatOfItsData) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) {
    wire::PortInfo info = builder.node(port.node)->port(port.port).info;
    info.link_speed_active = 4;  // QDR: eight bits of ten are data.
    info.link_speed_ext_active = info.link_speed_ext_active2 = 0;
    info.link_width_active = 2;
    builder.SetPortInfo(port, info);
  };
  polled.Begin();
  polled.Run(minutes(1));
  EXPECT_EQ(polled.View()->Find(port)->facts.bytes_per_second, 4'000'000'000u);
}

TEST(CollectorTest, ALinkThatIsDownHasNoRate) {
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  ASSERT_TRUE(polled.fabric.Unlink(polled.client.now, port).ok());
  polled.Begin();
  polled.Run(minutes(10));
  const auto view = polled.View();
  EXPECT_EQ(view->Find(port)->facts.bytes_per_second, 0u);
  EXPECT_NE(view->FreshnessOf(*view->Find(port)), Freshness::kFresh);
}

// After 49.7 days milliseconds no longer fit into 32 bits.
TEST(CollectorTest, RunsForMonths) {
  constexpr std::chrono::milliseconds kEnd{int64_t{1} << 32};
  PolledFabric polled;
  const PortRef port = polled.Port(kLeaf, 1);
  polled.client.now += kEnd - minutes(2);
  polled.Begin();
  polled.Run(minutes(4));
  polled.Count(port, sim::Counter::kRcvErrors, 5);
  polled.Run(minutes(2));
  const auto view = polled.View();
  const PortRecord& record = *view->Find(port);
  EXPECT_EQ(view->FreshnessOf(record), Freshness::kFresh);
  EXPECT_EQ(record.Total(Counter::kRcvErrors), 5u);
  EXPECT_EQ(record.rates.window, view->interval);
  const ErrorLog& errors = view->FindDevice(port.node)->errors;
  EXPECT_EQ(errors.Sum(port.port, Counter::kRcvErrors, view->at - 5 * 60 * 1000), 5u);
  polled.Tell(ReadHistory{1, port, minutes(5)});
  EXPECT_GE(std::ranges::count_if(polled.histories[0].samples, &HistorySample::known), 9);
}

TEST(CollectorTest, ATrapAboutALinkReadsBothItsEndsAtOnce) {
  PolledFabric polled;
  const PortRef leaf = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(2));
  std::map<Lid, int> asked;
  polled.on_send = [&](const mad::OutgoingMad& mad) { ++asked[mad.to.lid]; };
  polled.Tell(LinkTrap{polled.LidOf(leaf.node), leaf.port});
  polled.Run(std::chrono::milliseconds(10));
  const Lid far = polled.LidOf(polled.fabric.LinkedPeer(leaf).node);
  EXPECT_GE(asked[polled.LidOf(leaf.node)], 4);
  EXPECT_GE(asked[far], 4);
  EXPECT_EQ(asked.size(), 2u);
  // Of nobody, and of a port that there is not.
  asked.clear();
  polled.Tell(LinkTrap{Lid(0xBF00), PortNum(1)});
  polled.Tell(LinkTrap{polled.LidOf(leaf.node), PortNum(200)});
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace fabricd::telemetry
