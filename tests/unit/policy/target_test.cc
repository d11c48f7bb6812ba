// SPDX-License-Identifier: Apache-2.0
#include "policy/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/policy/named_fabric.h"

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TargetTest : public testing::Test {
 protected:
  absl::Status Fault(std::optional<TargetKind> kind, std::string_view text) {
    return ResolveTarget(kind, text, fabric_.Places()).status();
  }
  NamedFabric fabric_;
};

TEST_F(TargetTest, AHostIsAllItsAdapters) {
  const HoldTarget target = fabric_.Target(TargetKind::kHost, " node1 ");
  EXPECT_EQ(target.kind, TargetKind::kHost);
  EXPECT_EQ(target.name, "node1");
  EXPECT_THAT(target.nodes,
              ElementsAre(fabric_.GuidOf("node1 mlx5_0"), fabric_.GuidOf("node1 mlx5_1")));
  EXPECT_THAT(target.ports, IsEmpty());
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("leaf1", 1), fabric_.Held("leaf1", 2)));
  // By one of its adapters, or a LID of it.
  EXPECT_EQ(fabric_.Target(TargetKind::kHost, "node1/mlx5_1"), target);
  EXPECT_EQ(fabric_.Target(TargetKind::kHost, "lid:6"), target);
  EXPECT_EQ(fabric_.Target(std::nullopt, "node1"), target);
}

TEST_F(TargetTest, AnAdapterIsFoundByEachOfItsNames) {
  const HoldTarget target = fabric_.Target(TargetKind::kHca, "node1/mlx5_1");
  EXPECT_EQ(target.name, "node1/mlx5_1");
  EXPECT_THAT(target.nodes, ElementsAre(fabric_.GuidOf("node1 mlx5_1")));
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("leaf1", 2)));
  for (const char* text :
       {"node1 mlx5_1", "0x0000000000000007", "0x0000000000000106", "lid:7", "lid:0x7", "7"})
    EXPECT_EQ(fabric_.Target(TargetKind::kHca, text), target) << text;
  EXPECT_EQ(fabric_.Target(std::nullopt, "node1/mlx5_1"), target);
}

TEST_F(TargetTest, ASwitchIsFacedByTheSwitchesAroundIt) {
  const HoldTarget target = fabric_.Target(TargetKind::kSwitch, "leaf1");
  EXPECT_THAT(target.nodes, ElementsAre(fabric_.GuidOf("leaf1")));
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("spine1", 1), fabric_.Held("spine2", 1)));
  EXPECT_EQ(fabric_.Target(TargetKind::kSwitch, "0x0000000000000001"), target);
  EXPECT_EQ(fabric_.Target(TargetKind::kSwitch, "lid:1"), target);
}

TEST_F(TargetTest, PortsAreFacedByTheSwitchThatStaysReachable) {
  HoldTarget target = fabric_.Target(TargetKind::kPort, "leaf1/1");
  EXPECT_THAT(target.ports, ElementsAre(fabric_.Held("leaf1", 1)));
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("leaf1", 1)));
  EXPECT_EQ(target.name, "leaf1/1");
  EXPECT_EQ(fabric_.Target(TargetKind::kPort, "0x0000000000000001/1"), target);
  EXPECT_EQ(fabric_.Target(std::nullopt, "leaf1/1"), target);
  // A host's port: the switch's.
  target = fabric_.Target(TargetKind::kPort, "node1/mlx5_0/1");
  EXPECT_THAT(target.ports, ElementsAre(fabric_.Held("node1 mlx5_0", 1)));
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("leaf1", 1)));
  EXPECT_EQ(fabric_.Target(TargetKind::kPort, "node1/mlx5_0"), target);
  EXPECT_EQ(fabric_.Target(TargetKind::kPort, "lid:6"), target);
  // Between switches the named end, if the SM still comes to it; edge hangs by this link alone.
  EXPECT_THAT(fabric_.Target(TargetKind::kPort, "leaf1/3").facing,
              ElementsAre(fabric_.Held("leaf1", 3)));
  EXPECT_THAT(fabric_.Target(TargetKind::kPort, "edge/1").facing,
              ElementsAre(fabric_.Held("spine2", 3)));
  EXPECT_THAT(fabric_.Target(TargetKind::kPort, "spine2/3").facing,
              ElementsAre(fabric_.Held("spine2", 3)));
  // No link: it can be kept from getting one.
  EXPECT_THAT(fabric_.Target(TargetKind::kPort, "leaf1/8").facing,
              ElementsAre(fabric_.Held("leaf1", 8)));
}

TEST_F(TargetTest, ALinkHasBothEnds) {
  const HoldTarget target = fabric_.Target(TargetKind::kLink, "spine1/1");
  EXPECT_THAT(target.ports, ElementsAre(fabric_.Held("leaf1", 3), fabric_.Held("spine1", 1)));
  EXPECT_THAT(target.facing, ElementsAre(fabric_.Held("spine1", 1)));
  EXPECT_EQ(fabric_.Target(TargetKind::kLink, "leaf1/3").ports, target.ports);
  EXPECT_THAT(fabric_.Target(TargetKind::kLink, "node1/mlx5_0").ports,
              ElementsAre(fabric_.Held("leaf1", 1), fabric_.Held("node1 mlx5_0", 1)));
}

TEST_F(TargetTest, FaultsNameTheObjectAndTheReason) {
  const auto expect = [&](std::optional<TargetKind> kind, std::string_view text,
                          absl::StatusCode code, const char* part) {
    const absl::Status status = Fault(kind, text);
    EXPECT_EQ(status.code(), code) << text << ": " << status;
    EXPECT_THAT(Message(status), HasSubstr(part)) << text;
  };
  using enum absl::StatusCode;
  expect(TargetKind::kHost, "node9", kNotFound, "node9");
  expect(TargetKind::kHost, "leaf1", kInvalidArgument, "not a host");
  expect(TargetKind::kHost, "", kInvalidArgument, "no target");
  expect(TargetKind::kHca, "node1/mlx5_7", kNotFound, "it has mlx5_0, mlx5_1");
  expect(TargetKind::kHca, "node1/mlx5_0/x", kInvalidArgument, "port number");
  expect(TargetKind::kHca, "leaf1", kInvalidArgument, "is a switch");
  expect(TargetKind::kSwitch, "node1/mlx5_0", kInvalidArgument, "is no switch");
  expect(TargetKind::kSwitch, "leaf9", kNotFound, "leaf9");
  expect(TargetKind::kPort, "leaf1", kInvalidArgument, "leaf1/PORT");
  expect(TargetKind::kPort, "leaf1/9", kNotFound, "no port 9");
  expect(TargetKind::kPort, "lid:1", kInvalidArgument, "leaf1/PORT");
  expect(TargetKind::kLink, "leaf1/8", kNotFound, "leaf1/8 has no link");
  expect(TargetKind::kPort, "lid:77", kNotFound, "LID 77");
  expect(TargetKind::kPort, "lid:seven", kInvalidArgument, "no unicast LID");
  expect(TargetKind::kPort, "lid:0xC000", kInvalidArgument, "no unicast LID");
}

TEST_F(TargetTest, AmbiguousNamesListTheCandidates) {
  fabric_.Add("spine1", wire::NodeType::kSwitch, 8);
  fabric_.builder.SetDescription(fabric_.nodes["edge"], "spine1");
  fabric_.Build();
  const absl::Status status = Fault(TargetKind::kSwitch, "spine1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("0x0000000000000005"));
}

}  // namespace
}  // namespace fabricd::policy
