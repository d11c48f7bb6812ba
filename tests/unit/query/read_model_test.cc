// SPDX-License-Identifier: Apache-2.0
// What is made from the model before, against what is made anew.
#include "query/read_model.h"

#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/support/fabrics.h"

namespace fabricd::query {
namespace {

using fabric::FabricSnapshot;

void ExpectSame(const LinkCounts& a, const LinkCounts& b, const FabricSnapshot& snapshot) {
  EXPECT_EQ(a.links(), b.links());
  EXPECT_EQ(a.degraded(), b.degraded());
  EXPECT_EQ(a.ports_active(), b.ports_active());
  for (NodeIndex node(0); node.value() < snapshot.node_index_end();
       node = NodeIndex(node.value() + 1)) {
    EXPECT_EQ(a.of(node).as_a, b.of(node).as_a) << node.value();
    EXPECT_EQ(a.of(node).degraded, b.of(node).degraded) << node.value();
    EXPECT_EQ(a.of(node).ports_active, b.of(node).ports_active) << node.value();
  }
}

// A port that is up at one of two widths, both of which it supports.
wire::PortInfo AnyPort(Rng& rng) {
  wire::PortInfo info;
  info.port_state = rng.Below(4) ? wire::PortState::kActive : wire::PortState::kDown;
  info.link_width_supported = 3;
  info.link_width_active = rng.Below(3) ? 2 : 1;
  return info;
}

PortRef AnyPortOf(const fabric::SnapshotBuilder& builder, NodeIndex node, Rng& rng) {
  const size_t ports = builder.node(node)->ports.size();
  return {node, PortNum(static_cast<uint8_t>(1 + rng.Below(ports - 1)))};
}

TEST(LinkCountsTest, UpdatedCountsEqualCountsFromScratch) {
  const auto made = fabricd::testing::MakeFatTree(8, 2).Build();
  fabric::SnapshotBuilder builder(*made.snapshot);
  Rng rng(7);
  auto before = builder.Build();
  LinkCounts counts(*before);
  uint64_t degraded_seen = 0;
  for (int round = 0; round < 300; ++round) {
    for (uint64_t change = 1 + rng.Below(4); change > 0; --change) {
      const NodeIndex node = made.node[rng.Below(made.node.size())];
      if (builder.node(node) == nullptr) {
        builder.PutNode(made.snapshot->node(node)->info);
        continue;
      }
      const PortRef port = AnyPortOf(builder, node, rng);
      const NodeIndex other = made.node[rng.Below(made.node.size())];
      switch (rng.Below(8)) {
        case 0: builder.RemoveNode(node); break;
        case 1: builder.Unlink(port); break;
        case 2:
          if (other != node && builder.node(other) != nullptr)
            builder.Link(port, AnyPortOf(builder, other, rng));
          break;
        default: builder.SetPortInfo(port, AnyPort(rng));
      }
    }
    const auto now = builder.Build();
    counts = counts.Moved(*before, *now);
    ExpectSame(counts, LinkCounts(*now), *now);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    degraded_seen += counts.degraded();
    before = now;
  }
  EXPECT_GT(degraded_seen, 0u);
}

}  // namespace
}  // namespace fabricd::query
