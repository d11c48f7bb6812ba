// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/gone_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class GoneNodesTest : public testing::Test {
 protected:
  GoneNodesTest() {
    fabric_.builder.SetDescription(fabric_.switches[0], "leaf1");
    fabric_.builder.SetDescription(fabric_.hosts[0], "host0 mlx5_0");
    snapshot_ = fabric_.builder.Build();
  }
  std::vector<GoneNodes::Change> Note(Instant now = Instant(std::chrono::seconds(5))) {
    auto before = std::exchange(snapshot_, fabric_.builder.Build());
    return gone_.Note(*before, *snapshot_, now);
  }
  SmallFabric fabric_{2};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  GoneNodes gone_;
};

TEST_F(GoneNodesTest, ANodeThatLeavesIsRememberedWithItsNameAndNeighbours) {
  const NodeIndex leaf = fabric_.switches[0];
  fabric_.builder.RemoveNode(leaf);
  const auto changes = Note();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].node, leaf);
  EXPECT_EQ(changes[0].what, GoneNodes::Change::What::kVanished);
  const auto list = gone_.List();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].node, Guid(0x10));
  EXPECT_TRUE(list[0].is_switch);
  EXPECT_EQ(list[0].description, "leaf1");
  EXPECT_THAT(list[0].facing, SizeIs(2)) << "the other switch, and a host";
  EXPECT_EQ(list[0].since, Instant(std::chrono::seconds(5)));
  EXPECT_EQ(gone_.NameOf({leaf, PortNum(17)}, *snapshot_), "leaf1/17");
  EXPECT_EQ(gone_.GuidOf(leaf, *snapshot_), Guid(0x10));
}

TEST_F(GoneNodesTest, ANodeThatComesBackIsForgottenAndCalledByItsNewName) {
  const NodeIndex host = fabric_.hosts[0];
  const wire::NodeInfo info = fabric_.builder.node(host)->info;
  fabric_.builder.RemoveNode(host);
  Note();
  EXPECT_EQ(fabric_.builder.PutNode(info), host);
  fabric_.builder.SetDescription(host, "renamed mlx5_0");
  const auto changes = Note();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, GoneNodes::Change::What::kAppeared);
  EXPECT_THAT(gone_.List(), IsEmpty());
  EXPECT_THAT(gone_.NameOf({host, PortNum(0)}, *snapshot_), testing::HasSubstr("renamed"));
}

TEST_F(GoneNodesTest, AChangeOfANodeThatStaysIsNone) {
  fabric_.builder.SetDescription(fabric_.hosts[0], "other");
  EXPECT_THAT(Note(), IsEmpty());
  EXPECT_THAT(Note(), IsEmpty());
}

TEST_F(GoneNodesTest, ChangesAreByIndexAndTheListIsByGuid) {
  fabric_.builder.RemoveNode(fabric_.hosts[1]);
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  const auto changes = Note();
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_LT(changes[0].node, changes[1].node);
  const auto list = gone_.List();
  EXPECT_EQ(list[0].node, Guid(0x11));
  EXPECT_EQ(list[1].node, Guid(0x101));
}

TEST_F(GoneNodesTest, ANodeThatWasNeverSeenHasItsIndexForAName) {
  EXPECT_EQ(gone_.NameOf({NodeIndex(77), PortNum(1)}, *snapshot_), "node index 77/1");
  EXPECT_EQ(gone_.GuidOf(NodeIndex(77), *snapshot_), Guid(0));
}

}  // namespace
}  // namespace fabricd::sweep
