// SPDX-License-Identifier: Apache-2.0
// What becomes of a fabric: units, what joins them, and each form of it word for word
// (tests/golden/cli).
#include <algorithm>
#include <map>
#include <set>

#include "cli/render/topology_svg.h"
#include "cli/render/topology_text.h"
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

TEST(TopologyTest, UnconnectedComponentsStaySeparate) {
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

SlurmTree Conf(const std::string& text) {
  SlurmTree tree;
  const Result result = ReadSlurmConf(text, &tree);
  EXPECT_TRUE(result.ok()) << result.message;
  return tree;
}

// Slurm drops nodes that its topology does not contain.
TEST(SlurmTreeTest, AbsentHostsKeepTheirPlaces) {
  const std::string before =
      "# topology.conf\n"
      "SwitchName=su1 Nodes=n[1-4] LinkSpeed=4\n"
      "switchname=su2 nodes=n[5-8]\n\n"
      "SwitchName=pod Switches=su[1-2]\n"
      "SwitchName=su3 Nodes=n9\n"
      "SwitchName=fabric Switches=pod,su3\n";
  struct Case {
    std::string now, wanted;
    std::vector<std::string> kept;
  };
  for (const Case& each : std::vector<Case>{
           // Some of a unit; one of them has moved.
           {"SwitchName=su1 Nodes=n[1,3]\nSwitchName=su2 Nodes=n[4-8]\n"
            "SwitchName=pod Switches=su[1-2]\nSwitchName=su3 Nodes=n9\n"
            "SwitchName=fabric Switches=pod,su3\n",
            "SwitchName=su1 Nodes=n[1-3]\nSwitchName=su2 Nodes=n[4-8]\n"
            "SwitchName=pod Switches=su[1-2]\nSwitchName=su3 Nodes=n9\n"
            "SwitchName=fabric Switches=pod,su3\n",
            {"n2"}},
           // A whole leaf, and with it what joined it.
           {"SwitchName=su1 Nodes=n[1-4]\nSwitchName=su3 Nodes=n9\n"
            "SwitchName=fabric Switches=su[1,3]\n",
            "SwitchName=su1 Nodes=n[1-4]\nSwitchName=su3 Nodes=n9\n"
            "SwitchName=fabric Switches=pod,su[1,3]\nSwitchName=su2 Nodes=n[5-8]\n"
            "SwitchName=pod Switches=su2\n",
            {"n5", "n6", "n7", "n8"}},
           // All but one leaf.
           {"SwitchName=su1 Nodes=n[1-4]\n",
            "SwitchName=su1 Nodes=n[1-4]\nSwitchName=su2 Nodes=n[5-8]\n"
            "SwitchName=pod Switches=su[1-2]\nSwitchName=fabric Switches=pod,su3\n"
            "SwitchName=su3 Nodes=n9\n",
            {"n5", "n6", "n7", "n8", "n9"}},
           {"",
            before.substr(before.find('\n') + 1),
            {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"}},
       }) {
    SlurmTree now = Conf(each.now);
    EXPECT_EQ(KeepAbsent(Conf(before), &now), each.kept);
    if (!each.now.empty()) {
      EXPECT_EQ(WriteSlurmConf(now), each.wanted) << each.now;
    }
    // Every host once, all of them below one root, and nothing that is not there.
    std::map<std::string, int> hosts, children;
    std::set<std::string> names;
    for (const SlurmSwitch& one : now) {
      names.insert(one.name);
      for (const std::string& host : one.nodes) ++hosts[host];
      for (const std::string& child : one.switches) ++children[child];
    }
    EXPECT_EQ(hosts.size(), 9u);
    for (const auto& [host, times] : hosts) EXPECT_EQ(times, 1) << host;
    for (const auto& [child, times] : children) {
      EXPECT_EQ(times, 1) << child;
      EXPECT_TRUE(names.contains(child)) << child;
    }
    EXPECT_EQ(names.size(), children.size() + 1) << WriteSlurmConf(now);
  }
}

TEST(SlurmTreeTest, WrittenTopologiesAreReadBack) {
  const pb::Topology topology = SampleTopology();
  const TopologyModel model(topology);
  for (const bool yaml : {false, true}) {
    const std::string text = yaml ? ToSlurmYaml(model) : ToSlurmConf(model);
    SlurmTree before;
    ASSERT_TRUE((yaml ? ReadSlurmYaml(text, &before) : ReadSlurmConf(text, &before)).ok());
    EXPECT_EQ(yaml ? ToSlurmYaml(model, &before) : ToSlurmConf(model, &before), text);
    before.front().nodes.push_back("node0999");
    EXPECT_THAT(yaml ? ToSlurmYaml(model, &before) : ToSlurmConf(model, &before),
                ::testing::HasSubstr("# away, where they were before: node0999\n"));
  }
  SlurmTree tree;
  EXPECT_EQ(ReadSlurmConf("SwitchName=a Nodes=n[1-\n", &tree).code, kFailure);
  EXPECT_EQ(ReadSlurmConf("Nodes=n1\n", &tree).code, kFailure);
  EXPECT_EQ(ReadSlurmYaml("- topology: [", &tree).code, kFailure);
}

TEST(TopologyTest, AnEmptyTopology) {
  const pb::Topology topology;
  const TopologyModel model(topology);
  EXPECT_EQ(ToTree(model), "0 switches, 0 hosts, 0 cables\n");
  EXPECT_THAT(ToSvg(model), ::testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace fabricd::cli::testing
