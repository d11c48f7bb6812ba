// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/grid_classes.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

struct Classes {
  SwitchGraph graph;
  std::vector<uint32_t> of;
  size_t count() const { return std::set<uint32_t>(of.begin(), of.end()).size(); }
};
Classes ClassesOf(const FabricMaker& maker) {
  const TestFabric fabric = maker.Build();
  Classes classes{BuildGraphs(*fabric.snapshot, fabric.lids).at(0), {}};
  classes.of = GridClasses(classes.graph);
  return classes;
}

// MakeTorus numbers switches by place, lowest dimension first, and GUIDs follow the numbers.
uint32_t DimensionOf(uint32_t a, uint32_t b, const std::vector<int>& lengths) {
  for (uint32_t dimension = 0;; ++dimension) {
    const auto length = static_cast<uint32_t>(lengths[dimension]);
    if (a % length != b % length) return dimension;
    a /= length, b /= length;
  }
}

void ExpectDimensions(const FabricMaker& maker, const std::vector<int>& lengths) {
  const Classes classes = ClassesOf(maker);
  EXPECT_EQ(classes.count(), lengths.size());
  std::vector<std::set<uint32_t>> found(lengths.size());
  for (uint32_t s = 0; s < classes.graph.size(); ++s)
    for (uint32_t n = classes.graph.neighbor_begin[s]; n < classes.graph.neighbor_begin[s + 1]; ++n)
      found[DimensionOf(s, classes.graph.neighbors[n].head, lengths)].insert(classes.of[n]);
  for (const auto& one : found) EXPECT_EQ(one.size(), 1u);
}

TEST(GridClasses, AreTheDimensionsOfATorus) {
  ExpectDimensions(MakeTorus({5, 6, 7}, 1), {5, 6, 7});
  ExpectDimensions(MakeTorus({8, 3}, 1), {8, 3});
}

TEST(GridClasses, SurviveMissingLinks) {
  FabricMaker maker = MakeTorus({6, 6, 6}, 1);
  Rng rng(7);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(0.02)) maker.RemoveCable(cable);
  ExpectDimensions(maker, {6, 6, 6});
}

// A ring of four is a square of two dimensions of its own.
TEST(GridClasses, SeeAHypercubeInRingsOfTwoAndFour) {
  EXPECT_EQ(ClassesOf(MakeTorus({2, 2, 2, 2}, 1)).count(), 4u);
  EXPECT_EQ(ClassesOf(MakeTorus({4, 4}, 1)).count(), 4u);
}

TEST(GridClasses, AreOneWhereThereIsNoProduct) {
  EXPECT_EQ(ClassesOf(MakeRing(9, 1)).count(), 1u);
  EXPECT_EQ(ClassesOf(MakeFatTree(8, 2)).count(), 1u);
  EXPECT_EQ(ClassesOf(MakeRandom(20, 60, 5, 11)).count(), 1u);
}

}  // namespace
}  // namespace fabricd::routing
