// SPDX-License-Identifier: Apache-2.0
#include "fabric/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/rng.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/snapshot_builder.h"
#include "sim/generate/generate.h"

namespace fabricd::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using SnapshotPtr = std::shared_ptr<const FabricSnapshot>;

SnapshotPtr Made(const std::string& spec) {
  auto made = sim::Generate(spec);
  EXPECT_TRUE(made.ok()) << spec << ": " << made.status();
  return made.ok() ? *made : nullptr;
}

Rails RailsOf(const FabricSnapshot& snapshot) {
  return FindRails(snapshot, FindHosts(snapshot, HostPatterns()));
}

std::string NameOf(const FabricSnapshot& snapshot, NodeIndex node) {
  return node.IsNone() ? "-" : snapshot.node(node)->description;
}

// The generator's names tell what is right: "su2-rail1-leaf", "node0007 mlx5_1".
void ExpectSuperPod(const FabricSnapshot& snapshot, const Rails& rails, size_t sus,
                    size_t rail_count) {
  ASSERT_EQ(rails.why_none, "");
  ASSERT_EQ(rails.units.size(), sus);
  ASSERT_EQ(rails.names.size(), rail_count);
  for (size_t su = 0; su < sus; ++su)
    for (size_t rail = 0; rail < rail_count; ++rail)
      EXPECT_EQ(NameOf(snapshot, rails.units[su].leaf[rail]),
                fmt::format("su{}-rail{}-leaf", su + 1, rail));
}

// What tells where each HCA is: by name, its leaf before anything was misplaced.
std::map<std::string, std::string> LeafByHca(const FabricSnapshot& snapshot) {
  std::map<std::string, std::string> leaf;
  snapshot.ForEachNode([&](const Node& node) {
    if (!node.IsSwitch()) leaf[node.description] = NameOf(snapshot, node.ports[1].peer.node);
  });
  return leaf;
}

// A copy in which every adapter calls itself as the vendor does; with `own_system`, each is a
// system of its own too. `shuffle` tells the nodes in another order.
SnapshotPtr WithoutNames(const FabricSnapshot& snapshot, bool own_system, uint64_t shuffle = 0,
                         const std::string& name = "MT4129 ConnectX7 Mellanox Technologies") {
  SnapshotBuilder builder;
  std::vector<const Node*> nodes;
  snapshot.ForEachNode([&](const Node& node) { nodes.push_back(&node); });
  Rng rng(shuffle);
  for (size_t i = nodes.size(); shuffle && i > 1; --i) std::swap(nodes[i - 1], nodes[rng.Below(i)]);
  for (const Node* node : nodes) {
    wire::NodeInfo info = node->info;
    if (own_system) info.system_image_guid = info.node_guid;
    const NodeIndex index = builder.PutNode(info);
    builder.SetDescription(index, node->IsSwitch() || name.empty() ? node->description : name);
  }
  for (const Node* node : nodes)
    for (const Port& port : node->ports)
      if (!port.peer.IsNone())
        builder.Link({builder.FindIndex(node->guid()), snapshot.port(port.peer)->peer.port},
                     {builder.FindIndex(snapshot.node(port.peer.node)->guid()), port.peer.port});
  return builder.Build();
}

// A value that does not depend on node indices.
std::vector<std::string> Told(const FabricSnapshot& snapshot, const Rails& rails) {
  std::vector<std::string> told = rails.names;
  for (const RailUnit& unit : rails.units) {
    std::string line;
    for (NodeIndex leaf : unit.leaf) line += NameOf(snapshot, leaf) + " ";
    for (uint32_t host : unit.hosts) {
      line += fmt::format("{}:", rails.hosts[host].name);
      for (PortRef end : rails.hosts[host].ends)
        line += end.IsNone() ? "-," : fmt::format("{},", snapshot.node(end.node)->guid());
    }
    told.push_back(line);
  }
  for (const MisplacedEnd& end : rails.misplaced) told.push_back(Describe(end, rails, snapshot));
  return told;
}

TEST(RailsTest, FindsTheUnitsOfSuperPods) {
  for (const auto& [spec, sus, rail_count, hosts] :
       {std::tuple("superpod:sus=4", 4, 8, 128), std::tuple("superpod:sus=16", 16, 8, 512),
        std::tuple("superpod:sus=1,hosts=2,rails=2", 1, 2, 2),
        std::tuple("superpod:sus=3,hosts=4,rails=12", 3, 12, 12)}) {
    SCOPED_TRACE(spec);
    const SnapshotPtr snapshot = Made(spec);
    const Rails rails = RailsOf(*snapshot);
    ExpectSuperPod(*snapshot, rails, sus, rail_count);
    EXPECT_THAT(rails.misplaced, ::testing::IsEmpty());
    ASSERT_EQ(rails.hosts.size(), hosts);
    for (size_t host = 0; host < rails.hosts.size(); ++host)
      for (size_t rail = 0; rail < rails.names.size(); ++rail)
        EXPECT_EQ(NameOf(*snapshot, rails.hosts[host].ends[rail].node),
                  fmt::format("node{:04} mlx5_{}", host + 1, rail));
  }
}

TEST(RailsTest, MissingHcasLeaveGaps) {
  for (int seed = 1; seed <= 5; ++seed) {
    const SnapshotPtr snapshot =
        Made(fmt::format("superpod:sus=4,missing-hcas=0.05,seed={}", seed));
    const Rails rails = RailsOf(*snapshot);
    ExpectSuperPod(*snapshot, rails, 4, 8);
    EXPECT_THAT(rails.misplaced, ::testing::IsEmpty());
    size_t holes = 0;
    for (const RailHost& host : rails.hosts)
      for (PortRef end : host.ends) holes += end.IsNone();
    EXPECT_EQ(holes, 51u);  // 5 % of 1,024.
  }
}

// Each exchanged cable, and nothing else, is reported with the leaf that its HCA had before.
void ExpectMisplaced(const FabricSnapshot& before, const FabricSnapshot& after,
                     const Rails& rails) {
  const auto was = LeafByHca(before), is = LeafByHca(after);
  std::map<std::string, std::string> wrong, reported;
  for (const auto& [hca, leaf] : is)
    if (was.at(hca) != leaf) wrong[hca] = was.at(hca);
  for (const MisplacedEnd& end : rails.misplaced)
    reported[NameOf(after, end.end.node)] = NameOf(after, end.expected);
  EXPECT_EQ(reported, wrong);
  EXPECT_EQ(rails.misplaced.size(), wrong.size());
}

TEST(RailsTest, NamesEveryMisplacedCable) {
  for (const char* pod : {"superpod:sus=4", "superpod:sus=16", "superpod:sus=4,missing-hcas=0.05",
                          "superpod:sus=8,hosts=24,rails=3"}) {
    for (int seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", pod, seed));
      const SnapshotPtr before = Made(fmt::format("{},seed={}", pod, seed));
      const SnapshotPtr after = Made(fmt::format("{},seed={},swap-cables=10", pod, seed));
      const Rails rails = RailsOf(*after);
      ExpectSuperPod(*after, rails, RailsOf(*before).units.size(), RailsOf(*before).names.size());
      EXPECT_EQ(rails.misplaced.size(), 20u);
      ExpectMisplaced(*before, *after, rails);
    }
  }
}

// Of two cables that disagree either could be the right one: names decide which.
TEST(RailsTest, NamesTheMisplacedOneOfTwoCables) {
  for (int seed = 1; seed <= 5; ++seed) {
    const std::string pod = fmt::format("superpod:sus=8,hosts=24,rails=2,seed={}", seed);
    const SnapshotPtr before = Made(pod), after = Made(pod + ",swap-cables=3");
    const Rails rails = RailsOf(*after);
    ExpectSuperPod(*after, rails, 8, 2);
    ExpectMisplaced(*before, *after, rails);
  }
}

TEST(RailsTest, DescribesMisplacedHcas) {
  const SnapshotPtr snapshot = Made("superpod:sus=2,hosts=4,rails=4,swap-cables=1,seed=3");
  const Rails rails = RailsOf(*snapshot);
  ASSERT_EQ(rails.misplaced.size(), 2u);
  const MisplacedEnd& end = rails.misplaced[0];
  const std::string host = rails.hosts[end.host].name;
  EXPECT_EQ(Describe(end, rails, *snapshot),
            fmt::format("HCA mlx5_{} of {} hangs on {}/{}, expected on su{}-rail{}-leaf", end.rail,
                        host, NameOf(*snapshot, end.found.node), end.found.port.value(),
                        host <= "node0004" ? 1 : 2, end.rail));
}

TEST(RailsTest, FindsUnitsWithoutNames) {
  for (const bool own_system : {false, true}) {
    for (const char* name : {"MT4129 ConnectX7 Mellanox Technologies", "", "localhost mlx5_0"}) {
      SCOPED_TRACE(fmt::format("{} {}", own_system, name));
      const SnapshotPtr named = Made("superpod:sus=4,missing-hcas=0.05");
      const SnapshotPtr snapshot = WithoutNames(*named, own_system, 7, name);
      const Rails rails = RailsOf(*snapshot);
      ExpectSuperPod(*snapshot, rails, 4, 8);
      EXPECT_EQ(rails.hosts.size(), 128u);
      EXPECT_THAT(rails.misplaced, ::testing::IsEmpty());
    }
  }
}

TEST(RailsTest, NamesMisplacedCablesByGuidWithoutNames) {
  for (const bool own_system : {false, true}) {
    const SnapshotPtr named = Made("superpod:sus=16,swap-cables=10");
    const SnapshotPtr snapshot = WithoutNames(*named, own_system);
    const Rails with_names = RailsOf(*named), rails = RailsOf(*snapshot);
    ExpectSuperPod(*snapshot, rails, 16, 8);
    std::set<std::pair<Guid, NodeIndex>> expected, found;
    for (const MisplacedEnd& end : with_names.misplaced)
      expected.insert({named->node(end.end.node)->guid(), end.expected});
    for (const MisplacedEnd& end : rails.misplaced) {
      found.insert({snapshot->node(end.end.node)->guid(), end.expected});
      EXPECT_EQ(end.device, fmt::format("{}", snapshot->node(end.end.node)->guid()));
    }
    EXPECT_EQ(expected.size(), 20u);
    EXPECT_EQ(found, expected);
  }
}

// Two kinds of hosts that are not part of rails.
TEST(RailsTest, IgnoresHostsWithoutRails) {
  const SnapshotPtr pod = Made("superpod:sus=2,hosts=8,rails=4");
  SnapshotBuilder builder(*pod);
  const auto add = [&](uint64_t guid, const std::string& name, const char* leaf, int port) {
    wire::NodeInfo info;
    info.node_type = wire::NodeType::kChannelAdapter;
    info.num_ports = 1;
    info.node_guid = info.system_image_guid = Guid(guid);
    const NodeIndex node = builder.PutNode(info);
    builder.SetDescription(node, name);
    pod->ForEachNode([&](const Node& at) {
      if (at.description == leaf)
        builder.Link({node, PortNum(1)}, {at.index, PortNum(static_cast<uint8_t>(port))});
    });
  };
  // A storage head with both HCAs on one leaf, management hosts with one HCA or two, and the
  // switch's own aggregation node.
  add(0x100, "storage1 HCA-1", "su1-rail0-leaf", 40);
  add(0x101, "storage1 HCA-2", "su1-rail0-leaf", 41);
  add(0x200, "login1 mlx5_7", "su2-rail1-leaf", 40);
  add(0x300, "manager1 mlx5_8", "su1-rail1-leaf", 42);
  add(0x301, "manager1 mlx5_9", "su2-rail3-leaf", 42);
  add(0x400, "Mellanox Technologies Aggregation Node", "su1-rail0-leaf", 64);
  const SnapshotPtr snapshot = builder.Build();
  const Rails rails = RailsOf(*snapshot);
  ExpectSuperPod(*snapshot, rails, 2, 4);
  EXPECT_EQ(rails.hosts.size(), 16u);
  EXPECT_THAT(rails.misplaced, ::testing::IsEmpty());
}

TEST(RailsTest, PortsOfOneHcaAreDevices) {
  SnapshotBuilder builder;
  const auto put = [&](wire::NodeType type, uint64_t guid, uint8_t ports, const std::string& name) {
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = ports;
    info.node_guid = info.system_image_guid = Guid(guid);
    const NodeIndex node = builder.PutNode(info);
    builder.SetDescription(node, name);
    return node;
  };
  const NodeIndex a = put(wire::NodeType::kSwitch, 1, 8, "left");
  const NodeIndex b = put(wire::NodeType::kSwitch, 2, 8, "right");
  for (uint8_t host = 1; host <= 4; ++host) {
    const NodeIndex hca =
        put(wire::NodeType::kChannelAdapter, 0x10u + host, 2, fmt::format("node{} mlx5_0", host));
    const bool crossed = host == 3;
    builder.Link({hca, PortNum(1)}, {crossed ? b : a, PortNum(host)});
    builder.Link({hca, PortNum(2)}, {crossed ? a : b, PortNum(host)});
  }
  const SnapshotPtr snapshot = builder.Build();
  const Rails rails = RailsOf(*snapshot);
  EXPECT_THAT(rails.names, ElementsAre("mlx5_0/1", "mlx5_0/2"));
  ASSERT_EQ(rails.units.size(), 1u);
  EXPECT_EQ(rails.units[0].hosts.size(), 3u);  // Neither cable of node3 agrees: another design.
}

class SharedFile : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::filesystem::path path = std::filesystem::path(FABRICD_SOURCE_DIR) /
                                       "../shared/topologies" / (std::string(GetParam()));
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    const ReadResult read = ReadTopology(text.str());
    ASSERT_TRUE(read.status.ok()) << read.status;
    snapshot_ = read.snapshot;
    rails_ = RailsOf(*snapshot_);
  }
  SnapshotPtr snapshot_;
  Rails rails_;
};
class Topograph : public SharedFile {};
INSTANTIATE_TEST_SUITE_P(Real, Topograph,
                         testing::Values("nvidia-topograph-example.ibnetdiscover"));
TEST_P(Topograph, HasFourRailsAndTwoCrossedCables) {
  EXPECT_THAT(rails_.names, ElementsAre("HCA-1", "HCA-2", "HCA-5", "HCA-6"));
  EXPECT_EQ(rails_.units.size(), 8u);
  std::vector<std::string> misplaced;
  for (const MisplacedEnd& end : rails_.misplaced)
    misplaced.push_back(Describe(end, rails_, *snapshot_));
  EXPECT_THAT(misplaced, ElementsAre("HCA HCA-5 of b08-p1-dgx-08-c01 hangs on "
                                     "MF0;B09-P1-IBLEAF-04-08:MQM9701/U1/1, expected on "
                                     "MF0;B09-P1-IBLEAF-03-08:MQM9701/U1",
                                     "HCA HCA-6 of b08-p1-dgx-08-c01 hangs on "
                                     "MF0;B09-P1-IBLEAF-03-08:MQM9701/U1/1, expected on "
                                     "MF0;B09-P1-IBLEAF-04-08:MQM9701/U1"));
}
class SeleneStorage : public SharedFile {};
INSTANTIATE_TEST_SUITE_P(Real, SeleneStorage,
                         testing::Values("nvidia-selene-storage.ibnetdiscover"));
TEST_P(SeleneStorage, HasTwoRailsAndNothingMisplaced) {
  EXPECT_THAT(rails_.names, ElementsAre("mlx5_4", "mlx5_10"));
  EXPECT_EQ(rails_.units.size(), 22u);
  EXPECT_EQ(rails_.hosts.size(), 458u);
  EXPECT_THAT(rails_.misplaced, ::testing::IsEmpty());
}

TEST(RailsTest, GivesTheReasonWhyThereAreNone) {
  const auto why = [](const std::string& spec) {
    const Rails rails = RailsOf(*Made(spec));
    EXPECT_TRUE(rails.empty());
    return rails.why_none;
  };
  EXPECT_EQ(why("fat-tree:radix=8"), "each of 128 hosts has one HCA port (the first is node0001)");
  EXPECT_EQ(why("superpod:sus=2,hosts=4,rails=1"),
            "each of 8 hosts has one HCA port (the first is node0001)");
  EXPECT_THAT(why("superpod:sus=4,hosts=1,rails=4"),
              HasSubstr("of 4 hosts with HCA ports on different switches no two are wired alike"));
  EXPECT_EQ(RailsOf(*SnapshotBuilder().Build()).why_none, "no HCA is cabled to a switch");
}

TEST(RailsTest, DoesNotDependOnTheOrderOfDiscovery) {
  const SnapshotPtr made = Made("superpod:sus=3,hosts=8,rails=4,missing-hcas=0.1,swap-cables=3");
  for (const bool own_system : {false, true}) {
    for (const char* name : {"", "MT4129 ConnectX7 Mellanox Technologies"}) {
      const SnapshotPtr one = WithoutNames(*made, own_system, 0, name);
      const auto told = Told(*one, RailsOf(*one));
      for (uint64_t shuffle : {1, 2, 3}) {
        const SnapshotPtr other = WithoutNames(*made, own_system, shuffle, name);
        EXPECT_EQ(Told(*other, RailsOf(*other)), told);
      }
    }
  }
}

}  // namespace
}  // namespace fabricd::fabric
