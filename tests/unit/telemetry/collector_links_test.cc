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

}  // namespace
}  // namespace fabricd::telemetry
