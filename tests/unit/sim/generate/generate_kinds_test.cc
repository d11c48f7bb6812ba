// SPDX-License-Identifier: Apache-2.0
// Tori, hypercubes, Dragonfly+ and random graphs: counts, cables by name, port limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/unit/sim/generate/generated.h"

namespace fabricd::sim {
namespace {

using ::testing::HasSubstr;

// By switch: how many switches it is cabled to, parallel cables counted each.
std::map<std::string, int> Degrees(const fabric::FabricSnapshot& snapshot) {
  std::map<std::string, int> degrees;
  for (const auto& [a, b] : SwitchCablesOf(snapshot, Numbers::kWithout)) {
    ++degrees[a];
    ++degrees[b];
  }
  return degrees;
}

TEST(Torus, HasASwitchAtEachPoint) {
  EXPECT_EQ(Make("torus:dims=4x4x4"), (Counts{64, 64, 64 + 3 * 64}));
  EXPECT_EQ(Make("torus:dims=3x5,hosts=2"), (Counts{30, 15, 30 + 2 * 15}));
  EXPECT_EQ(Make("torus:dims=3x3,parallel=3"), (Counts{9, 9, 9 + 3 * 18}));
}

TEST(Torus, CablesADimensionOfTwoOnce) {
  EXPECT_EQ(Make("torus:dims=2x2"), (Counts{4, 4, 4 + 4}));
  EXPECT_EQ(Make("torus:dims=2x2,parallel=2"), (Counts{4, 4, 4 + 8}));
  EXPECT_EQ(Make("torus:dims=2x3x4"), (Counts{24, 24, 24 + 12 + 24 + 24}));
  const auto made = Made("torus:dims=2x5");
  ASSERT_TRUE(made);
  EXPECT_EQ(Cables(*made, "switch-0-3", "switch-1-3"), 1);
  EXPECT_EQ(Cables(*made, "switch-0-0", "switch-0-4"), 1);
}

TEST(Torus, CablesNeighboursOnly) {
  const auto made = Made("torus:dims=3x4x5,parallel=2");
  ASSERT_TRUE(made);
  const int size[] = {3, 4, 5};
  std::map<std::pair<std::string, std::string>, int> pairs;
  for (const auto& cable : SwitchCablesOf(*made, Numbers::kWithout)) ++pairs[cable];
  EXPECT_EQ(pairs.size(), 3u * 60);
  for (const auto& [pair, count] : pairs) {
    EXPECT_EQ(count, 2);
    int a[3] = {}, b[3] = {}, apart = 0;
    ASSERT_EQ(std::sscanf(pair.first.c_str(), "switch-%d-%d-%d", &a[0], &a[1], &a[2]), 3);
    ASSERT_EQ(std::sscanf(pair.second.c_str(), "switch-%d-%d-%d", &b[0], &b[1], &b[2]), 3);
    for (int i = 0; i < 3; ++i) {
      const int straight = std::abs(a[i] - b[i]);
      apart += std::min(straight, size[i] - straight);
    }
    EXPECT_EQ(apart, 1) << pair.first << " " << pair.second;
  }
  for (const auto& [name, degree] : Degrees(*made)) EXPECT_EQ(degree, 12) << name;
}

TEST(Torus, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("torus:dims=4"), HasSubstr("dims of 1 numbers: 2 or 3"));
  EXPECT_THAT(Refusal("torus:dims=4x4x4x4"), HasSubstr("dims of 4 numbers"));
  EXPECT_THAT(Refusal("torus:dims=4x1"), HasSubstr("dims 4x1: each from 2 to 255"));
  EXPECT_THAT(Refusal("torus:dims=256x4"), HasSubstr("dims 256x4"));
  EXPECT_THAT(Refusal("torus:dims=4x"), HasSubstr("dims=4x is not numbers"));
  EXPECT_THAT(Refusal("torus:dims=255x255x255"), HasSubstr("dims: 16581375 switches"));
  EXPECT_THAT(Refusal("torus:hosts=0"), HasSubstr("hosts 0"));
  EXPECT_THAT(Refusal("torus:parallel=0"), HasSubstr("parallel 0"));
  EXPECT_THAT(Refusal("torus:hosts=200,parallel=14"), HasSubstr("256 ports of a switch"));
  EXPECT_THAT(
      Refusal("torus:hosts=4,radix=7"),
      HasSubstr("hosts 4, parallel 1 and dims 4x4 need 8 ports of a switch, and radix is 7"));
  EXPECT_THAT(Refusal("torus:radix=1"), HasSubstr("radix 1"));
}

TEST(Hypercube, CablesSwitchesThatDifferInOneBit) {
  EXPECT_EQ(Make("hypercube:dimensions=1"), (Counts{2, 2, 2 + 1}));
  EXPECT_EQ(Make("hypercube:dimensions=4,hosts=3"), (Counts{48, 16, 48 + 32}));
  EXPECT_EQ(Make("hypercube:dimensions=10"), (Counts{1024, 1024, 1024 + 5120}));
  const auto made = Made("hypercube:dimensions=5");
  ASSERT_TRUE(made);
  const auto cables = SwitchCablesOf(*made, Numbers::kWithout);
  EXPECT_EQ(cables.size(), 80u);
  for (const auto& [a, b] : cables) {
    unsigned number_a = 0, number_b = 0;
    ASSERT_EQ(std::sscanf(a.c_str(), "switch%u", &number_a), 1);
    ASSERT_EQ(std::sscanf(b.c_str(), "switch%u", &number_b), 1);
    EXPECT_EQ(__builtin_popcount(number_a ^ number_b), 1);
  }
  EXPECT_EQ(std::set(cables.begin(), cables.end()).size(), cables.size());
}

TEST(Hypercube, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("hypercube:dimensions=0"), HasSubstr("dimensions 0: from 1 to 16"));
  EXPECT_THAT(Refusal("hypercube:hosts=0"), HasSubstr("hosts 0"));
  EXPECT_THAT(Refusal("hypercube:hosts=251"), HasSubstr("hosts 251 and dimensions 4"));
  EXPECT_THAT(Refusal("hypercube:radix=4"), HasSubstr("radix is 4"));
  EXPECT_THAT(Refusal("hypercube:dimensions=16,hosts=3"), HasSubstr("more than 200000 nodes"));
}

TEST(Directors, AreTreesInATree) {
  // Each director of radix 8: 4 line chips, 2 inner chips, 16 cables between them.
  EXPECT_EQ(Make("directors"), (Counts{32, 36, 32 + 6 * 16 + 32}));
  EXPECT_EQ(Make("directors:radix=4,leaves=1,spines=1"), (Counts{2, 6, 2 + 2 * 4 + 2}));
  const auto made = Made("directors:leaves=2,spines=2");
  ASSERT_TRUE(made);
  std::map<std::string, int> outside;  // By pair of directors.
  for (const auto& [a, b] : SwitchCablesOf(*made, Numbers::kWithout)) {
    const std::string one = a.substr(0, a.find('-')), other = b.substr(0, b.find('-'));
    if (one != other) ++outside[one + other];
  }
  EXPECT_EQ(outside.size(), 4u);
  for (const auto& [pair, cables] : outside) EXPECT_EQ(cables, 4) << pair;
}

TEST(Directors, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("directors:radix=10"), HasSubstr("radix 10: a multiple of 4"));
  EXPECT_THAT(Refusal("directors:leaves=5"),
              HasSubstr("leaves 5: 40 cables, and spines 2 of radix 8 have 32 ports"));
  EXPECT_THAT(Refusal("directors:spines=0"), HasSubstr("spines 0"));
  EXPECT_THAT(Refusal("directors:spines=9"),
              HasSubstr("spines 9: a leaf director of radix 8 has 8 cables to them"));
}

TEST(DragonflyPlus, JoinsEveryPairOfGroups) {
  EXPECT_EQ(Make("dragonfly-plus"), (Counts{64, 32, 64 + 4 * 16 + 6 * 4}));
  EXPECT_EQ(Make("dragonfly-plus:groups=2,leaves=1,spines=1,hosts=1"), (Counts{2, 4, 2 + 2 + 1}));
  const auto made = Made("dragonfly-plus:groups=5,leaves=3,spines=4,hosts=2,global-links=5");
  ASSERT_TRUE(made);
  EXPECT_EQ(Check(*made), (Counts{30, 35, 30 + 5 * 12 + 10 * 5}));
  std::map<std::pair<int, int>, int> between;
  for (const auto& [a, b] : SwitchCablesOf(*made, Numbers::kWithout)) {
    int group_a = 0, group_b = 0;
    ASSERT_EQ(std::sscanf(a.c_str(), "group%d", &group_a), 1);
    ASSERT_EQ(std::sscanf(b.c_str(), "group%d", &group_b), 1);
    if (group_a == group_b) {
      EXPECT_NE(a.find("leaf") == std::string::npos, b.find("leaf") == std::string::npos);
    } else {
      EXPECT_THAT(a, HasSubstr("spine"));
      EXPECT_THAT(b, HasSubstr("spine"));
      ++between[std::minmax(group_a, group_b)];
    }
  }
  EXPECT_EQ(between.size(), 10u);
  for (const auto& [groups, cables] : between) EXPECT_EQ(cables, 5);
}

TEST(DragonflyPlus, DealsGlobalLinksOutEvenly) {
  const auto made = Made("dragonfly-plus:groups=6,leaves=3,spines=4,global-links=3");
  ASSERT_TRUE(made);
  for (const auto& [name, degree] : Degrees(*made)) {
    if (name.find("spine") == std::string::npos) {
      EXPECT_EQ(degree, 4) << name;
    } else {  // 15 cables of each group to others, on 4 spines.
      EXPECT_TRUE(degree == 3 + 3 || degree == 3 + 4) << name << " has " << degree;
    }
  }
}

TEST(DragonflyPlus, KeepsItsCablesWhenGroupsAreAdded) {
  const auto small = Made("dragonfly-plus:groups=3,global-links=3"),
             large = Made("dragonfly-plus:groups=6,global-links=3");
  ASSERT_TRUE(small && large);
  const auto before = CablesOf(*small, Numbers::kWith), after = CablesOf(*large, Numbers::kWith);
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
}

TEST(DragonflyPlus, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("dragonfly-plus:groups=1"), HasSubstr("groups 1: from 2"));
  EXPECT_THAT(Refusal("dragonfly-plus:leaves=0"), HasSubstr("leaves 0"));
  EXPECT_THAT(Refusal("dragonfly-plus:spines=0"), HasSubstr("spines 0"));
  EXPECT_THAT(Refusal("dragonfly-plus:hosts=0"), HasSubstr("hosts 0"));
  EXPECT_THAT(Refusal("dragonfly-plus:global-links=-1"), HasSubstr("global-links -1"));
  EXPECT_THAT(Refusal("dragonfly-plus:radix=7"), HasSubstr("hosts 4 and spines 4 need 8 ports"));
  EXPECT_THAT(Refusal("dragonfly-plus:radix=8,groups=6"),
              HasSubstr("leaves 4 and global-links 4 to 5 groups need 9 ports"));
  EXPECT_THAT(Refusal("dragonfly-plus:groups=65535"), HasSubstr("global-links 4 to 65534 groups"));
  EXPECT_THAT(Refusal("dragonfly-plus:groups=100,leaves=100,spines=50,hosts=100"),
              HasSubstr("more than 200000 nodes"));
}

TEST(Random, IsRegularAndSimple) {
  EXPECT_EQ(Make("random:switches=20,degree=5,hosts=3"), (Counts{60, 20, 60 + 50}));
  for (const char* spec : {"random:switches=20,degree=5", "random:switches=21,degree=4",
                           "random:switches=6,degree=5", "random:switches=300,degree=31"}) {
    const auto made = Made(spec);
    ASSERT_TRUE(made);
    const auto cables = SwitchCablesOf(*made, Numbers::kWithout);
    EXPECT_EQ(std::set(cables.begin(), cables.end()).size(), cables.size()) << spec;
    const auto degrees = Degrees(*made);
    EXPECT_EQ(degrees.size(), made->switch_count());
    for (const auto& [name, degree] : degrees) EXPECT_EQ(degree, degrees.begin()->second) << spec;
  }
}

// Random rings, and some graphs of degree 3, are disconnected unless the generator joins them.
TEST(Random, IsConnectedWithEverySeed) {
  for (int seed = 0; seed < 50; ++seed) {
    for (const char* shape : {"switches=24,degree=2", "switches=8,degree=3"}) {
      const auto made = Made(fmt::format("random:{},seed={}", shape, seed));
      ASSERT_TRUE(made);
      EXPECT_TRUE(IsConnected(*made)) << shape << " " << seed;
      EXPECT_EQ(Fault(*made), "");
    }
  }
}

TEST(Random, DependsOnTheSeedOnly) {
  const auto cables = [](const std::string& more) {
    const auto made = Made("random:switches=32,degree=6" + more);
    return made ? CablesOf(*made, Numbers::kWith) : decltype(CablesOf(*made, Numbers::kWith))();
  };
  EXPECT_EQ(cables(",seed=7"), cables(",seed=7"));
  EXPECT_NE(cables(",seed=7"), cables(",seed=8"));
  EXPECT_EQ(cables(",seed=7"), cables(",seed=7,speed=EDR,radix=36"));
  // Nothing of the ring that it starts from is left but by chance: 96 cables, 3 in 16 by it.
  const auto made = Made("random:switches=32,degree=6");
  ASSERT_TRUE(made);
  int close = 0;
  for (const auto& [a, b] : SwitchCablesOf(*made, Numbers::kWithout)) {
    const int apart = std::abs(std::atoi(a.c_str() + 6) - std::atoi(b.c_str() + 6));
    if (std::min(apart, 32 - apart) <= 3) ++close;
  }
  EXPECT_LT(close, 48);
}

TEST(Random, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("random:switches=1"), HasSubstr("switches 1"));
  EXPECT_THAT(Refusal("random:switches=8,degree=8"), HasSubstr("degree 8: from 1 to 7"));
  EXPECT_THAT(Refusal("random:degree=0"), HasSubstr("degree 0"));
  EXPECT_THAT(Refusal("random:degree=1"), HasSubstr("degree 1: connects no more than 2"));
  EXPECT_EQ(Make("random:switches=2,degree=1"), (Counts{2, 2, 3}));
  EXPECT_THAT(Refusal("random:switches=9,degree=3"), HasSubstr("degree 3: even"));
  EXPECT_THAT(Refusal("random:hosts=0"), HasSubstr("hosts 0"));
  EXPECT_THAT(Refusal("random:radix=4"), HasSubstr("hosts 1 and degree 4 need 5 ports"));
  EXPECT_THAT(Refusal("random:switches=150000"), HasSubstr("more than 200000 nodes"));
}

TEST(Radix, IsAsGivenOrAsUsed) {
  for (const char* kind : {"torus:dims=3x3", "hypercube", "random", "dragonfly-plus:groups=5"}) {
    const auto used = Made(kind);
    const auto given =
        Made(std::string(kind) +
             (std::string(kind).find(':') == std::string::npos ? ":radix=40" : ",radix=40"));
    ASSERT_TRUE(used && given);
    EXPECT_EQ(CablesOf(*used, Numbers::kWith), CablesOf(*given, Numbers::kWith));
    size_t most = 0;
    used->ForEachNode([&](const fabric::Node& node) {
      for (size_t port = 1; port < node.ports.size(); ++port) {
        if (node.IsSwitch() && !node.ports[port].peer.IsNone()) most = std::max(most, port);
      }
    });
    used->ForEachNode([&](const fabric::Node& node) {
      EXPECT_EQ(node.info.num_ports, node.IsSwitch() ? most : 1) << kind;
    });
    given->ForEachNode([&](const fabric::Node& node) {
      EXPECT_EQ(node.info.num_ports, node.IsSwitch() ? 40 : 1) << kind;
    });
  }
}

}  // namespace
}  // namespace fabricd::sim
