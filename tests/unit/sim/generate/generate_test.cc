// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/snapshot_builder.h"
#include "sim/device/link_rate.h"
#include "sim/fabric/topology.h"
#include "sim/generate/fat_tree.h"
#include "sim/generate/kinds.h"
#include "sim/generate/superpod.h"
#include "tests/unit/sim/generate/generated.h"

namespace fabricd::sim {
namespace {

using ::testing::HasSubstr;

TEST(SuperPod, HasTheReferenceCounts) {
  EXPECT_EQ(Make("superpod:sus=1"), (Counts{256, 8 + 4, 512}));
  EXPECT_EQ(Make("superpod:sus=2"), (Counts{512, 16 + 8, 1024}));
  EXPECT_EQ(Make("superpod:sus=3"), (Counts{768, 24 + 16, 1536}));
  EXPECT_EQ(Make("superpod:sus=4"), (Counts{1024, 32 + 16, 2048}));
  EXPECT_EQ(Make("superpod:sus=8"), (Counts{2048, 64 + 32, 4096}));
  EXPECT_EQ(Make("superpod:sus=16"), (Counts{4096, 128 + 128 + 64, 3 * 4096}));
  EXPECT_EQ(Make("superpod:sus=32"), (Counts{8192, 256 + 256 + 128, 3 * 8192}));
  EXPECT_EQ(Make("superpod:sus=64"), (Counts{16384, 512 + 512 + 256, 3 * 16384}));
}

TEST(SuperPod, HasTheXdrReferenceCounts) {
  EXPECT_EQ(Make("superpod:sus=1,hosts=72,radix=144,speed=XDR"), (Counts{576, 8 + 4, 1152}));
  EXPECT_EQ(Make("superpod:sus=8,hosts=72,speed=XDR"), (Counts{4608, 64 + 36, 9216}));
  EXPECT_EQ(Make("superpod:sus=18,hosts=72,speed=XDR"), (Counts{10368, 144 + 72, 20736}));
}

TEST(SuperPod, CablesFourUnitsWithTwoCablesPerPair) {
  const auto made = GenerateSuperPod({.sus = 4});
  ASSERT_TRUE(made.ok());
  for (int spine = 1; spine <= 16; ++spine) {
    EXPECT_EQ(Cables(**made, "su3-rail5-leaf", fmt::format("spine{}", spine)), 2);
  }
}

TEST(SuperPod, ConnectsASpineOfEveryGroupToTheSameCores) {
  const auto made = GenerateSuperPod({.sus = 16});
  ASSERT_TRUE(made.ok());
  for (int rail = 0; rail < 8; ++rail) {
    // Plane 1 has cores 1-4, with 8 parallel cables to each of its spines.
    EXPECT_EQ(Cables(**made, fmt::format("rail{}-spine1", rail), "core4"), 8);
    EXPECT_EQ(Cables(**made, fmt::format("rail{}-spine1", rail), "core5"), 0);
    EXPECT_EQ(
        Cables(**made, fmt::format("su16-rail{}-leaf", rail), fmt::format("rail{}-spine1", rail)),
        2);
  }
}

TEST(SuperPod, PutsEachRailOfAHostOnItsOwnLeaf) {
  const auto made = GenerateSuperPod({.sus = 2, .hosts_per_su = 8, .rails = 4});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(Check(**made), (Counts{64, 8 + 2, 64 + 64}));
  std::map<Guid, std::set<std::string>> systems;
  (*made)->ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) return;
    systems[node.info.system_image_guid].insert(node.description);
    int host = 0, rail = 0;
    ASSERT_EQ(std::sscanf(node.description.c_str(), "node%d mlx5_%d", &host, &rail), 2);
    EXPECT_EQ((*made)->node(node.ports[1].peer.node)->description,
              fmt::format("su{}-rail{}-leaf", (host - 1) / 8 + 1, rail));
  });
  EXPECT_EQ(systems.size(), 16u);
  EXPECT_EQ(systems.begin()->second, (std::set<std::string>{"node0001 mlx5_0", "node0001 mlx5_1",
                                                            "node0001 mlx5_2", "node0001 mlx5_3"}));
}

TEST(FatTree, HasTheClassicCounts) {
  EXPECT_EQ(Make("fat-tree:radix=36,levels=2"), (Counts{648, 54, 1296}));
  EXPECT_EQ(Make("fat-tree:radix=36,levels=3"), (Counts{11664, 1620, 3 * 11664}));
  EXPECT_EQ(Make("fat-tree:radix=48,levels=3"), (Counts{27648, 2880, 3 * 27648}));
  EXPECT_EQ(Make("fat-tree:radix=8,levels=3"), (Counts{128, 80, 384}));
  EXPECT_EQ(Make("fat-tree:radix=4,levels=4"), (Counts{32, 56, 128}));
  EXPECT_EQ(Make("fat-tree"), (Counts{11664, 1620, 3 * 11664}));
}

TEST(FatTree, FollowsItsOptions) {
  EXPECT_EQ(Make("fat-tree:radix=8,levels=3,fill=0.5"), (Counts{64, 80, 320}));
  // 24 hosts and 12 uplinks a leaf; 36 leaves on 12 spines.
  EXPECT_EQ(Make("fat-tree:radix=36,levels=2,oversubscription=2"),
            (Counts{864, 36 + 12, 864 + 432}));
  // Half the pods need half the cores, with two cables to each.
  EXPECT_EQ(Make("fat-tree:radix=8,levels=3,pods=4"), (Counts{64, 16 + 16 + 8, 192}));
  EXPECT_EQ(Make("fat-tree:radix=8,levels=3,parallel=2"), (Counts{32, 8 + 8 + 4, 96}));
  // The largest tree of radix 64 in the LID space, with irregular cores.
  EXPECT_EQ(Make("fat-tree:radix=64,levels=3,pods=44"), (Counts{45056, 3520, 3 * 45056}));
}

TEST(FatTree, LeavesOnePortOfAnOddRadixFree) {
  const auto odd = Made("fat-tree:radix=9"), even = Made("fat-tree:radix=8");
  ASSERT_TRUE(odd && even);
  EXPECT_EQ(Check(*odd), Check(*even));
  EXPECT_EQ(CablesOf(*odd, Numbers::kWith), CablesOf(*even, Numbers::kWith));
  odd->ForEachNode(
      [&](const fabric::Node& node) { EXPECT_EQ(node.info.num_ports, node.IsSwitch() ? 9 : 1); });
}

TEST(FatTree, ReachesEveryCoreFromEveryPod) {
  const auto made = GenerateFatTree({.radix = 8, .levels = 3, .pods = 4});
  ASSERT_TRUE(made.ok());
  for (int pod = 1; pod <= 4; ++pod) {
    EXPECT_EQ(Cables(**made, fmt::format("pod{}-spine2", pod), "core3"), 2);
    EXPECT_EQ(Cables(**made, fmt::format("pod{}-spine2", pod), "core4"), 2);
    EXPECT_EQ(Cables(**made, fmt::format("pod{}-spine2", pod), "core2"), 0);
  }
}

TEST(Generate, IsRepeatable) {
  const auto first = Generate("superpod:sus=2,hosts=4"),
             second = Generate("superpod:sus=2,hosts=4");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(fabric::WriteIbnetdiscover(**first, {}), fabric::WriteIbnetdiscover(**second, {}));
}

TEST(Generate, KeepsTheGuidsOfNodesWhenTheFabricGrows) {
  const auto small = GenerateSuperPod({.sus = 4}), large = GenerateSuperPod({.sus = 8});
  ASSERT_TRUE(small.ok() && large.ok());
  (*small)->ForEachNode([&](const fabric::Node& node) {
    const fabric::Node* later = (*large)->FindNode(node.guid());
    ASSERT_NE(later, nullptr) << node.description;
    EXPECT_EQ(later->description, node.description);
  });
}

TEST(Generate, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("superpod:hosts=40,radix=64"), HasSubstr("40 hosts and 40 uplinks"));
  EXPECT_THAT(Refusal("superpod:hosts=2147483647"), HasSubstr("hosts 2147483647: at most 254"));
  EXPECT_THAT(Refusal("superpod:hosts=1,uplinks=2147483647"), HasSubstr("2147483647 uplinks"));
  EXPECT_THAT(Refusal("superpod:sus=0"), HasSubstr("sus 0"));
  EXPECT_THAT(Refusal("superpod:hots=8"), HasSubstr("'hots' (it has sus, hosts, rails"));
  EXPECT_THAT(Refusal("superpod:sus=two"), HasSubstr("sus=two is not a number"));
  EXPECT_THAT(Refusal("superpod:sus=1,sus=2"), HasSubstr("given twice"));
  EXPECT_THAT(Refusal("superpod:8"), HasSubstr("'8' is not KEY=VALUE"));
  EXPECT_THAT(Refusal("superpod:speed=fast"), HasSubstr("speed 'fast'"));
  EXPECT_THAT(Refusal("superpod:,rails=2"), HasSubstr("'' is not KEY=VALUE"));
  EXPECT_THAT(Refusal("superpod:rails"), HasSubstr("'rails' is not KEY=VALUE"));
  EXPECT_THAT(Refusal("superpod:rails="), HasSubstr("rails= is not a number"));
  EXPECT_THAT(Refusal("superpod:rails=99999999999"), HasSubstr("is not a number"));
  EXPECT_THAT(Refusal("superpod:permute-ports=maybe"), HasSubstr("is not true or false"));
  EXPECT_THAT(Refusal("superpod:seed=-1"), HasSubstr("seed=-1 is not a number"));
  EXPECT_THAT(Refusal("fat-tree:radix=1"), HasSubstr("radix 1: from 2 to 254"));
  EXPECT_THAT(Refusal("fat-tree:radix=255"), HasSubstr("radix 255"));
  EXPECT_THAT(Refusal("fat-tree:levels=1"), HasSubstr("levels 1: from 2 to 8"));
  EXPECT_THAT(Refusal("fat-tree:oversubscription=0"), HasSubstr("oversubscription 0: above 0"));
  EXPECT_THAT(Refusal("fat-tree:oversubscription=99"), HasSubstr("oversubscription 99"));
  EXPECT_THAT(Refusal("fat-tree:radix=36,parallel=5"), HasSubstr("parallel 5"));
  EXPECT_THAT(Refusal("fat-tree:radix=8,pods=9"), HasSubstr("pods 9: from 1 to 8"));
  EXPECT_THAT(Refusal("fat-tree:radix=64,levels=4"), HasSubstr("more than"));
  EXPECT_THAT(Refusal("fat-tree:radix=100,levels=5,pods=1,oversubscription=0.01"),
              HasSubstr("switches in one tier"));
  EXPECT_THAT(Refusal("fat-tree:fill=0"), HasSubstr("fill 0"));
  EXPECT_THAT(Refusal("klein-bottle:n=3"),
              HasSubstr("no generator 'klein-bottle' (there are fat-tree"));
}

// Finds a key or option that sets no field or the wrong one.
TEST(Kinds, EachParameterIsSetByItsKey) {
  for (const Kind& kind : Kinds()) {
    const auto generator = kind.make();
    std::set<std::string> keys;
    for (const Parameter& parameter : generator->Parameters()) {
      EXPECT_TRUE(keys.insert(parameter.key).second) << kind.name << " " << parameter.key;
      EXPECT_FALSE(parameter.help.empty());
      std::string value = parameter.key == "speed" ? "EDR" : parameter.IsFlag() ? "true" : "7";
      ASSERT_NE(parameter.Value(), value);
      ASSERT_TRUE(generator->Set(parameter.key, value).ok());
      EXPECT_EQ(parameter.Value(), value);
    }
    EXPECT_TRUE(keys.contains("fail-links") && keys.contains("seed"));
    EXPECT_TRUE(IsGeneratorSpec(kind.name));
    EXPECT_THAT(GeneratorNames(), HasSubstr(kind.name));
  }
}

TEST(Generate, MakesEveryKindWithoutParameters) {
  for (const Kind& kind : Kinds()) {
    const auto made = Made(kind.name);
    ASSERT_TRUE(made);
    Check(*made);
    EXPECT_TRUE(IsConnected(*made)) << kind.name;
  }
}

// Shows that the checks of these tests find faults.
TEST(Check, FindsFaults) {
  const auto whole = Made("torus:dims=2x2");
  ASSERT_TRUE(whole);
  const PortRef leaf_port{whole->FindIndex(Guid(0x02FAB00000000000)), PortNum(1)};
  ASSERT_NE(whole->port(leaf_port), nullptr);
  const PortRef hca_port = whole->port(leaf_port)->peer;
  const auto with = [&](auto&& edit) {
    fabric::SnapshotBuilder builder(*whole);
    wire::PortInfo info = whole->port(leaf_port)->info;
    edit(builder, info);
    builder.SetPortInfo(leaf_port, info);
    return Fault(*builder.Build());
  };
  using Builder = fabric::SnapshotBuilder;
  EXPECT_EQ(with([](Builder&, wire::PortInfo&) {}), "");
  EXPECT_THAT(with([](Builder&, wire::PortInfo& info) { info.lid = Lid(1); }), HasSubstr("a LID"));
  EXPECT_THAT(
      with([](Builder&, wire::PortInfo& info) { SetActiveRate(info, wire::LinkSpeed::kSdr, 4); }),
      HasSubstr("at one speed"));
  EXPECT_THAT(
      with([](Builder&, wire::PortInfo& info) { info.port_state = wire::PortState::kDown; }),
      HasSubstr("not INIT"));
  EXPECT_THAT(with([&](Builder& builder, wire::PortInfo&) { builder.Unlink(hca_port); }),
              HasSubstr("up without a cable"));
  EXPECT_THAT(with([&](Builder& builder, wire::PortInfo& info) {
                builder.Unlink(hca_port);
                info.port_state = wire::PortState::kDown;
              }),
              HasSubstr("node0001 mlx5_0: no cable"));
  EXPECT_THAT(with([&](Builder& builder, wire::PortInfo&) {
                builder.SetPortGuid(hca_port, Guid(0x02FAB00000000000));
              }),
              HasSubstr("a port GUID used before"));
  EXPECT_TRUE(IsConnected(*whole));
  EXPECT_FALSE(IsConnected(*Made("torus:dims=2x2,fail-links=4")));
}

TEST(Generate, TakesTheOldNameOfAKey) {
  EXPECT_EQ(Make("superpod:hosts-per-su=4,rails=2"), Make("superpod:hosts=4,rails=2"));
}

TEST(MakeTopology, TakesAGeneratorOrAFile) {
  const auto generated = MakeTopology("superpod:sus=1,hosts=4,rails=2,speed=XDR");
  ASSERT_TRUE(generated.ok()) << generated.status();
  const std::string path = ::testing::TempDir() + "sim_generate_test.net";
  std::ofstream(path) << fabric::WriteIbnetdiscover(**generated, {});
  const auto loaded = MakeTopology(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(Check(**loaded), Check(**generated));
  (*generated)->ForEachNode([&](const fabric::Node& node) {
    const fabric::Node* read = (*loaded)->FindNode(node.guid());
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->description, node.description);
    EXPECT_EQ(read->info.system_image_guid, node.info.system_image_guid);
    for (size_t port = 1; port < node.ports.size(); ++port) {
      if (node.ports[port].peer.IsNone()) continue;
      EXPECT_EQ(wire::ActiveSpeed(read->ports[port].info), wire::LinkSpeed::kXdr);
    }
  });
  std::remove(path.c_str());
}

TEST(MakeTopology, ReportsWhyATopologyCannotBeMade) {
  const auto missing = MakeTopology("/nowhere/at all.net");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing.status()), HasSubstr("No such file"));
  const std::string path = ::testing::TempDir() + "sim_generate_test_bad.net";
  std::ofstream(path) << "Switch 4 \"S-00";
  const auto truncated = MakeTopology(path);
  EXPECT_EQ(truncated.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(truncated.status()), HasSubstr(path));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fabricd::sim
