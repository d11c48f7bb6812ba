// SPDX-License-Identifier: Apache-2.0
// The collector under drawn faults: lost, late and doubled GMPs, agents with quirks, clears,
// restarts, cables that come and go. Whatever happens, CollectorChecker holds.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <utility>

#include "mad/transactions.h"
#include "sim/checkers/collector_checker.h"
#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What a device counts and shows stays as it is; whether and how it answers changes.
constexpr std::array kNatures = {"default",   "zero_extended_errors", "shared_clear", "underflow",
                                 "sentinels", "no_extended",          "classic_only", "plain"};
constexpr std::array kMoods = {"default",  "vs_key_set",   "vs_key_hidden", "no_vendor",
                               "redirect", "refusing_pma", "unresponsive",  "no_tick"};

class Seed {
 public:
  explicit Seed(uint64_t seed) : rng_(seed), checker(polled.fabric, polled.host) {
    polled.fabric.SetObserver(&checker);
    MadFaults faults;
    if (rng_.Chance(0.7)) {
      faults.gmp_loss = 0.05 * static_cast<double>(rng_.Below(6));
      faults.gmp_duplicate = 0.1 * static_cast<double>(rng_.Below(2));
      faults.gmp_jitter = milliseconds(rng_.Below(2000));
    }
    polled.fabric.SetMadFaults(faults);
    polled.topology->ForEachNode([&](const fabric::Node& node) {
      natures_[node.index] = kNatures[rng_.Below(kNatures.size())];
      polled.Quirks({node.index, PortNum(1)}, natures_[node.index]);
    });
    polled.Begin();
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      Act();
      polled.Run(milliseconds(100 + rng_.Below(40'000)));
      checker.CheckView(polled.client.now, *polled.View());
    }
  }

 private:
  PortRef AnyPort() {
    while (true) {
      const NodeIndex node(static_cast<uint32_t>(rng_.Below(polled.topology->node_index_end())));
      const uint8_t ports = polled.fabric.device(node)->last_port().value();
      const PortRef port{node, PortNum(static_cast<uint8_t>(1 + rng_.Below(ports)))};
      if (!polled.fabric.LinkedPeer(port).IsNone()) return port;
    }
  }
  void Act() {
    const PortRef port = AnyPort();
    const Instant now = polled.client.now;
    switch (rng_.Below(9)) {
      case 0:
      case 1:
        polled.Count(port,
                     static_cast<Counter>(rng_.Below(static_cast<uint64_t>(Counter::kXmitWait))),
                     1 + rng_.Below(100'000));
        break;
      case 2:
        checker.BeforeLoss(now, port);
        EXPECT_TRUE(polled.fabric.ClearCounters(now, port).ok());
        break;
      case 3: polled.Quirks(port, Mood(port.node)); break;
      case 4: {
        if (polled.fabric.device(port.node)->IsSwitch() || port.node == polled.host.node) break;
        const uint8_t ports = polled.fabric.device(port.node)->last_port().value();
        for (uint8_t i = 1; i <= ports; ++i) checker.BeforeLoss(now, {port.node, PortNum(i)});
        EXPECT_TRUE(polled.fabric.Reboot(now, port.node).ok());
        polled.client.now += seconds(2);
        TinySm(polled.client).BringUp();
        polled.Begin();
        break;
      }
      case 5: {
        if (port.node == polled.host.node) break;
        EXPECT_TRUE(polled.fabric.Unlink(now, port).ok());
        polled.Begin();
        polled.Run(milliseconds(rng_.Below(60'000)));
        EXPECT_TRUE(polled.fabric.Link(polled.client.now, port).ok());
        polled.client.now += seconds(1);
        TinySm(polled.client).BringUp();
        polled.Begin();
        break;
      }
      case 6: {
        const telemetry::CoreLoad load{rng_.Chance(0.3), rng_.Chance(0.3), rng_.Chance(0.3)};
        checker.SetCoreHasSmps(load.smps);
        polled.Tell(load);
        break;
      }
      case 7: polled.Tell(telemetry::PollNow{1}); break;
      default:
        EXPECT_TRUE(polled.fabric.SetBitErrorRates(now, port, {1e-9, 1e-13, 1e-13}).ok());
        break;
    }
  }

  std::string Mood(NodeIndex node) {
    const std::string mood = kMoods[rng_.Below(kMoods.size())];
    if (mood == "default") return natures_[node];
    return natures_[node] == "default" ? mood : natures_[node] + "," + mood;
  }

  Rng rng_;
  std::map<NodeIndex, std::string> natures_;

 public:
  telemetry::PolledFabric polled;
  CollectorChecker checker;
};

TEST(CollectorSeedsTest, NothingIsClearedNoDeviceIsFloodedAndNothingStaleIsShownAsFresh) {
  uint64_t requests = 0, resets = 0, timeouts = 0;
  for (uint64_t number = 1; number <= 200; ++number) {
    Seed seed(number);
    seed.Run(30);
    for (const std::string& fault : seed.checker.faults()) {
      ADD_FAILURE() << "seed " << number << ": " << fault;
    }
    const auto stats = seed.polled.View()->stats;
    requests += stats.requests;
    resets += stats.resets;
    timeouts += stats.timeouts;
  }
  // They did happen.
  EXPECT_GT(requests, 100'000u);
  EXPECT_GT(resets, 50u);
  EXPECT_GT(timeouts, 1000u);
}

// ---- each checker finds what it is there for

class CollectorCheckerTest : public ::testing::Test {
 protected:
  CollectorCheckerTest() {
    polled.fabric.SetObserver(&checker);
    polled.Begin();
    polled.Run(std::chrono::minutes(2));
    checker.CheckView(polled.client.now, *polled.View());
    EXPECT_TRUE(checker.faults().empty());
    MadFaults faults;
    faults.delay = milliseconds(10);
    polled.fabric.SetMadFaults(faults);
  }
  // Of telemetry, to a LID, at once.
  void Send(mad::OutgoingMad mad) {
    EXPECT_TRUE(polled.fabric.Send(polled.client.now, polled.host, std::move(mad)).ok());
  }
  mad::OutgoingMad Request(telemetry::Ask ask) {
    telemetry::GmpTarget target;
    target.lid = polled.LidOf(polled.Node("su1-rail0-leaf"));
    return telemetry::MakeRequest(
        ask, PortNum(1), target, TransactionId(mad::kTelemetryTransactionBit | ++tid_), seconds(1));
  }
  bool Found(const std::string& prefix) {
    for (const std::string& fault : checker.faults()) {
      if (fault.starts_with(prefix)) return true;
    }
    return false;
  }

  telemetry::PolledFabric polled;
  CollectorChecker checker{polled.fabric, polled.host};

 private:
  uint32_t tid_ = 0x7F000000;
};

TEST_F(CollectorCheckerTest, FindsASet) {
  mad::OutgoingMad mad = Request(telemetry::Ask::kClassic);
  mad.payload[3] = static_cast<uint8_t>(wire::Method::kSet);
  Send(std::move(mad));
  EXPECT_TRUE(Found("clear:"));
}

TEST_F(CollectorCheckerTest, FindsARegisterReadThatClears) {
  mad::OutgoingMad mad = Request(telemetry::Ask::kBer);
  mad.payload[40] |= 0x80;  // Bit 31 of the register's second dword, from byte 36 on.
  Send(std::move(mad));
  EXPECT_TRUE(Found("clear:"));
}

TEST_F(CollectorCheckerTest, FindsAThirdRequestToADevice) {
  for (int i = 0; i < 3; ++i) Send(Request(telemetry::Ask::kClassic));
  EXPECT_TRUE(Found("device:"));
}

TEST_F(CollectorCheckerTest, FindsTwoVendorSmpsInFlight) {
  for (int i = 0; i < 2; ++i) Send(Request(telemetry::Ask::kSmpInfo));
  EXPECT_TRUE(Found("smp: two"));
}

TEST_F(CollectorCheckerTest, FindsAVendorSmpWhileTheCoreHasSmps) {
  checker.SetCoreHasSmps(true);
  Send(Request(telemetry::Ask::kSmpInfo));
  EXPECT_TRUE(Found("smp: sent"));
}

TEST_F(CollectorCheckerTest, FindsAStaleView) {
  telemetry::TelemetryView view = *polled.View();
  checker.CheckView(polled.client.now + std::chrono::minutes(10), view);
  EXPECT_TRUE(Found("stale:"));
}

TEST_F(CollectorCheckerTest, FindsATotalBeyondTheDevicesCounts) {
  telemetry::TelemetryView view = *polled.View();
  for (auto& record : view.ports) {
    if (record == nullptr) continue;
    auto more = std::make_shared<telemetry::PortRecord>(*record);
    more->extended_sum[telemetry::Index(telemetry::Counter::kSymbolErrors)] += 1;
    record = std::move(more);
    break;
  }
  checker.CheckView(polled.client.now, view);
  EXPECT_TRUE(Found("count:"));
}

}  // namespace
}  // namespace fabricd::sim
