// SPDX-License-Identifier: Apache-2.0
// The check of the cabling, and when it is due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/observe/cable_check.h"
#include "sweep/observe/cable_watch.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CableWatch, TheFirstSnapshotIsToBeChecked) {
  SmallFabric fabric(2);
  CableWatch watch;
  const auto snapshot = fabric.builder.Build();
  EXPECT_TRUE(watch.MustCheck(*snapshot));
  watch.OnChecked(snapshot);
  EXPECT_FALSE(watch.MustCheck(*snapshot));
}

TEST(CableWatch, ANewLinkIsToBeCheckedAndALostOneIsNot) {
  SmallFabric fabric(2);
  CableWatch watch;
  watch.OnChecked(fabric.builder.Build());
  const PortRef trunk{fabric.switches[0], PortNum(36)};
  fabric.builder.Unlink(trunk);
  const auto without = fabric.builder.Build();
  EXPECT_FALSE(watch.MustCheck(*without));
  watch.OnChecked(without);
  fabric.builder.Link(trunk, {fabric.switches[1], PortNum(36)});
  EXPECT_TRUE(watch.MustCheck(*fabric.builder.Build()));
}

// Four hosts of two NICs each; rail 0 belongs to the first switch and rail 1 to the second.
class CableCheckTest : public testing::Test {
 protected:
  CableCheckTest() {
    for (int host = 0; host < 4; ++host)
      for (int rail : {0, 1}) Attach(host, rail, /*at=*/rail);
  }
  void Attach(int host, int rail, int at) {
    wire::NodeInfo info;
    info.node_type = wire::NodeType::kChannelAdapter;
    info.num_ports = 1;
    info.node_guid = Guid(0x500 + static_cast<uint64_t>(host * 16 + rail));
    info.port_guid = Guid(0x600 + static_cast<uint64_t>(host * 16 + rail));
    info.local_port = PortNum(1);
    const NodeIndex node = fabric_.builder.PutNode(info);
    fabric_.builder.SetDescription(node, fmt::format("node{} mlx5_{}", host, rail));
    fabric_.Cable({node, PortNum(1)},
                  {fabric_.switches[at], PortNum(static_cast<uint8_t>(1 + host * 2 + rail))});
  }
  std::vector<Problem> Check() { return FindMisplacedCables(*fabric_.builder.Build(), patterns_); }

  SmallFabric fabric_{0};
  const fabric::HostPatterns patterns_{};
};

TEST_F(CableCheckTest, CablesWhereTheOthersAreAreNoProblem) { EXPECT_THAT(Check(), IsEmpty()); }

TEST_F(CableCheckTest, ACableOfAnotherRailIsNamedByHostAndDevice) {
  Attach(2, 1, /*at=*/0);
  const auto problems = Check();
  ASSERT_THAT(problems, testing::SizeIs(1));
  EXPECT_EQ(problems[0].kind, "MisplacedCable");
  EXPECT_EQ(problems[0].subject, "node2 mlx5_1");
  EXPECT_THAT(problems[0].message, testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace fabricd::sweep
