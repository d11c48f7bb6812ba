// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/evidence_maker.h"

#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"
#include "tests/unit/telemetry/evidence/view_maker.h"
#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using policy::EndEvidence;
using policy::EndRole;
using policy::LinkEvidence;
using policy::Signal;
using policy::Window;

constexpr Millis kSecond = ViewMaker::kSecond, kMinute = ViewMaker::kMinute;
constexpr Millis kHour = ViewMaker::kHour, kNow = ViewMaker::kNow;

// A leaf with a host of two adapters at ports 1 and 2, a host at port 3, and a spine at port 4.
class EvidenceMakerTest : public ::testing::Test {
 protected:
  EvidenceMakerTest() : fabric_(Make()), view_(fabric_.snapshot) {}

  static testing::TestFabric Make() {
    testing::FabricMaker maker;
    const size_t leaf = maker.AddSwitch(4, "leaf"), spine = maker.AddSwitch(4, "spine");
    for (const char* name : {"node1 mlx5_0", "node1 mlx5_1", "node2 mlx5_0"}) {
      maker.Cable(leaf, maker.AddHost(1, name));
    }
    maker.Cable(leaf, spine);
    return maker.Build();
  }
  PortRef Leaf(uint8_t port) const { return {fabric_.node[0], PortNum(port)}; }
  PortRef Host(size_t host) const { return {fabric_.node[2 + host], PortNum(1)}; }

  // Of the link at that port of the leaf.
  LinkEvidence Link(uint8_t port, const fabric::HostTable* hosts = nullptr) const {
    const Guid leaf = fabric_.snapshot->node(fabric_.node[0])->guid();
    for (const LinkEvidence& link : MakeEvidence(view_.view, hosts)) {
      for (const EndEvidence* end : {&link.a, &link.b}) {
        if (end->node == leaf && end->port == PortNum(port)) return link;
      }
    }
    ADD_FAILURE() << "no evidence of port " << int{port};
    return {};
  }
  // Of the leaf's port 1.
  EndEvidence Leaf1() const { return Link(1).b; }

  testing::TestFabric fabric_;
  ViewMaker view_;
};

uint64_t CountOf(const EndEvidence& end, Signal signal, Window window) {
  const policy::WindowCount* count = end.Find(signal, window);
  if (count == nullptr) ADD_FAILURE() << "signal " << static_cast<int>(signal) << " is absent";
  return count != nullptr ? count->count : 0;
}

TEST_F(EvidenceMakerTest, EachLinkIsListedOnceWithItsHostFirst) {
  const auto links = MakeEvidence(view_.view);
  ASSERT_EQ(links.size(), 4u);
  const LinkEvidence host = Link(1);
  EXPECT_EQ(host.a.role, EndRole::kHost);
  EXPECT_EQ(host.b.role, EndRole::kLeaf);
  EXPECT_EQ(host.b.port, PortNum(1));
  EXPECT_TRUE(host.is_up);
  EXPECT_TRUE(host.a.is_fresh);
  EXPECT_EQ(host.a.age, std::chrono::seconds(10));
  EXPECT_EQ(host.up_for, std::chrono::hours(29) + std::chrono::seconds(10));
  const LinkEvidence trunk = Link(4);
  EXPECT_EQ(trunk.a.role, EndRole::kTrunk);
  EXPECT_EQ(trunk.b.role, EndRole::kTrunk);
}

TEST_F(EvidenceMakerTest, ADisabledWidthIsNotBelowCapability) {
  fabric::SnapshotBuilder builder(*fabric_.snapshot);
  constexpr uint8_t kFour = 2, kUpToTwelve = 0x0B;  // 1x, 4x and 12x.
  const auto set = [&](uint8_t enabled) {
    for (const PortRef end : {Leaf(1), Host(0)}) {
      wire::PortInfo info = fabric_.snapshot->port(end)->info;
      info.link_width_supported = kUpToTwelve;
      info.link_width_enabled = enabled;
      info.link_width_active = kFour;
      builder.SetPortInfo(end, info);
    }
    view_.view.snapshot = builder.Build();
  };
  set(kUpToTwelve);
  EXPECT_TRUE(Link(1).is_below_capability);
  set(kFour);
  EXPECT_FALSE(Link(1).is_below_capability);
}

TEST_F(EvidenceMakerTest, ALinkOfAnAggregationNodeOrARouterIsOfItsOwnKind) {
  testing::FabricMaker maker;
  const size_t leaf = maker.AddSwitch(4);
  maker.Cable(leaf, maker.AddHost(1, "Mellanox Technologies Aggregation Node"));
  maker.Cable(leaf, maker.AddRouter(1));
  const ViewMaker view(maker.Build().snapshot);
  const auto links = MakeEvidence(view.view);
  ASSERT_EQ(links.size(), 2u);
  for (const LinkEvidence& link : links) {
    EXPECT_EQ(link.a.role, EndRole::kOther);
    EXPECT_EQ(link.b.role, EndRole::kOther);
  }
}

TEST_F(EvidenceMakerTest, AWindowHasTheReadingsThatAreInIt) {
  for (Millis ago : {25 * kHour, 20 * kHour, 2 * kHour, 650 * kSecond, 70 * kSecond, 5 * kSecond}) {
    view_.Count(Leaf(1), Counter::kLocalLinkIntegrityErrors, 10, kNow - ago);
  }
  const EndEvidence end = Leaf1();
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k60s), 10u);
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k300s), 20u);
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k600s), 20u);
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k720s), 30u);
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k7500s), 40u);
  EXPECT_EQ(CountOf(end, Signal::kLinkIntegrity, Window::k24h), 50u);
  EXPECT_EQ(end.Find(Signal::kLinkIntegrity, Window::k720s)->readings, 3u);
  EXPECT_EQ(CountOf(Link(2).b, Signal::kLinkIntegrity, Window::k24h), 0u);
}

TEST_F(EvidenceMakerTest, UnmeasuredSignalsAreAbsent) {
  const EndEvidence end = Leaf1();
  EXPECT_EQ(end.Find(Signal::kEffectiveErrors, Window::k24h), nullptr);
  EXPECT_EQ(end.Find(Signal::kLocalPhysical, Window::k24h), nullptr);
  EXPECT_NE(end.Find(Signal::kSymbolErrors, Window::k24h), nullptr);
  EXPECT_FALSE(end.has_registers);
  EXPECT_FALSE(end.temperature || end.temperature_median || end.temperature_alarm);
  EXPECT_FALSE(end.last_down);
  EXPECT_EQ(end.device_verdict, policy::DeviceVerdict::kUnknown);
  EXPECT_EQ(Link(1).fec, policy::FecClass::kUnknown);
  EXPECT_EQ(Link(1).media, policy::Media::kUnknown);
}

TEST_F(EvidenceMakerTest, AnAdapterWithUnreadPortCountersHasNoSymbolErrors) {
  for (PortRef port : {Host(0), Leaf(1)})
    view_.Port(port).read_at[static_cast<size_t>(Source::kPortCounters)] = 0;
  EXPECT_EQ(Link(1).a.Find(Signal::kSymbolErrors, Window::k24h), nullptr);
  EXPECT_NE(Link(1).b.Find(Signal::kSymbolErrors, Window::k24h), nullptr);
}

TEST_F(EvidenceMakerTest, APortThatIsNotReadAnyMoreIsNotFresh) {
  PortRecord& record = view_.Port(Leaf(1));
  record.read_at.fill(kNow - 10 * kMinute);
  EXPECT_FALSE(Leaf1().is_fresh);
  EXPECT_EQ(Leaf1().age, std::chrono::minutes(10));
  EXPECT_EQ(Leaf1().Find(Signal::kSymbolErrors, Window::k24h), nullptr);
}

TEST_F(EvidenceMakerTest, ACounterAtItsMaximumIsALowerBound) {
  view_.Port(Leaf(1)).saturated.Add(Counter::kSymbolErrors);
  EXPECT_TRUE(Leaf1().Find(Signal::kSymbolErrors, Window::k60s)->is_saturated);
  EXPECT_FALSE(Leaf1().Find(Signal::kRcvErrors, Window::k60s)->is_saturated);
}

TEST_F(EvidenceMakerTest, ErrorsThatArrivedMarkedAsBadAreNotThoseOfTheLink) {
  view_.Count(Leaf(1), Counter::kRcvErrors, 7, kNow - 20 * kSecond);
  view_.Count(Leaf(1), Counter::kRcvRemotePhysicalErrors, 7, kNow - 20 * kSecond);
  view_.Count(Leaf(1), Counter::kRcvErrors, 2, kNow - 20 * kMinute);
  const EndEvidence end = Leaf1();
  EXPECT_EQ(CountOf(end, Signal::kRcvErrors, Window::k720s), 0u);
  EXPECT_EQ(end.Find(Signal::kRcvErrors, Window::k720s)->readings, 0u);
  EXPECT_EQ(CountOf(end, Signal::kRcvErrors, Window::k7500s), 2u);
  EXPECT_EQ(CountOf(end, Signal::kRemotePhysical, Window::k720s), 7u);
}

TEST_F(EvidenceMakerTest, AtAChangeOfStateOnlyLinkDownsCount) {
  view_.Count(Leaf(1), Counter::kSymbolErrors, 99, kNow - 5 * kMinute, true);
  view_.Count(Leaf(1), Counter::kLinkDowned, 1, kNow - 5 * kMinute, true);
  EXPECT_EQ(CountOf(Leaf1(), Signal::kSymbolErrors, Window::k24h), 0u);
  EXPECT_EQ(CountOf(Leaf1(), Signal::kLinkDowns, Window::k24h), 1u);
}

TEST_F(EvidenceMakerTest, HeadOfQueueAndLifetimeDiscardsAreOneSignal) {
  PortRecord& record = view_.Port(Leaf(1));
  for (Counter c : {Counter::kXmitSwHoqLifetimeDiscards, Counter::kXmitSwLifetimeDiscards})
    record.measured.Add(c);
  record.read_at[static_cast<size_t>(Source::kPortXmitDiscardDetails)] = kHour;
  view_.Count(Leaf(1), Counter::kXmitSwHoqLifetimeDiscards, 3, kNow - 20 * kSecond);
  view_.Count(Leaf(1), Counter::kXmitSwLifetimeDiscards, 4, kNow - 20 * kSecond);
  EXPECT_EQ(CountOf(Leaf1(), Signal::kHoqDiscards, Window::k60s), 7u);
}

TEST_F(EvidenceMakerTest, BitsAreThoseThatTheReadingsOfTheWindowAreAbout) {
  view_.GiveRegisters(Leaf(1), 1e11);
  const EndEvidence end = Leaf1();
  EXPECT_TRUE(end.has_registers);
  // PPCNT is read each 5 minutes: a reading in the last minute is about 300 s.
  const auto bits = [&](Window window) { return end.bits[static_cast<size_t>(window)]; };
  EXPECT_NEAR(bits(Window::k60s), 300e11, 1e9);
  EXPECT_NEAR(bits(Window::k300s), 300e11, 1e9);
  EXPECT_NEAR(bits(Window::k600s), 600e11, 1e9);
  EXPECT_NEAR(bits(Window::k720s), 900e11, 1e9);
  // Without registers the readings are those of the counters, and bits rate x time.
  EXPECT_NEAR(Link(2).b.bits[static_cast<size_t>(Window::k60s)], 60e11, 1e9);
}

TEST_F(EvidenceMakerTest, BitsAreLimitedByTheTimeTheLinkIsUp) {
  view_.Port(Leaf(1)).up_since = kNow - 5 * kMinute;
  const EndEvidence end = Leaf1();
  // The first minute is left out, and the last reading was ten seconds ago.
  EXPECT_NEAR(end.bits[static_cast<size_t>(Window::k24h)], 230e11, 1e9);
  EXPECT_EQ(Link(1).up_for, std::chrono::minutes(5));
}

uint64_t Excused(const LinkEvidence& link, Window window) {
  return link.excused_downs[static_cast<size_t>(window)];
}

TEST_F(EvidenceMakerTest, ALinkOfASwitchThatRestartedIsWithItAndItsLinkDownIsExcused) {
  for (uint8_t port = 1; port <= 4; ++port) {
    view_.Port(Leaf(port)).changed_at = view_.Port(Leaf(port)).up_since = kNow - 30 * kSecond;
    view_.Count(Leaf(port), Counter::kLinkDowned, 1, kNow - 10 * kSecond, true);
  }
  view_.Count(Leaf(1), Counter::kLinkDowned, 1, kNow - 2 * kHour, true);
  EXPECT_TRUE(Link(1).is_with_its_switch);
  EXPECT_EQ(Excused(Link(1), Window::k600s), 1u);
  EXPECT_EQ(CountOf(Leaf1(), Signal::kLinkDowns, Window::k24h), 2u);
  EXPECT_EQ(Excused(Link(1), Window::k24h), 1u);
  EXPECT_EQ(Excused(Link(2), Window::k24h), 1u);
}

TEST_F(EvidenceMakerTest, AllRestartsOfTheDayAreExcused) {
  for (const Millis ago : {20 * kHour, 5 * kHour, kHour})
    for (uint8_t port = 1; port <= 4; ++port)
      view_.Count(Leaf(port), Counter::kLinkDowned, 1, kNow - ago + port * 10 * kSecond, true);
  // Its host's side could be read later only.
  view_.Count(Host(0), Counter::kLinkDowned, 1, kNow - kHour + 3 * kMinute, true);
  EXPECT_EQ(Excused(Link(1), Window::k24h), 3u);
  EXPECT_EQ(Excused(Link(1), Window::k7500s), 1u);
  EXPECT_FALSE(Link(1).is_with_its_switch);
}

// The counters of a restarted switch are lost.
TEST_F(EvidenceMakerTest, ARestartOfASwitchIsDetectedFromItsPeersCounters) {
  for (size_t host = 0; host < 3; ++host)
    view_.Count(Host(host), Counter::kLinkDowned, 1, kNow - 2 * kHour + host * kSecond, true);
  EXPECT_EQ(Excused(Link(1), Window::k24h), 1u);
  EXPECT_EQ(Excused(Link(3), Window::k24h), 1u);
}

TEST_F(EvidenceMakerTest, AMonitorReadWhileTheLinkWasYoungIsUnknown) {
  PortInventory& inventory = view_.Inventory(Leaf(1));
  inventory.monitor = wire::Ppbmc::State::kAlarm;
  inventory.monitor_at = kNow - 20 * kMinute;
  EXPECT_EQ(Leaf1().device_verdict, policy::DeviceVerdict::kAlarm);
  PortRecord& record = view_.Port(Leaf(1));
  record.changed_at = record.up_since = kNow - 25 * kMinute;
  EXPECT_EQ(Leaf1().device_verdict, policy::DeviceVerdict::kUnknown);
  inventory.monitor_at = kNow - 14 * kMinute;
  EXPECT_EQ(Leaf1().device_verdict, policy::DeviceVerdict::kAlarm);
}

TEST_F(EvidenceMakerTest, TheFirstTenMinutesOfALinkAreLeftOut) {
  PortRecord& record = view_.Port(Leaf(1));
  record.changed_at = record.up_since = kNow - 14 * kMinute;
  // Four minutes are left of which something is known.
  EXPECT_NEAR(
      Leaf1().bits[static_cast<size_t>(Window::k720s)] / (8.0 * ViewMaker::kBytesPerSecond * 60), 4,
      0.3);
}

TEST_F(EvidenceMakerTest, LinksThatComeUpForTheFirstTimeHaveNotRestarted) {
  for (uint8_t port = 1; port <= 4; ++port)
    view_.Port(Leaf(port)).changed_at = view_.Port(Leaf(port)).up_since = kNow - 30 * kSecond;
  EXPECT_FALSE(Link(1).is_with_its_switch);
  for (uint8_t port = 1; port <= 4; ++port) view_.Port(Leaf(port)).down_at = kNow - 90 * kSecond;
  EXPECT_TRUE(Link(1).is_with_its_switch);
}

TEST_F(EvidenceMakerTest, TwoLinksThatChangeAreNoRestartOfTheirSwitch) {
  for (uint8_t port : {1, 3}) view_.Port(Leaf(port)).changed_at = kNow - 30 * kSecond;
  view_.Count(Leaf(1), Counter::kLinkDowned, 1, kNow - 10 * kSecond, true);
  EXPECT_FALSE(Link(1).is_with_its_switch);
  EXPECT_EQ(CountOf(Leaf1(), Signal::kLinkDowns, Window::k24h), 1u);
  EXPECT_EQ(Excused(Link(1), Window::k24h), 0u);
}

TEST_F(EvidenceMakerTest, AllLinksOfAHostAreAReboot) {
  const fabric::HostTable hosts = fabric::FindHosts(*fabric_.snapshot, {});
  view_.Port(Host(0)).changed_at = kNow - 30 * kSecond;
  EXPECT_FALSE(Link(1, &hosts).is_with_its_host);
  view_.Port(Host(1)).changed_at = kNow - 40 * kSecond;
  EXPECT_TRUE(Link(1, &hosts).is_with_its_host);
  EXPECT_TRUE(Link(2, &hosts).is_with_its_host);
  EXPECT_FALSE(Link(1).is_with_its_host);
  // A host of one link: its reboot looks like that of its cable.
  view_.Port(Host(2)).changed_at = kNow - 30 * kSecond;
  EXPECT_FALSE(Link(3, &hosts).is_with_its_host);
}

TEST_F(EvidenceMakerTest, ALinkThatWentDownIsThereForADay) {
  fabric::SnapshotBuilder builder(*fabric_.snapshot);
  wire::PortInfo down;
  down.port_state = wire::PortState::kDown;
  builder.Unlink(Leaf(3));
  for (PortRef port : {Leaf(3), Host(2)}) {
    builder.SetPortInfo(port, down);
    view_.Port(port).up_since = 0;
    view_.Port(port).changed_at = kNow - 23 * kHour;
  }
  view_.view.snapshot = builder.Build();
  EXPECT_FALSE(Link(3).is_up);
  EXPECT_EQ(Link(3).up_for, Duration());
  for (PortRef port : {Leaf(3), Host(2)}) view_.Port(port).changed_at = kNow - 25 * kHour;
  EXPECT_EQ(MakeEvidence(view_.view).size(), 3u);
}

TEST_F(EvidenceMakerTest, WaitIsThatOfTheLastWholeWindowsTheNewestFirst) {
  PortRecord& record = view_.Port(Leaf(1));
  record.wait_windows = {};
  constexpr Millis kLength = WaitWindows::kLength, kEnd = kNow / kLength * kLength;
  for (int back : {2, 1}) {
    record.wait_windows.AddWait(kEnd - (back - 1) * kLength, kLength, 0.1 * back);
    record.wait_windows.AddSent(kEnd - (back - 1) * kLength, kLength, 0.5);
  }
  const EndEvidence end = Leaf1();
  ASSERT_TRUE(end.wait[0] && end.wait[1]);
  EXPECT_NEAR(end.wait[0]->share, 0.1, 1e-3);
  EXPECT_NEAR(end.wait[1]->share, 0.2, 1e-3);
  EXPECT_NEAR(end.wait[0]->utilisation, 0.5, 1e-3);
  EXPECT_FALSE(end.wait[2]);
}

TEST_F(EvidenceMakerTest, ReportsOfTheDeviceAboutCableAndLinkArePassedOn) {
  PortInventory& inventory = view_.Inventory(Leaf(1));
  inventory.module_at = inventory.operational_at = inventory.monitor_at = kNow - kMinute;
  inventory.link_down_at = kNow - kHour;
  inventory.cable_type = wire::PddrModule::CableType::kOpticalModule;
  inventory.fec = wire::PddrFecMode::kInterleavedRs544Plr;
  inventory.monitor = wire::Ppbmc::State::kWarning;
  inventory.alarm_high = 80 * 256;
  inventory.link_down.blame = wire::PddrLinkDown::Blame::kRemote;
  inventory.link_down.intent = wire::PddrLinkDown::Intent::kIntentional;
  for (Millis at = kHour; at < kNow; at += kHour) inventory.temperatures.Add(at, at - kHour, 50);
  view_.Port(Leaf(1)).module = {kNow - kMinute, 64 * 256, 0, 0};
  LinkEvidence link = Link(1);
  EXPECT_EQ(link.fec, policy::FecClass::kKp4);
  EXPECT_EQ(link.media, policy::Media::kOptical);
  EXPECT_EQ(link.b.temperature, 64);
  EXPECT_EQ(link.b.temperature_median, 50);
  EXPECT_EQ(link.b.temperature_alarm, 80);
  EXPECT_EQ(link.b.device_verdict, policy::DeviceVerdict::kWarning);
  ASSERT_TRUE(link.b.last_down);
  EXPECT_EQ(link.b.last_down->blame, policy::LinkDownReport::Blame::kRemote);
  EXPECT_TRUE(link.b.last_down->is_intentional);
  inventory.ext_at = kNow - kMinute;
  inventory.unhealthy = wire::ExtPortInfo::UnhealthyReason::kSymbolBer;
  EXPECT_EQ(Leaf1().device_verdict, policy::DeviceVerdict::kAlarm);
}

TEST_F(EvidenceMakerTest, TrapsAreKnownOfAMasterAndTimeoutsOfAdapters) {
  view_.Device(Leaf(1).node).incidents.Add(PortNum(1), Incident::kTrap, kNow - 30 * kSecond);
  view_.Device(Host(0).node).incidents.Add(PortNum(1), Incident::kTimeout, kNow - 400 * kSecond);
  const LinkEvidence link = Link(1);
  EXPECT_EQ(CountOf(link.b, Signal::kTraps, Window::k60s), 1u);
  EXPECT_EQ(CountOf(link.a, Signal::kTimeouts, Window::k600s), 1u);
  EXPECT_EQ(CountOf(link.a, Signal::kTimeouts, Window::k300s), 0u);
  EXPECT_EQ(link.b.Find(Signal::kTimeouts, Window::k24h), nullptr);
  view_.view.receives_traps = false;
  EXPECT_EQ(Leaf1().Find(Signal::kTraps, Window::k24h), nullptr);
}

// ---- of a simulated fabric

constexpr char kSimHca[] = "node0001 mlx5_0";
constexpr char kSimLeaf[] = "su1-rail0-leaf";

LinkEvidence LinkOf(PolledFabric& polled, PortRef port) {
  const auto view = polled.View();
  const Guid guid = view->snapshot->node(port.node)->guid();
  for (const LinkEvidence& link : MakeEvidence(*view)) {
    for (const EndEvidence* end : {&link.a, &link.b}) {
      if (end->node == guid && end->port == port.port) return link;
    }
  }
  ADD_FAILURE() << "no evidence";
  return {};
}

TEST(EvidenceOfSimulatorTest, BitErrorsGiveTheirRatioByRegisters) {
  PolledFabric polled;
  const PortRef hca = polled.Port(kSimHca, 1);
  polled.Begin();
  polled.Run(std::chrono::minutes(30));
  ASSERT_TRUE(polled.fabric.SetBitErrorRates(polled.client.now, hca, {1e-7, 1e-11, 1e-12}).ok());
  polled.Run(std::chrono::minutes(30));
  const LinkEvidence link = LinkOf(polled, hca);
  EXPECT_EQ(link.a.role, EndRole::kHost);
  EXPECT_TRUE(link.a.has_registers);
  EXPECT_GT(link.gigabits, 0);
  const double bits = link.a.bits[static_cast<size_t>(Window::k720s)];
  EXPECT_NEAR(static_cast<double>(CountOf(link.a, Signal::kSymbolErrors, Window::k720s)) / bits,
              1e-12, 4e-13);
  EXPECT_GE(link.a.Find(Signal::kSymbolErrors, Window::k720s)->readings, 2u);
  EXPECT_GT(CountOf(link.a, Signal::kEffectiveErrors, Window::k720s), 0u);
  EXPECT_EQ(CountOf(link.b, Signal::kSymbolErrors, Window::k24h), 0u);
}

TEST(EvidenceOfSimulatorTest, ACableThatIsPulledAndPluggedAgainIsALinkDownOnly) {
  PolledFabric polled;
  const PortRef leaf = polled.Port(kSimLeaf, 2);  // Port 1 is our own.
  polled.Begin();
  polled.Run(std::chrono::minutes(5));
  ASSERT_TRUE(polled.fabric.Unlink(polled.client.now, leaf).ok());
  polled.Count(leaf, sim::Counter::kSymbolErrors, 50);
  polled.Run(std::chrono::seconds(5));
  polled.Begin();
  polled.Run(std::chrono::minutes(2));
  EXPECT_FALSE(LinkOf(polled, leaf).is_up);
  ASSERT_TRUE(polled.fabric.Link(polled.client.now, leaf).ok());
  polled.Run(std::chrono::seconds(30));
  const sim::Discovered found = sim::Discover(polled.client);
  for (wire::PortState state : {wire::PortState::kArmed, wire::PortState::kActive}) {
    for (PortRef port : {leaf, polled.fabric.LinkedPeer(leaf)}) {
      const auto& path = found.nodes.at(polled.topology->node(port.node)->guid()).path;
      const auto set = [&](wire::PortInfo& info) { info.port_state = state; };
      EXPECT_TRUE(polled.client.ChangePort(path, port.port.value(), set).ok());
    }
  }
  polled.Begin();
  polled.Run(std::chrono::minutes(5));
  const LinkEvidence link = LinkOf(polled, leaf);
  EXPECT_TRUE(link.is_up);
  EXPECT_EQ(CountOf(link.b, Signal::kLinkDowns, Window::k24h), 1u);
  EXPECT_EQ(CountOf(link.b, Signal::kSymbolErrors, Window::k24h), 0u);
  EXPECT_LT(link.up_for, std::chrono::minutes(6));
}

TEST(EvidenceOfSimulatorTest, ATrapAboutALinkAndTimeoutsOfAnAdapterCount) {
  PolledFabric polled;
  const PortRef leaf = polled.Port(kSimLeaf, 1), hca = polled.Port(kSimHca, 1);
  polled.Begin();
  polled.Run(std::chrono::minutes(5));
  polled.Tell(LinkTrap{polled.LidOf(leaf.node), leaf.port});
  EXPECT_EQ(CountOf(LinkOf(polled, leaf).b, Signal::kTraps, Window::k60s), 1u);
  EXPECT_EQ(CountOf(LinkOf(polled, hca).a, Signal::kTimeouts, Window::k24h), 0u);
  polled.Quirks(hca, "unresponsive");
  polled.Run(std::chrono::minutes(1));
  EXPECT_GT(CountOf(LinkOf(polled, hca).a, Signal::kTimeouts, Window::k24h), 0u);
}

}  // namespace
}  // namespace fabricd::telemetry
