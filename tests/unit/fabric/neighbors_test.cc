// SPDX-License-Identifier: Apache-2.0
#include "fabric/neighbors.h"

#include <gtest/gtest.h>

#include "sim/generate/generate.h"

namespace fabricd::fabric {
namespace {

TEST(Neighbors, TheTextOfAFabricIsReadBack) {
  const auto snapshot = *sim::Generate("superpod:sus=1,hosts=2,rails=2,radix=8");
  size_t skipped = 0;
  const Neighbors read = ParseNeighbors(NeighborsText(*snapshot), &skipped);
  EXPECT_EQ(skipped, 0u);
  EXPECT_FALSE(read.empty());
  EXPECT_EQ(read, NeighborsOf(*snapshot));
  // Both ends of a host's link, by the GUIDs of their end ports.
  snapshot->ForEachNode([&](const Node& node) {
    if (node.IsSwitch()) return;
    const Port& port = node.port(PortNum(1));
    const Guid leaf = snapshot->node(port.peer.node)->port(PortNum(0)).guid;
    EXPECT_EQ(read.at({port.guid, PortNum(1)}), leaf);
    EXPECT_EQ(read.at({leaf, port.peer.port}), port.guid);
  });
}

TEST(Neighbors, LinesOfAnotherFormAreCounted) {
  size_t skipped = 0;
  const Neighbors read = ParseNeighbors(
      "# of OpenSM\n0x0002c90300a1b2c0:17 0x0002c90300000001:1\n\n0x1:2\n0x0:1 0x2:1\n"
      "0x1 0x2\n0x1:2 0x3:4 5\n0x1:256 0x2:1\n",
      &skipped);
  EXPECT_EQ(skipped, 5u);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read.at({Guid(0x0002c90300a1b2c0), PortNum(17)}), Guid(0x0002c90300000001));
}

}  // namespace
}  // namespace fabricd::fabric
