// SPDX-License-Identifier: Apache-2.0
// What becomes of a fabric: units, what joins them, and each form of it word for word
// (tests/golden/cli).
#include <algorithm>

#include "cli/topology_svg.h"
#include "cli/topology_text.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample_topology.h"

namespace fabricd::cli::testing {
namespace {

TEST(TopologyTest, Forms) {
  const pb::Topology topology = SampleTopology();
  const TopologyModel model(topology);
  ExpectGolden("topology_tree", ToTree(model));
  ExpectGolden("topology_dot", ToDot(model));
  ExpectGolden("topology_svg", ToSvg(model));
  ExpectGolden("topology_slurm_conf", ToSlurmConf(model));
  ExpectGolden("topology_slurm_yaml", ToSlurmYaml(model));
  ExpectGolden("topology_topograph", ToTopograph(model));
  ExpectGolden("topology_k8s_labels", ToK8sLabels(model));
}

TEST(TopologyTest, UnitsOutliveMisplacedAndMissingCables) {
  const pb::Topology topology = SampleTopology();
  const TopologyModel model(topology);
  ASSERT_EQ(model.units.size(), 2u);
  EXPECT_EQ(model.units[0].name, "su1");
  EXPECT_EQ(model.units[0].hosts, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(model.units[1].hosts, (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(model.unlinked, (std::vector<int>{6}));
  EXPECT_EQ(model.NamesAbove(1), (std::vector<std::string>{"su2", "fabric"}));
}

// Three tiers: pods of two leaves, joined by cores.
TEST(TopologyTest, ClustersTierByTier) {
  TopologyMaker maker;
  maker.topology.mutable_nodes()->Reserve(16);
  std::vector<pb::Node*> leaves, spines;
  for (int i = 0; i < 4; ++i) leaves.push_back(maker.Switch(fmt::format("leaf{}", i), 1, -1));
  for (int pod = 0; pod < 2; ++pod)
    spines.push_back(maker.Switch(fmt::format("pod{}-spine", pod), 2, -1));
  pb::Node* core = maker.Switch("core 1", 3, -1);
  for (int i = 0; i < 8; ++i) maker.Host(fmt::format("n{:02}", i), {leaves[i / 2]});
  for (int i = 0; i < 4; ++i) maker.Link(leaves[i], spines[i / 2]);
  for (pb::Node* spine : spines) maker.Link(spine, core);
  const TopologyModel model(maker.topology);
  EXPECT_EQ(model.NamesAbove(3), (std::vector<std::string>{"leaf3", "pod1-spine", "core_1"}));
  const std::string conf = ToSlurmConf(model);
  EXPECT_THAT(conf, ::testing::HasSubstr("SwitchName=leaf1 Nodes=n[02-03]\n"));
  EXPECT_THAT(conf, ::testing::HasSubstr("SwitchName=pod0-spine Switches=leaf[0-1]\n"));
  EXPECT_THAT(conf, ::testing::HasSubstr("SwitchName=core_1 Switches=pod[0-1]-spine\n"));
}

TEST(TopologyTest, PiecesThatNothingJoinsStayApart) {
  TopologyMaker maker;
  maker.topology.mutable_nodes()->Reserve(16);
  for (int i = 0; i < 2; ++i) {
    pb::Node* leaf = maker.Switch("leaf", 1, -1);  // Both of the same name.
    maker.Host(fmt::format("n{}", i), {leaf});
    maker.Host(fmt::format("a b{}", i), {leaf});
  }
  const TopologyModel model(maker.topology);
  const std::string conf = ToSlurmConf(model);
  EXPECT_THAT(conf, ::testing::HasSubstr("SwitchName=leaf Nodes=n0\n"));
  EXPECT_THAT(conf, ::testing::HasSubstr("SwitchName=leaf-2 Nodes=n1\n"));
  EXPECT_THAT(conf, ::testing::HasSubstr("# \"a b0\" is no host name\n"));
  EXPECT_THAT(conf, ::testing::Not(::testing::HasSubstr("Switches=")));
}

TEST(TopologyTest, NothingAtAll) {
  const pb::Topology topology;
  const TopologyModel model(topology);
  EXPECT_EQ(ToTree(model), "0 switches, 0 hosts, 0 cables\n");
  EXPECT_THAT(ToSvg(model), ::testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace fabricd::cli::testing
