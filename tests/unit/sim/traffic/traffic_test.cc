// SPDX-License-Identifier: Apache-2.0
// Jobs on a fabric that a TinySm has brought up: by its tables, into the counters of its ports.
#include <gtest/gtest.h>

#include "sim/device/link_rate.h"
#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::PortCountersExtended;

class TrafficTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gmp.up); }

  TrafficJob Ring(const std::string& name = "job") {
    return {name, TrafficPattern::kRing, {"node0001", "node0002"}};
  }
  absl::Status Start(TrafficJob job) {
    return gmp.fabric.StartTraffic(gmp.client.now, std::move(job));
  }
  PortCountersExtended Counters(PortRef port) {
    const auto counters = gmp.Get<PortCountersExtended>(port);
    EXPECT_TRUE(counters);
    return counters.value_or(PortCountersExtended());
  }
  double Gigabits(PortRef port) {
    return ActiveGigabits(gmp.fabric.device(port.node)->port(port.port).info);
  }
  void Pass(Duration time) {
    gmp.client.now += time;
    std::vector<Delivery> delivered;
    gmp.fabric.Advance(gmp.client.now, delivered);
  }

  GmpFabric gmp;
  PortRef first = gmp.Port("node0001 mlx5_0", 1), second = gmp.Port("node0002 mlx5_0", 1);
  PortRef leaf = gmp.fabric.LinkedPeer(second);
};

TEST_F(TrafficTest, PortsOnThePathCount) {
  ASSERT_TRUE(Start(Ring()).ok());
  Pass(seconds(10));
  const double octets = Gigabits(first) * 1e9 * 10 / 8;
  const PortCountersExtended sender = Counters(first), receiver = Counters(second);
  EXPECT_NEAR(static_cast<double>(sender.xmit_data) * 4 / octets, 1, 0.001);
  EXPECT_NEAR(static_cast<double>(receiver.rcv_data) * 4 / octets, 1, 0.001);
  EXPECT_EQ(sender.xmit_data * 4 / 4096, sender.xmit_pkts);
  EXPECT_EQ(sender.unicast_xmit_pkts, sender.xmit_pkts);
  EXPECT_EQ(Counters(leaf).xmit_data, receiver.rcv_data);
  EXPECT_EQ(sender.xmit_wait, 0u);
  EXPECT_EQ(Counters(gmp.Port("node0003 mlx5_0", 1)).xmit_data, 0u);
  EXPECT_GT(Counters(gmp.Port("node0001 mlx5_1", 1)).xmit_data, 0u) << "the second rail";
}

TEST_F(TrafficTest, ReadingOftenCountsTheSame) {
  ASSERT_TRUE(Start(Ring()).ok());
  const Instant end = gmp.client.now + milliseconds(10);
  while (gmp.client.now < end) {
    Counters(first);
    gmp.client.now += Duration(777'777);
  }
  gmp.client.now = end + milliseconds(1);
  const double octets = Gigabits(first) * 1e6 * 11 / 8;
  EXPECT_NEAR(static_cast<double>(Counters(first).xmit_data) * 4, octets, 8);
}

TEST_F(TrafficTest, LoadLimitsEachPort) {
  TrafficJob job = Ring();
  job.load = 0.25;
  ASSERT_TRUE(Start(job).ok());
  const auto reports = gmp.fabric.ListTraffic();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].flows, 4u);
  EXPECT_EQ(reports[0].unrouted, 0u);
  EXPECT_DOUBLE_EQ(reports[0].slowest, Gigabits(first) / 4);
  EXPECT_DOUBLE_EQ(reports[0].gigabits, Gigabits(first));
}

TEST_F(TrafficTest, SendersToOneCongestedHostWait) {
  // Jobs of two hosts each, so that two senders meet at the port of node0002.
  TrafficJob other{"other", TrafficPattern::kRing, {"node0003", "node0002"}};
  ASSERT_TRUE(Start(Ring()).ok());
  ASSERT_TRUE(Start(other).ok());
  Pass(seconds(1));
  const PortCountersExtended sender = Counters(first);
  EXPECT_NEAR(static_cast<double>(sender.xmit_data) * 4, Gigabits(first) * 1e9 / 16, 1e6);
  // Half of the time, a tick in 8 octet times.
  EXPECT_NEAR(static_cast<double>(sender.xmit_wait), Gigabits(first) * 1e9 / 8 / 8 / 2, 1e6);
  EXPECT_EQ(Counters(leaf).xmit_wait, 0u);
}

TEST_F(TrafficTest, ASlowReceiverMakesItsLeafWaitAndDiscard) {
  ASSERT_TRUE(Start(Ring()).ok());
  ASSERT_TRUE(gmp.fabric.SetReceiverShare(gmp.client.now, second, 0.25).ok());
  Pass(seconds(1));
  const double octets = Gigabits(first) * 1e9 / 8;
  PortCountersExtended egress = Counters(leaf);
  EXPECT_NEAR(static_cast<double>(egress.xmit_data) * 4 / octets, 0.25, 0.001);
  EXPECT_NEAR(static_cast<double>(egress.xmit_wait) * 8 / octets, 0.75, 0.001);
  EXPECT_NEAR(static_cast<double>(Counters(first).xmit_wait) * 8 / octets, 0.75, 0.001);
  EXPECT_EQ(egress.xmit_discards, 0u);
  ASSERT_TRUE(gmp.fabric.SetReceiverShare(gmp.client.now, second, 0).ok());
  Pass(seconds(1));
  const auto discards = gmp.Get<wire::PortXmitDiscardDetails>(leaf);
  ASSERT_TRUE(discards);
  EXPECT_GT(discards->sw_hoq_lifetime_limit_discards, 0u);
  ASSERT_TRUE(gmp.fabric.SetReceiverShare(gmp.client.now, second, 1).ok());
  egress = Counters(leaf);
  Pass(seconds(1));
  EXPECT_EQ(Counters(leaf).xmit_wait, egress.xmit_wait);
  EXPECT_EQ(gmp.fabric.SetReceiverShare(gmp.client.now, leaf, 0.5).code(),
            absl::StatusCode::kInvalidArgument)
      << "a switch";
  EXPECT_EQ(gmp.fabric.SetReceiverShare(gmp.client.now, second, 1.5).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TrafficTest, AnIncastFillsTheLinkOfItsReceiverWhichWaitsALittle) {
  ASSERT_TRUE(
      Start({"incast", TrafficPattern::kIncast, {"node0002", "node0001", "node0003", "node0004"}})
          .ok());
  Pass(seconds(1));
  const double octets = Gigabits(first) * 1e9 / 8;
  const PortCountersExtended egress = Counters(leaf);
  EXPECT_NEAR(static_cast<double>(egress.xmit_data) * 4 / octets, 0.88, 0.001);
  EXPECT_NEAR(static_cast<double>(egress.xmit_wait) * 8 / octets, 0.12, 0.001);
  EXPECT_GT(static_cast<double>(Counters(first).xmit_wait) * 8 / octets, 0.5) << "senders wait";
}

TEST_F(TrafficTest, AJobCanUseOneRail) {
  TrafficJob job = Ring();
  job.rail = 1;
  ASSERT_TRUE(Start(job).ok());
  Pass(seconds(1));
  EXPECT_EQ(Counters(first).xmit_data, 0u);
  EXPECT_GT(Counters(gmp.Port("node0001 mlx5_1", 1)).xmit_data, 0u);
}

TEST_F(TrafficTest, StoppedJobsCountNoMore) {
  ASSERT_TRUE(Start(Ring()).ok());
  Pass(seconds(1));
  ASSERT_TRUE(gmp.fabric.StopTraffic(gmp.client.now, "job").ok());
  const uint64_t sent = Counters(first).xmit_data;
  EXPECT_GT(sent, 0u);
  Pass(seconds(1));
  EXPECT_EQ(Counters(first).xmit_data, sent);
  EXPECT_TRUE(gmp.fabric.ListTraffic().empty());
  EXPECT_EQ(gmp.fabric.StopTraffic(gmp.client.now, "job").code(), absl::StatusCode::kNotFound);
}

TEST_F(TrafficTest, FlowsFollowTheLinks) {
  ASSERT_TRUE(Start(Ring()).ok());
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  Pass(seconds(1));
  EXPECT_EQ(gmp.fabric.ListTraffic()[0].unrouted, 2u) << "both of this rail";
  const uint64_t sent = gmp.fabric.CounterTotal(gmp.client.now, first, Counter::kXmitData);
  Pass(seconds(1));
  EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, first, Counter::kXmitData), sent);
  ASSERT_TRUE(gmp.fabric.Link(gmp.client.now, leaf).ok());
  Pass(seconds(1));
  for (wire::PortState state : {wire::PortState::kArmed, wire::PortState::kActive}) {
    const auto set = [&](wire::PortInfo& info) { info.port_state = state; };
    const uint8_t port = leaf.port.value();
    ASSERT_TRUE(gmp.client.ChangePort({1}, port, set).ok());
    ASSERT_TRUE(gmp.client.ChangePort({1, port}, 1, set).ok());
  }
  Pass(seconds(1));
  EXPECT_EQ(gmp.fabric.ListTraffic()[0].unrouted, 0u);
  EXPECT_GT(gmp.fabric.CounterTotal(gmp.client.now, first, Counter::kXmitData), sent);
}

TEST_F(TrafficTest, BadJobsAreRefused) {
  ASSERT_TRUE(Start(Ring()).ok());
  EXPECT_EQ(Start(Ring()).code(), absl::StatusCode::kAlreadyExists);
  TrafficJob job = Ring("other");
  job.hosts.push_back("node0001");
  EXPECT_EQ(Start(job).code(), absl::StatusCode::kInvalidArgument) << "twice";
  job.hosts = {"node0001", "nowhere"};
  EXPECT_EQ(Start(job).code(), absl::StatusCode::kNotFound);
  job.hosts = {"node0001"};
  EXPECT_EQ(Start(job).code(), absl::StatusCode::kInvalidArgument);
  job = Ring("");
  EXPECT_EQ(Start(job).code(), absl::StatusCode::kInvalidArgument);
  job = Ring("other");
  job.load = 1.5;
  EXPECT_EQ(Start(job).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gmp.fabric.ListTraffic().size(), 1u);
}

TEST_F(TrafficTest, NothingIsScheduledWhereNothingChanges) {
  Pass(seconds(1));
  EXPECT_EQ(gmp.fabric.next_event(), kNever);
  ASSERT_TRUE(Start(Ring()).ok());
  EXPECT_EQ(gmp.fabric.next_event(), kNever);
}

}  // namespace
}  // namespace fabricd::sim
