// SPDX-License-Identifier: Apache-2.0
// FabricSnapshot and SnapshotBuilder: what is shared between generations, tombstones, diffs, and
// how long a large fabric takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"

namespace fabricd::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::NodeInfo Info(uint64_t guid, wire::NodeType type, uint8_t ports) {
  wire::NodeInfo info;
  info.node_type = type;
  info.num_ports = ports;
  info.node_guid = Guid(guid);
  return info;
}
wire::NodeInfo Switch(uint64_t guid, uint8_t ports = 4) {
  return Info(guid, wire::NodeType::kSwitch, ports);
}
wire::NodeInfo Adapter(uint64_t guid, uint8_t ports = 1) {
  return Info(guid, wire::NodeType::kChannelAdapter, ports);
}
PortRef At(NodeIndex node, int port) { return {node, PortNum(static_cast<uint8_t>(port))}; }

wire::PortInfo UpPort() {
  wire::PortInfo info;
  info.port_state = wire::PortState::kInit;
  return info;
}

TEST(SnapshotBuilderTest, EmptySnapshotKnowsNothing) {
  const auto snapshot = SnapshotBuilder().Build();
  EXPECT_EQ(snapshot->generation(), Generation(0));
  EXPECT_EQ(snapshot->node_count(), 0u);
  EXPECT_EQ(snapshot->node(NodeIndex(0)), nullptr);
  EXPECT_EQ(snapshot->node(NodeIndex::None()), nullptr);
  EXPECT_TRUE(snapshot->FindIndex(Guid(1)).IsNone());
  EXPECT_TRUE(snapshot->FindPort(Guid(1)).IsNone());
}

TEST(SnapshotBuilderTest, UnchangedBuilderKeepsGeneration) {
  SnapshotBuilder builder;
  const NodeIndex node = builder.PutNode(Switch(1));
  const auto first = builder.Build();
  EXPECT_EQ(first->generation(), Generation(1));
  EXPECT_EQ(builder.Build(), first);
  // Edits that change nothing, or are taken back, are none.
  builder.PutNode(Switch(1));
  builder.SetDescription(node, "leaf");
  builder.SetDescription(node, "");
  const auto second = builder.Build();
  EXPECT_EQ(second->generation(), Generation(1));
  EXPECT_EQ(second->node(node), first->node(node));
}

TEST(SnapshotBuilderTest, SharesUntouchedNodes) {
  SnapshotBuilder builder;
  std::vector<NodeIndex> nodes;
  for (uint64_t guid = 1; guid <= 200; ++guid) nodes.push_back(builder.PutNode(Switch(guid)));
  const auto before = builder.Build();
  builder.SetDescription(nodes[70], "changed");
  const auto after = builder.Build();
  for (const NodeIndex node : nodes) {
    EXPECT_EQ(before->node(node) == after->node(node), node != nodes[70]) << node.value();
  }
  EXPECT_EQ(before->node(nodes[70])->description, "");
  EXPECT_EQ(after->node(nodes[70])->description, "changed");
}

TEST(SnapshotBuilderTest, TombstoneIsReusedBySameGuidOnly) {
  SnapshotBuilder builder;
  const NodeIndex a = builder.PutNode(Switch(1));
  const NodeIndex b = builder.PutNode(Adapter(2));
  builder.Link(At(a, 1), At(b, 1));
  builder.Build();
  builder.RemoveNode(b);
  const auto gone = builder.Build();
  EXPECT_EQ(gone->node(b), nullptr);
  EXPECT_EQ(gone->node_count(), 1u);
  EXPECT_EQ(gone->FindIndex(Guid(2)), b);
  EXPECT_EQ(gone->FindNode(Guid(2)), nullptr);
  EXPECT_TRUE(gone->node(a)->ports[1].peer.IsNone());
  EXPECT_NE(builder.PutNode(Adapter(3)), b);
  EXPECT_EQ(builder.PutNode(Adapter(2)), b);
  EXPECT_EQ(builder.Build()->node_index_end(), 3u);
}

TEST(SnapshotBuilderTest, OtherPortCountRemakesNode) {
  SnapshotBuilder builder;
  const NodeIndex a = builder.PutNode(Switch(1));
  const NodeIndex b = builder.PutNode(Adapter(2));
  builder.SetDescription(b, "old");
  builder.Link(At(a, 1), At(b, 1));
  builder.Build();
  EXPECT_EQ(builder.PutNode(Adapter(2, 2)), b);
  const auto snapshot = builder.Build();
  EXPECT_EQ(snapshot->node(b)->ports.size(), 3u);
  EXPECT_EQ(snapshot->node(b)->description, "");
  EXPECT_TRUE(snapshot->node(a)->ports[1].peer.IsNone());
}

TEST(SnapshotBuilderTest, LinkCutsFormerLinksOfBothEnds) {
  SnapshotBuilder builder;
  const NodeIndex s = builder.PutNode(Switch(1));
  builder.Link(At(s, 1), At(s, 2));
  builder.Link(At(s, 3), At(s, 4));
  builder.Link(At(s, 1), At(s, 3));
  const auto snapshot = builder.Build();
  const Node& node = *snapshot->node(s);
  EXPECT_EQ(node.ports[1].peer, At(s, 3));
  EXPECT_EQ(node.ports[3].peer, At(s, 1));
  EXPECT_TRUE(node.ports[2].peer.IsNone());
  EXPECT_TRUE(node.ports[4].peer.IsNone());
}

TEST(SnapshotBuilderTest, IgnoresImpossibleLinksPortsAndNodes) {
  SnapshotBuilder builder;
  const NodeIndex s = builder.PutNode(Switch(1, 255));
  const auto before = builder.Build();
  EXPECT_EQ(before->node(s)->ports.size(), 256u);
  builder.Link(At(s, 1), At(s, 1));
  builder.Link(At(s, 0), At(s, 1));
  builder.Link(At(s, 1), At(NodeIndex(7), 1));
  builder.SetPortInfo(At(NodeIndex(7), 1), UpPort());
  builder.SetDescription(NodeIndex::None(), "nobody");
  builder.RemoveNode(NodeIndex(7));
  EXPECT_EQ(builder.Build(), before);
}

TEST(SnapshotBuilderTest, ControlCharactersOfDescriptionsAreReplaced) {
  SnapshotBuilder builder;
  const NodeIndex node = builder.PutNode(Switch(1));
  builder.SetDescription(node, "a\nb\tc\x7F\xC3\xA4");
  EXPECT_EQ(builder.Build()->node(node)->description, "a.b.c.\xC3\xA4");
}

TEST(SnapshotBuilderTest, FindsPortsByGuid) {
  wire::NodeInfo seen = Adapter(2, 2);
  seen.port_guid = Guid(22);
  seen.local_port = PortNum(2);
  SnapshotBuilder builder;
  const NodeIndex a = builder.PutNode(seen);
  const NodeIndex b = builder.PutNode(Adapter(3, 2));
  builder.SetPortGuid(At(b, 1), Guid(31));
  builder.Build();
  EXPECT_EQ(builder.Build()->FindPort(Guid(22)), At(a, 2));
  EXPECT_EQ(builder.Build()->FindPort(Guid(31)), At(b, 1));
  // Of two that claim one GUID the first keeps it, sweep after sweep.
  builder.SetPortGuid(At(b, 2), Guid(22));
  const auto duplicate = builder.Build();
  EXPECT_EQ(duplicate->FindPort(Guid(22)), At(a, 2));
  builder.PutNode(seen);
  builder.SetPortGuid(At(b, 2), Guid(22));
  EXPECT_EQ(builder.Build(), duplicate);
  builder.RemoveNode(a);
  EXPECT_TRUE(builder.Build()->FindPort(Guid(22)).IsNone());
  builder.SetPortGuid(At(b, 2), Guid(22));
  EXPECT_EQ(builder.Build()->FindPort(Guid(22)), At(b, 2));
}

TEST(SnapshotTest, SameNodesMayBeInAnotherState) {
  SnapshotBuilder builder;
  const NodeIndex leaf = builder.PutNode(Switch(1));
  const NodeIndex host = builder.PutNode(Adapter(2));
  const auto before = builder.Build();
  wire::PortInfo up;
  up.port_state = wire::PortState::kActive;
  builder.SetPortInfo(At(leaf, 1), up);
  builder.Link(At(leaf, 1), At(host, 1));
  EXPECT_TRUE(SameNodes(*before, *builder.Build()));
  builder.SetDescription(host, "node1 mlx5_0");
  const auto renamed = builder.Build();
  EXPECT_FALSE(SameNodes(*before, *renamed));
  builder.RemoveNode(host);
  const auto gone = builder.Build();
  EXPECT_FALSE(SameNodes(*renamed, *gone));
  EXPECT_FALSE(SameNodes(*gone, *renamed));
  EXPECT_TRUE(SameNodes(*gone, *builder.Build()));
}

TEST(SnapshotTest, Fdr10IsTheSpeedWhereTheVendorAttributeReportsIt) {
  Port port;
  port.info.link_speed_active = 4;
  EXPECT_EQ(port.Speed(), wire::LinkSpeed::kQdr);
  port.fdr10 = true;
  EXPECT_EQ(port.Speed(), wire::LinkSpeed::kFdr10);
  port.info.link_speed_ext_active = 1;
  EXPECT_EQ(port.Speed(), wire::LinkSpeed::kFdr);
}

TEST(SnapshotTest, PortsOfANodeAreVisitedByKind) {
  const auto numbers = [](const NodePorts& ports) {
    std::vector<uint8_t> found;
    for (const auto& [ref, port] : ports) {
      EXPECT_EQ(ref.node, NodeIndex(7));
      found.push_back(ref.port.value());
    }
    return found;
  };
  Node node;
  node.index = NodeIndex(7);
  node.info.num_ports = 3;
  node.ports.resize(4);
  node.info.node_type = wire::NodeType::kSwitch;
  EXPECT_THAT(numbers(node.AllPorts()), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers(node.LinkPorts()), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(node.EndPorts()), ElementsAre(0));
  node.info.node_type = wire::NodeType::kChannelAdapter;
  EXPECT_THAT(numbers(node.AllPorts()), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(node.LinkPorts()), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(node.EndPorts()), ElementsAre(1, 2, 3));
  for (const auto& [ref, port] : node.AllPorts()) EXPECT_EQ(&port, &node.port(ref.port));
  node.ports.clear();
  EXPECT_THAT(numbers(node.LinkPorts()), IsEmpty());
  node.ports.resize(256);
  EXPECT_EQ(numbers(node.LinkPorts()).size(), 255u);
}

TEST(SnapshotTest, ALinkThatIsUpHasARate) {
  Port port;
  port.info.link_speed_active = 4;
  port.info.link_width_active = 2;
  port.info.port_state = wire::PortState::kInit;
  EXPECT_EQ(port.Rate().nominal, 0) << "nothing is known of the port";
  port.known = true;
  EXPECT_EQ(port.Rate().nominal, 40);
  EXPECT_EQ(port.Rate().data, 32);
  EXPECT_EQ(port.Rate().signal, 40);
  port.fdr10 = true;
  EXPECT_EQ(port.Rate().data, 40);
  EXPECT_EQ(port.Rate().signal, 41.25);
  port.info.port_state = wire::PortState::kDown;
  EXPECT_EQ(port.Rate().nominal, 0);
}

TEST(DiffTest, ListsChangedNodesAndLinks) {
  SnapshotBuilder builder;
  const NodeIndex a = builder.PutNode(Switch(1));
  const NodeIndex b = builder.PutNode(Switch(2));
  const NodeIndex c = builder.PutNode(Switch(3));
  const NodeIndex d = builder.PutNode(Switch(4));
  for (const NodeIndex node : {a, b, c, d}) {
    for (int port = 1; port <= 4; ++port) builder.SetPortInfo(At(node, port), UpPort());
  }
  builder.Link(At(a, 1), At(b, 1));
  builder.Link(At(a, 2), At(c, 1));
  builder.Link(At(b, 2), At(c, 2));
  const auto before = builder.Build();
  EXPECT_TRUE(Diff(*before, *before).empty());

  builder.RemoveNode(c);
  const NodeIndex e = builder.PutNode(Switch(5));
  for (int port = 1; port <= 4; ++port) builder.SetPortInfo(At(e, port), UpPort());
  builder.Link(At(a, 2), At(e, 1));
  builder.SetPortUnknown(At(b, 1));
  builder.SetDescription(d, "renamed");
  const auto after = builder.Build();
  const SnapshotDiff diff = Diff(*before, *after);
  EXPECT_THAT(diff.added, ElementsAre(e));
  EXPECT_THAT(diff.removed, ElementsAre(c));
  EXPECT_THAT(diff.changed, ElementsAre(a, b, d));
  ASSERT_EQ(diff.links.size(), 4u);
  const auto is = [&](size_t i, PortRef x, PortRef y, bool up) {
    EXPECT_TRUE(diff.links[i].a == x && diff.links[i].b == y && diff.links[i].up == up) << i;
  };
  is(0, At(a, 1), At(b, 1), false);  // Linked still, but one end is not up.
  is(1, At(a, 2), At(c, 1), false);
  is(2, At(a, 2), At(e, 1), true);
  is(3, At(b, 2), At(c, 2), false);
  EXPECT_THAT(Diff(*after, *after).links, IsEmpty());
}

// Many chunks, most of them full.
TEST(SnapshotBuilderTest, FifteenThousandNodes) {
  SnapshotBuilder builder;
  constexpr uint64_t kNodes = 15000;
  for (uint64_t guid = 1; guid <= kNodes; ++guid) {
    wire::NodeInfo info = guid % 12 == 0 ? Switch(guid, 64) : Adapter(guid);
    info.port_guid = Guid(guid);
    info.local_port = PortNum(1);
    const NodeIndex node = builder.PutNode(info);
    for (int port = 1; port <= info.num_ports; ++port)
      builder.SetPortInfo(At(node, port), UpPort());
  }
  const auto snapshot = builder.Build();
  EXPECT_EQ(snapshot->node_count(), kNodes);
}

}  // namespace
}  // namespace fabricd::fabric
