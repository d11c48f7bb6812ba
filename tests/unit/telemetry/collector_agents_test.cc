// SPDX-License-Identifier: Apache-2.0
// What the collector does where agents lack attributes, refuse them or do not answer.
#include <gtest/gtest.h>

#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(CollectorTest, FindsErrorsThatOnlyThePortCountersOfAnHcaHave) {
  PolledFabric polled;  // HCAs of the simulator keep SymbolErrorCounter 0 in 64 bits.
  const PortRef port = polled.Port(kHca, 1);
  polled.Count(port, sim::Counter::kSymbolErrors, 1);
  polled.Begin();
  polled.Run(minutes(3));
  polled.Count(port, sim::Counter::kSymbolErrors, 4);
  polled.Run(minutes(3));
  const auto view = polled.View();
  EXPECT_EQ(view->Find(port)->Total(Counter::kSymbolErrors), 4u);
  EXPECT_EQ(view->Find(port)->SourceOf(Counter::kSymbolErrors), Source::kPortCounters);
  EXPECT_TRUE(view->Find(port)->zero_extended.Has(Counter::kSymbolErrors));
}

TEST(CollectorTest, WithoutPortCountersExtendedTrafficIsReadFromPortCounters) {
  PolledFabric polled({}, "no_extended");
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Count(port, sim::Counter::kXmitData, 500);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kXmitData), 500u);
  EXPECT_EQ(polled.Asked(Ask::kExtended), 0u);
}

TEST(CollectorTest, AnUnansweredAttributeIsNotRequestedForAnHour) {
  PolledFabric polled({}, "no_tick");
  polled.Begin();
  polled.Run(minutes(50));
  const size_t devices = polled.topology->node_count();
  EXPECT_EQ(polled.Asked(Ask::kTick), 2 * devices);  // Each once, and repeated once.
  const auto view = polled.View();
  EXPECT_EQ(view->stats.timeouts_by_ask[static_cast<size_t>(Ask::kTick)], 2 * devices);
  const DeviceRecord* device = view->FindDevice(polled.Node(kLeaf));
  EXPECT_EQ(device->absences[static_cast<size_t>(Ask::kTick)], Absence::kNoAnswer);
  EXPECT_EQ(view->Find(polled.Port(kLeaf, 1))->wait.window, 0u);
}

TEST(CollectorTest, AnUnansweredAttributeIsAbsentUntilAResponse) {
  PolledFabric polled({}, "no_tick,no_vendor");
  const NodeIndex leaf = polled.Node(kLeaf);
  const auto absence = [&](Ask ask) {
    return polled.View()->FindDevice(leaf)->absences[static_cast<size_t>(ask)];
  };
  polled.Begin();
  polled.Run(minutes(50));
  // What depends on it is as absent.
  EXPECT_EQ(absence(Ask::kVendorInfo), absence(Ask::kModule));
  EXPECT_EQ(absence(Ask::kVendorInfo), absence(Ask::kExtPortInfo));
  EXPECT_NE(absence(Ask::kModule), Absence::kNone);
  polled.Run(hours(5));
  EXPECT_EQ(polled.Asked(Ask::kTick), 6 * polled.topology->node_count());  // After 1 h, and 2 more.
  EXPECT_EQ(absence(Ask::kTick), Absence::kNoAnswer);
  polled.Quirks({leaf, PortNum(0)}, "default");
  polled.Run(hours(5));
  EXPECT_EQ(absence(Ask::kTick), Absence::kNone);
}

TEST(CollectorTest, TheTickOfHcasIsReadToo) {
  PolledFabric polled;
  const PortRef port = polled.Port(kHca, 1);
  polled.Begin();
  polled.Run(minutes(2));
  const auto view = polled.View();
  EXPECT_TRUE(view->Find(port)->facts.knows_tick);
  EXPECT_NE(view->Find(port)->wait.window, 0u);
}

TEST(CollectorTest, AnUnresponsiveDeviceIsProbedRarelyAndItsValuesAreUnknown) {
  PolledFabric polled;
  const PortRef port = polled.Port(kHca, 1);
  polled.Begin();
  polled.Run(minutes(2));
  polled.Quirks(port, "unresponsive");
  polled.Run(minutes(10));
  const auto view = polled.View();
  EXPECT_EQ(view->FreshnessOf(*view->Find(port)), Freshness::kUnknown);
  EXPECT_FALSE(view->FindDevice(port.node)->responds);
  EXPECT_EQ(view->FindDevice(port.node)->absences[0], Absence::kNoAnswer);
  EXPECT_LT(view->stats.timeouts, 30u);
  // The others are read as before.
  EXPECT_EQ(view->FreshnessOf(*view->Find(polled.Port(kLeaf, 1))), Freshness::kFresh);
  polled.Quirks(port, "default");
  polled.Run(hours(1));
  EXPECT_EQ(polled.View()->FreshnessOf(*polled.View()->Find(port)), Freshness::kFresh);
}

TEST(CollectorTest, ARefusingAgentIsReportedAsSuch) {
  PolledFabric polled({}, "refusing_pma");
  polled.Begin();
  polled.Run(minutes(5));
  const auto view = polled.View();
  const DeviceRecord* device = view->FindDevice(polled.Node(kLeaf));
  ASSERT_NE(device, nullptr);
  constexpr auto kAsk = static_cast<size_t>(Ask::kClassPortInfo);
  EXPECT_EQ(device->absences[kAsk], Absence::kRefused);
  EXPECT_GT(view->stats.refused_by_ask[kAsk], 0u);
  EXPECT_EQ(view->stats.refused_by_ask[kAsk], view->stats.responses_by_ask[kAsk]);
  const PortRecord* record = view->Find(polled.Port(kLeaf, 1));
  EXPECT_EQ(view->FreshnessOf(*record), Freshness::kNever);
}

TEST(CollectorTest, FollowsTheRedirectionOfClassPortInfo) {
  PolledFabric polled({}, "redirect");
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Count(port, sim::Counter::kRcvErrors, 2);
  polled.Run(minutes(1));
  EXPECT_EQ(polled.Total(port, Counter::kRcvErrors), 2u);
  EXPECT_TRUE(polled.View()->FindDevice(port.node)->redirected);
}

TEST(CollectorTest, ASentinelIsNoValueAndTheOthersOfTheReadingAreGood) {
  PolledFabric polled({}, "sentinels,underflow");
  const PortRef port = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Count(port, sim::Counter::kXmitDiscards, 6);
  polled.Count(port, sim::Counter::kLinkErrorRecovery, 1);
  polled.Run(minutes(1));
  const auto view = polled.View();
  const PortRecord& record = *view->Find(port);
  EXPECT_EQ(record.Total(Counter::kXmitDiscards), 6u);
  EXPECT_EQ(record.Total(Counter::kLinkErrorRecovery), 1u);
  EXPECT_TRUE(record.invalid.Has(Counter::kRcvErrors));
  EXPECT_TRUE(record.invalid.Has(Counter::kXmitInactiveDiscards));
  EXPECT_EQ(record.resets, 0u);
}

TEST(CollectorTest, LossWhileTablesAreWrittenDoesNotMakeADeviceUnresponsive) {
  PolledFabric polled;
  const PortRef port = polled.Port(kHca, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Quirks(port, "unresponsive");
  polled.Tell(CoreLoad{.writing = true});
  polled.Run(minutes(1));
  EXPECT_GT(polled.View()->stats.voided, 0u);
  EXPECT_TRUE(polled.View()->FindDevice(port.node)->responds);
}

TEST(CollectorTest, TimeoutsOfOptionalAttributesAreNoSignOfAnUnresponsiveDevice) {
  PolledFabric polled({.interval = seconds(1)}, "no_tick,vs_key_hidden");
  polled.Begin();
  polled.Run(seconds(2));
  for (int i = 0; i < 100; ++i) {
    polled.Run(std::chrono::milliseconds(100));
    const auto view = polled.View();
    EXPECT_TRUE(view->FindDevice(polled.Node(kLeaf))->responds);
    EXPECT_EQ(view->FreshnessOf(*view->Find(polled.Port(kLeaf, 1))), Freshness::kFresh);
    EXPECT_GE(view->stats.window, kFirstWindow);
  }
  EXPECT_GT(polled.View()->stats.timeouts, 8u);
}

TEST(CollectorTest, ADeviceThatIsKeyedStillAnswersPerformanceManagement) {
  PolledFabric polled({.interval = seconds(1), .ber_interval = seconds(10)});
  polled.Begin();
  polled.Run(seconds(30));
  const uint64_t before = polled.View()->stats.timeouts;
  polled.Quirks(polled.Port(kLeaf, 1), "vs_key_hidden");
  for (int i = 0; i < 200; ++i) {
    polled.Run(std::chrono::milliseconds(100));
    EXPECT_TRUE(polled.View()->FindDevice(polled.Node(kLeaf))->responds) << i;
  }
  EXPECT_GT(polled.View()->stats.timeouts, before);
}

TEST(CollectorTest, RegistersAreReadWhereTheDeviceReportsThem) {
  PolledFabric polled({}, "vs_key_hidden");
  const auto all = polled.Discover();
  fabric::SnapshotBuilder builder(*all);
  const PortRef port = polled.Port(kHca, 1);
  wire::PortInfo info = all->port(port)->info;
  info.port_state = wire::PortState::kInit;
  builder.SetPortInfo(port, info);
  polled.Tell(FabricChanged{builder.Build(), State::kPolling});
  polled.Tell(FabricChanged{all, State::kPolling});  // It comes up, which makes much worth reading.
  polled.Run(minutes(2));
  EXPECT_GT(polled.Asked(Ask::kVendorInfo), 0u);
  EXPECT_EQ(polled.Asked(Ask::kLinkDown), 0u);
  EXPECT_EQ(polled.Asked(Ask::kModule), 0u);
}

TEST(CollectorTest, VendorAttributesAreAskedOfDevicesOfTheirVendorsOnly) {
  for (const uint32_t vendor : {0x0002C9u, 0x0008F1u, 0x001175u, 0u}) {
    PolledFabric polled;
    polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) {
      for (uint32_t i = 0; i < builder.node_index_end(); ++i) {
        wire::NodeInfo info = builder.node(NodeIndex(i))->info;
        info.vendor_id = vendor;
        builder.PutNode(info);
      }
    };
    size_t asked = 0;
    polled.on_send = [&](const mad::OutgoingMad& mad) { asked += mad.agent != mad::Agent::kPerf; };
    polled.Begin();
    polled.Run(minutes(10));
    const bool is_known = vendor == 0x0002C9 || vendor == 0x0008F1;
    EXPECT_EQ(asked > 0, is_known) << vendor;
    const auto view = polled.View();
    const DeviceRecord* device = view->FindDevice(polled.Node(kLeaf));
    EXPECT_EQ(device->absences[static_cast<size_t>(Ask::kBer)],
              is_known ? Absence::kNone : Absence::kOtherVendor);
    EXPECT_EQ(view->FreshnessOf(*view->Find(polled.Port(kLeaf, 1))), Freshness::kFresh);
  }
}

TEST(CollectorTest, VendorAttributesAreAskedFromWhenTheConfigurationAllowsThem) {
  Options options;
  options.vendor = false;
  PolledFabric polled(options);
  polled.Begin();
  polled.Run(minutes(10));
  EXPECT_EQ(polled.Asked(Ask::kVendorInfo), 0u);
  EXPECT_EQ(polled.View()->FindDevice(polled.Node(kLeaf))->absences[static_cast<size_t>(Ask::kBer)],
            Absence::kNotAllowed);
  options.vendor = true;
  polled.Tell(NewOptions{options});
  polled.Run(minutes(10));
  EXPECT_GT(polled.Asked(Ask::kBer), 0u);
  options.vendor = false;
  polled.Tell(NewOptions{options});
  const uint64_t asked = polled.Asked(Ask::kBer);
  polled.Run(minutes(10));
  EXPECT_EQ(polled.Asked(Ask::kBer), asked);
}

}  // namespace
}  // namespace fabricd::telemetry
