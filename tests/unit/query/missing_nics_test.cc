// SPDX-License-Identifier: Apache-2.0
// Which NICs are missed, on SuperPODs in which some are gone.
#include "query/missing_nics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"
#include "sim/generate/generate.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MissingNicsTest : public ::testing::Test {
 protected:
  void Make(const std::string& spec) {
    auto made = sim::Generate(spec);
    ASSERT_TRUE(made.ok()) << made.status();
    builder_ = fabric::SnapshotBuilder(**made);
  }
  NodeIndex Find(const std::string& description) {
    NodeIndex found = NodeIndex::None();
    builder_.Build()->ForEachNode([&](const fabric::Node& node) {
      if (node.description == description) found = node.index;
    });
    EXPECT_FALSE(found.IsNone()) << description;
    return found;
  }
  void Remove(const std::string& description) { builder_.RemoveNode(Find(description)); }
  // "mlx5_2 …: why"
  std::vector<std::string> Of(const std::string& host) {
    const auto snapshot = builder_.Build();
    const query::MissingNics missing(snapshot,
                                     std::make_shared<const fabric::HostTable>(
                                         fabric::FindHosts(*snapshot, fabric::HostPatterns())));
    std::vector<std::string> found;
    for (const query::MissingNic& nic : missing.Of(host))
      found.push_back(nic.device + " " + nic.reason);
    return found;
  }

  fabric::SnapshotBuilder builder_;
};

TEST_F(MissingNicsTest, OfAHostThatTheOthersOfItsUnitHave) {
  Make("superpod:sus=2,hosts=4,rails=4");
  EXPECT_THAT(Of("node0002"), IsEmpty());
  EXPECT_THAT(Of("no such host"), IsEmpty());
  Remove("node0002 mlx5_2");
  EXPECT_THAT(Of("node0002"),
              ElementsAre("mlx5_2 is not on the fabric: 3 of 4 hosts of its unit have it"));
  EXPECT_THAT(Of("node0001"), IsEmpty());
  Remove("node0002 mlx5_0");
  EXPECT_THAT(Of("node0002"),
              ElementsAre("mlx5_0 is not on the fabric: 3 of 4 hosts of its unit have it",
                          "mlx5_2 is not on the fabric: 3 of 4 hosts of its unit have it"));
}

TEST_F(MissingNicsTest, ANicThatHalfOfTheHostsLackIsNotMissing) {
  Make("superpod:sus=2,hosts=4,rails=4");
  Remove("node0001 mlx5_3");
  Remove("node0002 mlx5_3");
  EXPECT_THAT(Of("node0001"), IsEmpty());
}

TEST_F(MissingNicsTest, HostsWithAnotherNamePrefixAreComparedApart) {
  Make("superpod:sus=1,hosts=8,rails=4");
  for (const char* device : {"mlx5_0", "mlx5_1"})
    builder_.SetDescription(Find(std::string("node0008 ") + device),
                            std::string("login1 ") + device);
  Remove("node0008 mlx5_2");
  Remove("node0008 mlx5_3");
  EXPECT_THAT(Of("login1"), IsEmpty());
  Remove("node0007 mlx5_3");
  EXPECT_THAT(Of("node0007"),
              ElementsAre("mlx5_3 is not on the fabric: 6 of 7 hosts of its unit have it"));
}

TEST_F(MissingNicsTest, AllOfALeafThatHasDied) {
  Make("superpod:sus=4,hosts=4,rails=4");
  for (const char* host : {"node0001", "node0002", "node0003", "node0004"})
    Remove(std::string(host) + " mlx5_1");
  Remove("su1-rail1-leaf");
  EXPECT_THAT(Of("node0003"),
              ElementsAre("mlx5_1 is not on the fabric: 3 of 3 other units have a leaf for it, its "
                          "own none"));
  EXPECT_THAT(Of("node0005"), IsEmpty());
}

TEST_F(MissingNicsTest, OneUnderAnotherNameOrOnAWrongLeafIsThere) {
  Make("superpod:sus=2,hosts=4,rails=4,swap-cables=1,seed=3");
  EXPECT_THAT(Of("node0003"), IsEmpty());
  builder_.SetDescription(Find("node0001 mlx5_2"), "node0001 mlx5_9");
  EXPECT_THAT(Of("node0001"), IsEmpty());
}

TEST_F(MissingNicsTest, WithoutRailsNothingIsMissed) {
  Make("fat-tree:radix=4,levels=2");
  Remove("node0001 mlx5_0");
  EXPECT_THAT(Of("node0002"), IsEmpty());
}

}  // namespace
}  // namespace fabricd::rpc::testing
