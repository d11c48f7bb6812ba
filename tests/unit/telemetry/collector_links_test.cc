// SPDX-License-Identifier: Apache-2.0
// What the collector notes of links that change, fail or count errors.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using Minutes = std::chrono::minutes;

TEST(CollectorLinksTest, ACableThatIsPluggedElsewhereIsAnotherLinkAlsoAfterASweepWithoutIt) {
  PolledFabric polled;
  const PortRef leaf = polled.Port("su1-rail0-leaf", 2);
  polled.Begin();
  polled.Run(Minutes(2));
  polled.Count(leaf, sim::Counter::kRcvErrors, 5);
  polled.Run(Minutes(2));
  const PortRef hca = polled.fabric.LinkedPeer(leaf);
  const PortRef other = polled.Port("su1-rail0-leaf", 3);
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) { builder.Unlink(leaf); };
  polled.Begin();
  EXPECT_TRUE(polled.epochs.empty());
  EXPECT_EQ(polled.View()->Find(leaf)->peer, hca);
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) { builder.Link(leaf, other); };
  polled.Begin();
  EXPECT_TRUE(std::ranges::any_of(polled.epochs, [&](const EpochStarted& epoch) {
    return epoch.port == leaf && epoch.cause == EpochCause::kLinkReplaced;
  }));
  EXPECT_EQ(polled.View()->Find(leaf)->peer, other);
  EXPECT_TRUE(polled.View()->FindDevice(leaf.node)->errors.entries().empty());
}

TEST(CollectorLinksTest, TheFirstLinkDownCountsByItsRegisterToo) {
  PolledFabric polled;
  const PortRef leaf = polled.Port("su1-rail0-leaf", 2);
  polled.Begin();
  polled.Run(Minutes(10));
  EXPECT_NE(polled.View()->Find(leaf)->ReadAt(Counter::kUnintentionalDowns), 0u);
  polled.Count(leaf, sim::Counter::kUnintentionalDowns, 1);
  polled.Count(leaf, sim::Counter::kLinkDowned, 1);
  polled.Run(Minutes(2));
  EXPECT_EQ(polled.Total(leaf, Counter::kUnintentionalDowns), 1u);
}

TEST(CollectorLinksTest, ErrorsBehindFecHaveItsBlocksReadAtOnce) {
  PolledFabric polled;
  const PortRef leaf = polled.Port("su1-rail0-leaf", 2);
  polled.Begin();
  polled.Run(Minutes(10));
  polled.Count(leaf, sim::Counter::kEffectiveErrors, 10);
  polled.Count(leaf, sim::Counter::kFecUncorrectableBlocks, 2);
  // PPCNT 0x16 is read each 5 minutes, 0x12 by itself each 30.
  polled.Run(Minutes(6));
  EXPECT_EQ(polled.Total(leaf, Counter::kFecUncorrectableBlocks), 2u);
}

// The usual readings of these registers are 5 min apart.
TEST(CollectorLinksTest, RegistersOfALinkWithErrorsAreReadAtEachTurnForAWhile) {
  Options options;
  options.interval = std::chrono::seconds(30);
  PolledFabric polled(options);
  const PortRef hca = polled.Port("node0001 mlx5_0", 1);
  polled.Begin();
  polled.Run(std::chrono::minutes(30));
  const auto readings_in_ten_minutes = [&] {
    const uint64_t before = polled.Asked(Ask::kBer);
    polled.Run(std::chrono::minutes(10));
    return polled.Asked(Ask::kBer) - before;
  };
  const uint64_t usual = readings_in_ten_minutes();
  ASSERT_TRUE(polled.fabric.SetBitErrorRates(polled.client.now, hca, {1e-7, 1e-11, 1e-12}).ok());
  polled.Run(std::chrono::minutes(6));
  const uint64_t watched = readings_in_ten_minutes();
  // 20 of each of two ends, where there were 2.
  EXPECT_GE(watched, usual + 30);
  EXPECT_LE(watched, usual + 40);
  EXPECT_EQ(polled.View()->Find(hca)->ber_step / 1000, 30u);
  ASSERT_TRUE(polled.fabric.SetBitErrorRates(polled.client.now, hca, {}).ok());
  polled.Run(std::chrono::minutes(16));
  EXPECT_EQ(readings_in_ten_minutes(), usual);
}

TEST(CollectorLinksTest, ATrapAboutAKeyIsCountedAtItsSenderAndReadsNothing) {
  wire::Notice notice;
  notice.trap = wire::kTrapBadPKey;
  PolledFabric polled;
  const PortRef hca = polled.Port("node0001 mlx5_0", 1);
  notice.issuer_lid = polled.LidOf(hca.node);
  const auto trap = LinkTrapOf(notice);
  ASSERT_TRUE(trap);
  polled.Begin();
  polled.Run(std::chrono::minutes(2));
  const uint64_t before = polled.View()->stats.requests;
  polled.Tell(*trap);
  EXPECT_EQ(polled.View()->stats.requests, before);
  const auto& incidents = polled.View()->FindDevice(hca.node)->incidents.entries();
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].what, Incident::kTrap);
  EXPECT_EQ(incidents[0].port, hca.port);
  notice.trap = wire::kTrapLinkStateChange;
  EXPECT_FALSE(LinkTrapOf(notice));
}

}  // namespace
}  // namespace fabricd::telemetry
