// SPDX-License-Identifier: Apache-2.0
#include "fabric/cabling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fabrics.h"

namespace fabricd::fabric {
namespace {

using ::fabricd::testing::FabricMaker;
using ::fabricd::testing::TestFabric;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two leaves with a spine between them and a host on each.
FabricMaker Pod() {
  FabricMaker maker;
  const size_t leaf1 = maker.AddSwitch(4, "leaf1"), leaf2 = maker.AddSwitch(4, "leaf2");
  const size_t spine = maker.AddSwitch(4, "spine");
  maker.Cable(leaf1, 1, spine, 1);
  maker.Cable(leaf2, 1, spine, 2);
  maker.Cable(leaf1, 2, maker.AddHost(1, "node1 mlx5_0"), 1);
  maker.Cable(leaf2, 2, maker.AddHost(1, "node2 mlx5_0"), 1);
  return maker;
}

std::vector<std::string> Compare(const FabricMaker& expected, const TestFabric& found) {
  const TestFabric plan = expected.Build();
  std::vector<std::string> lines;
  for (const CablingFinding& finding : CompareCabling(*plan.snapshot, *found.snapshot).findings) {
    lines.push_back(
        fmt::format("{} {}: {}", CablingFaultName(finding.fault), finding.name, finding.message));
    // What there is has a place.
    EXPECT_EQ(finding.port.IsNone(), finding.fault == CablingFault::kMissingNode);
  }
  return lines;
}

TEST(CablingTest, FindsNothingInAFabricThatIsAsPlanned) {
  const TestFabric found = Pod().Build(0, 5);
  EXPECT_THAT(Compare(Pod(), found), IsEmpty());
  EXPECT_EQ(CompareCabling(*found.snapshot, *found.snapshot).links_right, 4u);
}

TEST(CablingTest, ReplacedDevicesAreKnownByTheirNames) {
  FabricMaker found = Pod();
  found.SetGuid(0, Guid(0x7777));
  EXPECT_THAT(Compare(Pod(), found.Build()), IsEmpty());
}

TEST(CablingTest, RenamedDevicesAreKnownByTheirGuids) {
  const TestFabric plan = Pod().Build();
  SnapshotBuilder builder(*plan.snapshot);
  builder.SetDescription(plan.node[0], "leaf-new");
  const auto renamed = builder.Build();
  EXPECT_THAT(CompareCabling(*plan.snapshot, *renamed).findings, IsEmpty());
}

TEST(CablingTest, NamesMissingExtraAndMisplacedLinks) {
  FabricMaker found = Pod();
  found.RemoveCable(0);
  EXPECT_THAT(Compare(Pod(), found.Build()),
              ElementsAre("MissingLink leaf1/1 - spine/1: expected, and not there"));
  found.Cable(0, 1, 2, 3);
  EXPECT_THAT(
      Compare(Pod(), found.Build()),
      ElementsAre(
          "MisplacedLink leaf1/1 - spine/1: leaf1/1 leads to spine/3, expected to spine/1"));
  FabricMaker more = Pod();
  more.Cable(0, 4, 1, 4);
  more.Cable(1, 3, more.AddHost(1, "node10 mlx5_0"), 1);
  EXPECT_THAT(Compare(Pod(), more.Build()),
              ElementsAre("ExtraNode node10 mlx5_0: there, and not expected",
                          "ExtraLink leaf1/4 - leaf2/4: there, and not expected"));
  EXPECT_THAT(Compare(more, Pod().Build()),
              ElementsAre("MissingNode node10 mlx5_0: expected, and not there",
                          "MissingLink leaf1/4 - leaf2/4: expected, and not there"));
}

TEST(CablingTest, NamesSwappedCablesAtBothEnds) {
  FabricMaker found;
  const size_t leaf1 = found.AddSwitch(4, "leaf1"), leaf2 = found.AddSwitch(4, "leaf2");
  const size_t spine = found.AddSwitch(4, "spine");
  found.Cable(leaf1, 1, spine, 2);
  found.Cable(leaf2, 1, spine, 1);
  found.Cable(leaf1, 2, found.AddHost(1, "node1 mlx5_0"), 1);
  found.Cable(leaf2, 2, found.AddHost(1, "node2 mlx5_0"), 1);
  EXPECT_THAT(
      Compare(Pod(), found.Build()),
      ElementsAre(
          "MisplacedLink leaf1/1 - spine/1: leaf1/1 leads to spine/2, expected to spine/1",
          "MisplacedLink leaf2/1 - spine/2: leaf2/1 leads to spine/1, expected to spine/2"));
}

}  // namespace
}  // namespace fabricd::fabric
