// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/graph.h"

#include <gtest/gtest.h>

#include "tests/support/fabrics.h"

namespace fabricd::routing {
namespace {

using testing::FabricMaker;
using testing::TestFabric;

std::vector<SwitchGraph> Graphs(const TestFabric& fabric) {
  return BuildGraphs(*fabric.snapshot, fabric.lids);
}

TEST(Graph, NumbersSwitchesByGuidNotByIndex) {
  FabricMaker maker;
  const size_t high = maker.AddSwitch(4), low = maker.AddSwitch(4);
  maker.SetGuid(high, Guid(0x900));
  maker.SetGuid(low, Guid(0x100));
  maker.Cable(high, low);
  const TestFabric fabric = maker.Build();
  const auto graphs = Graphs(fabric);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].node, (std::vector<NodeIndex>{fabric.node[low], fabric.node[high]}));
}

TEST(Graph, ParallelCablesAreOneNeighborByPort) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(8), b = maker.AddSwitch(8);
  maker.Cable(a, 7, b, 2);
  maker.Cable(a, 3, b, 5);
  const auto graphs = Graphs(maker.Build());
  ASSERT_EQ(graphs.size(), 1u);
  const SwitchGraph& graph = graphs[0];
  ASSERT_EQ(graph.degree(0), 1u);
  const Neighbor& neighbor = graph.neighbor(0, 0);
  EXPECT_EQ(neighbor.head, 1u);
  ASSERT_EQ(neighbor.cable_count, 2);
  EXPECT_EQ(graph.cables[neighbor.first_cable].port, 3);
  EXPECT_EQ(graph.cables[neighbor.first_cable].head_port, 5);
  EXPECT_EQ(graph.cables[neighbor.first_cable + 1].port, 7);
}

TEST(Graph, CableOfASwitchToItselfIsNoArc) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(8);
  maker.Cable(a, 1, a, 2);
  const auto graphs = Graphs(maker.Build());
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].degree(0), 0u);
}

TEST(Graph, EndPortsAreSwitchPortZeroThenCaAndRouterPorts) {
  FabricMaker maker;
  const size_t sw = maker.AddSwitch(8), ca = maker.AddHost(2), router = maker.AddRouter(1);
  maker.Cable(sw, 6, ca, 1);
  maker.Cable(sw, 2, ca, 2);
  maker.Cable(sw, 4, router, 1);
  const TestFabric fabric = maker.Build(1);
  const auto graphs = Graphs(fabric);
  ASSERT_EQ(graphs.size(), 1u);
  const auto& ends = graphs[0].ends;
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_TRUE(ends[0].IsSwitch());
  EXPECT_EQ(ends[0].lmc, 0);
  EXPECT_EQ(ends[1].port, 2);
  EXPECT_EQ(ends[1].base_lid, fabric.LidOf(ca, 2).value());
  EXPECT_EQ(ends[1].lid_count(), 2u);
  EXPECT_EQ(ends[2].owner.node, fabric.node[router]);
  EXPECT_EQ(ends[3].base_lid, fabric.LidOf(ca, 1).value());
  EXPECT_EQ(graphs[0].hosts[0], 3u);
}

TEST(Graph, BackToBackCasBelongToNoGraph) {
  FabricMaker maker;
  const size_t a = maker.AddHost(), b = maker.AddHost();
  maker.Cable(a, b);
  EXPECT_TRUE(Graphs(maker.Build()).empty());
}

TEST(Graph, OneGraphPerConnectedComponent) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(4), lonely = maker.AddSwitch(4), b = maker.AddSwitch(4);
  maker.Cable(a, b);
  const TestFabric fabric = maker.Build();
  const auto graphs = Graphs(fabric);
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs[0].size(), 2u);
  EXPECT_EQ(graphs[1].node, std::vector<NodeIndex>{fabric.node[lonely]});
}

TEST(Graph, LinkWithOneEndDownDoesNotCount) {
  FabricMaker maker;
  const size_t a = maker.AddSwitch(4), b = maker.AddSwitch(4), host = maker.AddHost();
  maker.Cable(a, 1, b, 1);
  maker.Cable(a, 2, host, 1);
  TestFabric fabric = maker.Build();
  fabric::SnapshotBuilder builder(*fabric.snapshot);
  wire::PortInfo down;
  down.port_state = wire::PortState::kDown;
  builder.SetPortInfo({fabric.node[b], PortNum(1)}, down);
  builder.SetPortUnknown({fabric.node[host], PortNum(1)});
  fabric.snapshot = builder.Build();
  const auto graphs = Graphs(fabric);
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs[0].degree(0), 0u);
  EXPECT_EQ(graphs[0].hosts[0], 0u);
}

TEST(Graph, AggregationNodeIsNoHost) {
  for (const char* name :
       {"Mellanox Technologies Aggregation Node", "Quantum Mellanox Technologies"}) {
    FabricMaker maker;
    const size_t sw = maker.AddSwitch(4);
    maker.Cable(sw, maker.AddHost(1, name));
    const auto graphs = Graphs(maker.Build());
    EXPECT_EQ(graphs[0].hosts[0], 0u) << name;
    EXPECT_TRUE(graphs[0].ends[1].aggregation) << name;
  }
}

}  // namespace
}  // namespace fabricd::routing
