// SPDX-License-Identifier: Apache-2.0
// Bad receivers, on a fabric that a TinySm has brought up.
#include "sim/fabric/link_errors.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "mad/wire/notice.h"
#include "sim/device/link_rate.h"
#include "sim/performance/error_model.h"
#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::seconds;

class LinkErrorsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gmp.up); }
  void Pass(Duration time) {
    gmp.client.now += time;
    std::vector<Delivery> delivered;
    gmp.fabric.Advance(gmp.client.now, delivered);
  }
  uint64_t Total(PortRef port, Counter counter) {
    return gmp.fabric.CounterTotal(gmp.client.now, port, counter);
  }
  absl::Status SetSymbolRate(PortRef port, double symbol, double burst = 1) {
    return gmp.fabric.SetLinkNoise(gmp.client.now, port,
                                   {RawRateFor(symbol, gmp.fabric.FecAt(port)), burst, 0});
  }
  double Bits(double time) {
    return ActiveGigabits(gmp.fabric.device(leaf.node)->port(leaf.port).info) * 1e9 * time;
  }

  GmpFabric gmp;
  PortRef first = gmp.Port("node0001 mlx5_0", 1), second = gmp.Port("node0002 mlx5_0", 1);
  PortRef leaf = gmp.fabric.LinkedPeer(first);  // Receives what node0001 sends.
  PortRef egress = gmp.fabric.LinkedPeer(second);
};

TEST_F(LinkErrorsTest, CountsFollowTheModel) {
  ASSERT_TRUE(SetSymbolRate(leaf, 1e-12).ok());
  Pass(seconds(1000));
  const auto symbol = static_cast<double>(Total(leaf, Counter::kSymbolErrors));
  EXPECT_NEAR(symbol / (1e-12 * Bits(1000)), 1, 0.3);
  EXPECT_GT(Total(leaf, Counter::kRawErrors), Total(leaf, Counter::kEffectiveErrors));
  EXPECT_GE(Total(leaf, Counter::kFecUncorrectableBlocks), Total(leaf, Counter::kSymbolErrors));
  EXPECT_EQ(Total(leaf, Counter::kRcvErrors), 0u) << "no packet was there to be hit";
  EXPECT_EQ(Total(first, Counter::kRawErrors), 0u) << "the other direction";
  ASSERT_TRUE(gmp.fabric.SetLinkNoise(gmp.client.now, leaf, LinkNoise()).ok());
  Pass(seconds(100));
  EXPECT_EQ(static_cast<double>(Total(leaf, Counter::kSymbolErrors)), symbol);
  EXPECT_EQ(gmp.fabric.next_event(), kNever);
}

TEST_F(LinkErrorsTest, FecHidesADirtyCable) {
  ASSERT_TRUE(gmp.fabric.SetLinkNoise(gmp.client.now, leaf, {1e-6, 1, 0}).ok());
  Pass(seconds(1000));
  EXPECT_GT(Total(leaf, Counter::kCorrectedBits), 1'000'000u);
  EXPECT_EQ(Total(leaf, Counter::kSymbolErrors), 0u);
}

TEST_F(LinkErrorsTest, BurstsKeepTheRateAndFallIntoFewerSeconds) {
  ASSERT_TRUE(SetSymbolRate(leaf, 1e-12, 40).ok());
  uint64_t before = 0;
  int busy = 0;
  for (int i = 0; i < 2000; ++i) {
    Pass(seconds(1));
    const uint64_t now = Total(leaf, Counter::kSymbolErrors);
    busy += now != before ? 1 : 0;
    before = now;
  }
  EXPECT_NEAR(static_cast<double>(before) / (1e-12 * Bits(2000)), 1, 0.6);
  EXPECT_GT(busy, 2);
  EXPECT_LT(busy * 20, static_cast<double>(before)) << "some 40 in a burst";
}

TEST_F(LinkErrorsTest, PacketsThatAreHitGoOnMarkedAsBad) {
  ASSERT_TRUE(
      gmp.fabric
          .StartTraffic(gmp.client.now, {"job", TrafficPattern::kRing, {"node0001", "node0002"}})
          .ok());
  ASSERT_TRUE(SetSymbolRate(leaf, 1e-11).ok());
  Pass(seconds(100));
  const uint64_t hit = Total(leaf, Counter::kRcvLocalPhysicalErrors);
  EXPECT_GT(hit, 50u);
  EXPECT_EQ(Total(leaf, Counter::kRcvErrors), hit);
  EXPECT_EQ(Total(leaf, Counter::kRcvRemotePhysicalErrors), 0u);
  EXPECT_EQ(Total(second, Counter::kRcvRemotePhysicalErrors), hit);
  EXPECT_EQ(Total(second, Counter::kRcvErrors), hit);
  EXPECT_EQ(Total(second, Counter::kRcvLocalPhysicalErrors), 0u);
  EXPECT_EQ(Total(egress, Counter::kRcvErrors), 0u) << "not on the path";
}

TEST_F(LinkErrorsTest, ManyPacketsThatAreHitInASecondAreReportedByTrap) {
  ASSERT_TRUE(
      gmp.fabric
          .StartTraffic(gmp.client.now, {"job", TrafficPattern::kRing, {"node0001", "node0002"}})
          .ok());
  ASSERT_TRUE(SetSymbolRate(leaf, 1e-9).ok());
  gmp.client.now += seconds(2);
  std::vector<Delivery> delivered;
  gmp.fabric.Advance(gmp.client.now, delivered);
  EXPECT_EQ(Total(leaf, Counter::kLocalLinkIntegrityErrors), 2u);
  const auto is_trap = [&](const Delivery& delivery) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    if (mad == nullptr || mad->payload.size() < wire::kMadBytes) return false;
    const wire::Smp smp = DecodeSmp(mad->payload);
    const wire::Notice notice = wire::Notice::Decode(smp.data);
    return smp.method == wire::Method::kTrap && notice.trap == wire::kTrapLocalLinkIntegrity &&
           notice.subject_port() == leaf.port;
  };
  EXPECT_TRUE(std::any_of(delivered.begin(), delivered.end(), is_trap));
}

TEST_F(LinkErrorsTest, FirmwareDefectsCountSymbolErrorsWithoutRawErrors) {
  ASSERT_TRUE(gmp.fabric.SetLinkNoise(gmp.client.now, first, {0, 1, 0.5}).ok());
  Pass(seconds(1000));
  EXPECT_NEAR(static_cast<double>(Total(first, Counter::kSymbolErrors)), 500, 100);
  EXPECT_EQ(Total(first, Counter::kRawErrors), 0u);
}

TEST_F(LinkErrorsTest, SeedsRepeat) {
  GmpFabric again;
  for (GmpFabric* each : {&gmp, &again}) {
    ASSERT_TRUE(each->fabric.SetLinkNoise(each->client.now, leaf, {3e-4, 5, 0}).ok());
    std::vector<Delivery> delivered;
    each->fabric.Advance(each->client.now + seconds(500), delivered);
  }
  const Instant end = gmp.client.now + seconds(500);
  EXPECT_GT(gmp.fabric.CounterTotal(end, leaf, Counter::kEffectiveErrors), 0u);
  for (Counter counter : {Counter::kRawErrors, Counter::kEffectiveErrors, Counter::kSymbolErrors}) {
    EXPECT_EQ(gmp.fabric.CounterTotal(end, leaf, counter),
              again.fabric.CounterTotal(end, leaf, counter));
  }
}

TEST_F(LinkErrorsTest, ALinkThatIsDownCountsNothing) {
  ASSERT_TRUE(SetSymbolRate(leaf, 1e-11).ok());
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  Pass(seconds(100));
  EXPECT_EQ(Total(leaf, Counter::kRawErrors), 0u);
}

TEST_F(LinkErrorsTest, InvalidNoiseIsRefused) {
  const auto set = [&](LinkNoise noise) {
    return gmp.fabric.SetLinkNoise(gmp.client.now, leaf, noise).code();
  };
  EXPECT_EQ(set({2, 1, 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(set({0.1, 0.5, 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(set({0.1, 1, -1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gmp.fabric.SetLinkNoise(gmp.client.now, {NodeIndex(9999), PortNum(1)}, {}).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fabricd::sim
