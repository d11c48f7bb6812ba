// SPDX-License-Identifier: Apache-2.0
// What schedulers are told of hosts in each state that their NICs can be in.
#include "query/readiness.h"

#include "daemon/base/models.h"
#include "daemon/rpc/convert/convert_policy.h"

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReadinessTest : public ::testing::Test {
 protected:
  pb::HostReadiness Of(const std::string& host, wire::SmState state = wire::SmState::kMaster) {
    const auto view = fabric_.View();
    view->sm.state = state;
    backend_.Publish(view);
    daemon::Models models(backend_);
    const auto model = models.Current();
    pb::HostReadiness readiness;
    ToProto(*model, query::ReadinessOf(*model, host), &readiness);
    return readiness;
  }
  policy::Hold& AddHold(uint64_t id, policy::HoldKind kind, policy::TargetKind target,
                        const std::string& name) {
    policy::HoldStatus status;
    status.hold.id = id;
    status.hold.kind = kind;
    status.hold.owner = "slurm";
    status.hold.reason = "BER";
    status.hold.target.kind = target;
    status.hold.target.name = name;
    fabric_.policy.holds.push_back(status);
    return fabric_.policy.holds.back().hold;
  }
  std::vector<std::string> NicStates(const pb::HostReadiness& host) {
    std::vector<std::string> states;
    for (const auto& nic : host.nics())
      states.push_back(nic.device() + " " + pb::Readiness_Name(nic.readiness()).substr(10));
    return states;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
};

TEST_F(ReadinessTest, AHealthyHostIsReady) {
  const auto host = Of("node1");
  EXPECT_EQ(host.readiness(), pb::READINESS_READY) << host.DebugString();
  EXPECT_THAT(host.reasons(), IsEmpty());
  EXPECT_THAT(NicStates(host), ElementsAre("mlx5_0 READY", "mlx5_1 READY"));
  EXPECT_EQ(host.nics(0).port().lid(), 4u);
}

TEST_F(ReadinessTest, OnAStandbyReadinessIsUnknown) {
  const auto host = Of("node1", wire::SmState::kStandby);
  EXPECT_EQ(host.readiness(), pb::READINESS_UNKNOWN);
  EXPECT_THAT(NicStates(host), ElementsAre("mlx5_0 UNKNOWN", "mlx5_1 UNKNOWN"));
  EXPECT_THAT(host.reasons(), ElementsAre(HasSubstr("is STANDBY")));
  fabric_.policy.gone = {{Guid(0x900), false, "node9 mlx5_0", {{kLeaf2, PortNum(7)}}, Instant()}};
  EXPECT_EQ(Of("node9", wire::SmState::kStandby).readiness(), pb::READINESS_UNKNOWN);
  AddHold(7, policy::HoldKind::kCordon, policy::TargetKind::kHost, "node1");
  EXPECT_EQ(Of("node1", wire::SmState::kStandby).readiness(), pb::READINESS_HELD);
}

TEST_F(ReadinessTest, AHoldOnOneNicHoldsTheHost) {
  AddHold(7, policy::HoldKind::kCordon, policy::TargetKind::kHca, "node1/mlx5_1").target.nodes = {
      kNode1Rail1};
  const auto host = Of("node1");
  EXPECT_EQ(host.readiness(), pb::READINESS_HELD);
  EXPECT_THAT(NicStates(host), ElementsAre("mlx5_0 READY", "mlx5_1 HELD"));
  EXPECT_THAT(host.nics(1).hold_ids(), ElementsAre("7"));
  EXPECT_THAT(host.reasons(),
              ElementsAre("mlx5_1: cordon of HCA node1/mlx5_1 (hold 7, slurm): BER"));
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_READY);
}

TEST_F(ReadinessTest, AHoldOnTheHostIsTheFirstReasonAndListedOnce) {
  AddHold(6, policy::HoldKind::kCordon, policy::TargetKind::kHca, "node1/mlx5_0").target.nodes = {
      kNode1Rail0};
  AddHold(7, policy::HoldKind::kCordon, policy::TargetKind::kHost, "node1").target.nodes = {
      kNode1Rail0, kNode1Rail1};
  const auto host = Of("node1");
  EXPECT_EQ(host.readiness(), pb::READINESS_HELD);
  EXPECT_THAT(NicStates(host), ElementsAre("mlx5_0 HELD", "mlx5_1 HELD"));
  EXPECT_THAT(host.nics(1).reasons(), ElementsAre("cordon of host node1 (hold 7, slurm): BER"));
  EXPECT_THAT(host.reasons(),
              ElementsAre("cordon of host node1 (hold 7, slurm): BER",
                          "mlx5_0: cordon of HCA node1/mlx5_0 (hold 6, slurm): BER"));
}

TEST_F(ReadinessTest, AHoldOnTheSwitchOrOnThePortThatFacesIt) {
  AddHold(1, policy::HoldKind::kDrain, policy::TargetKind::kSwitch, "leaf2").target.nodes = {
      kLeaf2};
  EXPECT_THAT(NicStates(Of("node1")), ElementsAre("mlx5_0 READY", "mlx5_1 HELD"));
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_HELD);
  fabric_.policy.holds.clear();
  AddHold(1, policy::HoldKind::kIsolate, policy::TargetKind::kPort, "leaf1/1").target.ports = {
      {kLeaf1, PortNum(1)}};
  EXPECT_THAT(NicStates(Of("node1")), ElementsAre("mlx5_0 HELD", "mlx5_1 READY"));
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_READY);
}

TEST_F(ReadinessTest, AHostThatVanishedBecauseOfItsHold) {
  EXPECT_EQ(Of("node9").readiness(), pb::READINESS_UNKNOWN);
  AddHold(3, policy::HoldKind::kDisable, policy::TargetKind::kHost, "node9").target.nodes = {
      Guid(0x999)};
  EXPECT_EQ(Of("node9").readiness(), pb::READINESS_HELD);
  // One NIC of a host that is still there.
  AddHold(4, policy::HoldKind::kDisable, policy::TargetKind::kHca, "node2/mlx5_7").target.nodes = {
      Guid(0x998)};
  const auto host = Of("node2");
  EXPECT_EQ(host.readiness(), pb::READINESS_HELD);
  EXPECT_THAT(NicStates(host), ElementsAre("mlx5_0 READY"));
}

TEST_F(ReadinessTest, AHostThatHasLeftWithAllOfItsNicsIsLost) {
  fabric_.policy.gone = {{Guid(0x900), false, "node9 mlx5_1", {{kLeaf2, PortNum(7)}}, Instant()},
                         {Guid(0x901), false, "node9 mlx5_0", {{kLeaf1, PortNum(7)}}, Instant()},
                         {Guid(0x902), false, "node2 mlx5_5", {{kLeaf1, PortNum(8)}}, Instant()},
                         {Guid(0x903), true, "spine9", {}, Instant()}};
  auto lost = Of("node9");
  EXPECT_EQ(lost.readiness(), pb::READINESS_LOST);
  EXPECT_THAT(lost.reasons(), ElementsAre("it has left the fabric with all of its 2 NICs",
                                          "mlx5_0 is not on the fabric any more",
                                          "mlx5_1 is not on the fabric any more"));
  EXPECT_THAT(NicStates(lost), ElementsAre("mlx5_0 DEGRADED", "mlx5_1 DEGRADED"));
  // One of a host that is still there, without rails too.
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_DEGRADED);
  EXPECT_THAT(NicStates(Of("node2")), ElementsAre("mlx5_0 READY", "mlx5_5 DEGRADED"));
  EXPECT_EQ(Of("spine9").readiness(), pb::READINESS_UNKNOWN);
  EXPECT_EQ(Of("node8").readiness(), pb::READINESS_UNKNOWN);
  // Because its port was disabled: that comes first.
  auto& hold = AddHold(4, policy::HoldKind::kDisable, policy::TargetKind::kPort, "leaf1/7");
  hold.target.ports = hold.target.facing = {{kLeaf1, PortNum(7)}};
  lost = Of("node9");
  EXPECT_EQ(lost.readiness(), pb::READINESS_HELD);
  EXPECT_THAT(lost.reasons(0), HasSubstr("disable of port leaf1/7 (hold 4"));
  EXPECT_THAT(NicStates(lost), ElementsAre("mlx5_0 HELD", "mlx5_1 DEGRADED"));
  // After a restart only the hold knows.
  fabric_.policy.gone.clear();
  fabric_.policy.holds[0].hold.target.behind = {"node9/mlx5_0"};
  lost = Of("node9");
  EXPECT_EQ(lost.readiness(), pb::READINESS_HELD);
  EXPECT_THAT(lost.reasons(0), HasSubstr("disable of port leaf1/7 (hold 4"));
}

TEST_F(ReadinessTest, PortsBelowTheirCapabilityAreDegraded) {
  const PortRef port{fabric_.node2, PortNum(1)};
  fabric_.maker.builder.SetPortInfo(port, MakePortInfo(wire::PortState::kInit, 2));
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_DEGRADED);
  EXPECT_THAT(Of("node2").reasons(0), HasSubstr("the port is INIT"));
  fabric_.maker.builder.SetPortInfo(port, MakePortInfo(wire::PortState::kActive, 1));
  EXPECT_THAT(Of("node2").reasons(0), HasSubstr("below what both ends support"));
}

TEST_F(ReadinessTest, AMissingNicMakesTheHostDegraded) {
  // Of another host that is wired as node1 there is one NIC only, and of a third, both.
  const auto wire = [&](Guid guid, const std::string& name, NodeIndex leaf, uint8_t port) {
    const NodeIndex node = fabric_.maker.Add(wire::NodeType::kChannelAdapter, guid, 1, name);
    fabric_.maker.Link(leaf, port, node, 1);
    const auto lid = static_cast<uint16_t>((leaf == fabric_.leaf1 ? 10 : 20) + port);
    fabric_.Assign(node, 1, lid);
    for (auto& [row_of, row] : fabric_.rows) row.Set(lid, row_of == leaf ? port : 3);
    return node;
  };
  wire(Guid(0x100400), "node4 mlx5_0", fabric_.leaf1, 2);
  const NodeIndex pulled = wire(Guid(0x100500), "node4 mlx5_1", fabric_.leaf2, 4);
  wire(Guid(0x100600), "node5 mlx5_0", fabric_.leaf1, 4);
  EXPECT_EQ(Of("node4").readiness(), pb::READINESS_READY) << Of("node4").DebugString();
  EXPECT_THAT(Of("node5").reasons(),
              ElementsAre("mlx5_1 is not on the fabric: 2 of 3 hosts of its unit have it"));
  EXPECT_EQ(Of("node5").readiness(), pb::READINESS_DEGRADED);
  EXPECT_THAT(NicStates(Of("node5")), ElementsAre("mlx5_0 READY", "mlx5_1 DEGRADED"));
  EXPECT_FALSE(Of("node5").nics(1).has_port());
  // Two of three lack it now: that is how they are built.
  fabric_.maker.builder.RemoveNode(pulled);
  EXPECT_EQ(Of("node5").readiness(), pb::READINESS_READY);
}

TEST_F(ReadinessTest, APortWithoutARouteMakesTheHostDegraded) {
  fabric_.rows[fabric_.leaf2].Set(6, routing::kNoRoute);
  const auto host = Of("node2");
  EXPECT_EQ(host.readiness(), pb::READINESS_DEGRADED);
  EXPECT_THAT(host.reasons(), ElementsAre("mlx5_0: no route leads to it"));
}

TEST_F(ReadinessTest, AFlappingLinkAndConditions) {
  policy::DampedLink link;
  link.a = {fabric_.leaf2, PortNum(1)};
  link.b = {fabric_.node2, PortNum(1)};
  link.reason = "4 flaps";
  fabric_.policy.damped = {link};
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_READY);
  fabric_.policy.damped[0].suppressed = true;
  EXPECT_THAT(Of("node2").reasons(), ElementsAre("mlx5_0: its link is suppressed: 4 flaps"));
  fabric_.policy.damped.clear();
  policy::Condition condition;
  condition.type = "NoisyTraps";
  condition.node = kLeaf2;
  condition.port = PortNum(1);
  condition.message = "70 traps in 90 s";
  fabric_.policy.conditions = {condition};
  EXPECT_THAT(Of("node2").reasons(), ElementsAre("mlx5_0: NoisyTraps: 70 traps in 90 s"));
  // What is said of the switch as a whole is not its hosts' fault.
  fabric_.policy.conditions[0].port = PortNum(0);
  EXPECT_EQ(Of("node2").readiness(), pb::READINESS_READY);
}

}  // namespace
}  // namespace fabricd::rpc::testing
