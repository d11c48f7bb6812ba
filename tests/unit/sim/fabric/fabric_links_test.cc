// SPDX-License-Identifier: Apache-2.0
// Cables that are pulled, plugged and moved, and nodes that restart or are off.
#include <gtest/gtest.h>

#include "tests/unit/sim/fabric/fabric_fixture.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::PortState;
using Kind = mad::IncomingMad::Kind;

TEST_F(FabricTest, LinkStateFollowsTheCable) {
  EXPECT_EQ(fabric.Link(client.now, PortOf("su1-rail0-leaf", 2)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 2)).ok());
  EXPECT_EQ(fabric.Unlink(client.now, PortOf("node0002 mlx5_0", 1)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Device("node0002 mlx5_0").port(PortNum(1)).info.port_state, PortState::kDown);
  EXPECT_TRUE(client.Get({1, 2}, AttributeId::kNodeInfo).timed_out);
  ASSERT_TRUE(fabric.Link(client.now, PortOf("node0002 mlx5_0", 1)).ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_state, PortState::kInit);
  EXPECT_TRUE(client.Get({1, 2}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 0)).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(FabricTest, MovesACable) {
  const PortRef old_socket = PortOf("su1-rail0-leaf", 2), adapter = PortOf("node0002 mlx5_0", 1);
  const PortRef free = PortOf("spine1", 8);
  ASSERT_EQ(fabric.LinkedPeer(adapter), old_socket);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", 8)).ok());
  ASSERT_TRUE(fabric.Unlink(client.now, adapter).ok());
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("spine1", 1)).ok());
  EXPECT_EQ(fabric.Connect(client.now, adapter, PortOf("spine1", 2)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.Connect(client.now, adapter, PortOf("spine1", 1)).ok());
  EXPECT_EQ(fabric.LinkedPeer(PortOf("spine1", 1)), adapter);
  EXPECT_EQ(fabric.LinkedPeer(old_socket), PortRef());
  EXPECT_EQ(fabric.Link(client.now, old_socket).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fabric.LinkedPeer(free).IsNone());
  size_t pulled = 0;
  for (const SimCable& cable : fabric.ListCables()) pulled += cable.plugged ? 0 : 1;
  EXPECT_EQ(pulled, 1u);
}

TEST_F(FabricTest, RebootLosesWrittenState) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  const NodeIndex spine = fabric.FindNode("spine1").value();
  ASSERT_NE(fabric.device(spine)->lft_blocks_stored(), 0u);
  ASSERT_TRUE(fabric.Reboot(client.now, spine).ok());
  EXPECT_EQ(fabric.Reboot(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).timed_out);
  client.Wait(client.now + std::chrono::seconds(1));
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(client.PortInfoOf({1, 5}, 0).lid, Lid());
  EXPECT_EQ(fabric.device(spine)->lft_blocks_stored(), 0u);
  EXPECT_EQ(client.PortInfoOf(leaf, 5).port_state, PortState::kInit);
  EXPECT_EQ(client.PortInfoOf(leaf, 7).port_state, PortState::kActive);  // The other spine's.
}

TEST_F(FabricTest, ANodeThatIsOffIsUnreachableUntilItIsOn) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  const NodeIndex spine = fabric.FindNode("spine1").value();
  EXPECT_EQ(fabric.PowerOn(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.PowerOff(client.now, spine).ok());
  EXPECT_EQ(fabric.PowerOff(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(fabric.Reboot(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  size_t from_neighbours = 0;
  for (const auto& mad : Mads(client.Wait(client.now + std::chrono::hours(1)))) {
    ++from_neighbours;
    EXPECT_NE(mad.from.lid, sm.lid.at(Device("spine1").guid()));  // It says no more.
  }
  EXPECT_GT(from_neighbours, 0u);
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).timed_out);
  EXPECT_EQ(client.PortInfoOf(leaf, 5).port_state, PortState::kDown);
  size_t off = 0;
  for (const SimNode& node : fabric.ListNodes()) off += node.running ? 0 : 1;
  EXPECT_EQ(off, 1u);
  // A cable that is plugged meanwhile trains when both ends have power.
  const PortRef socket = PortOf("su1-rail0-leaf", 6);
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  EXPECT_TRUE(fabric.LinkedPeer(socket).IsNone());
  ASSERT_TRUE(fabric.PowerOn(client.now, spine).ok());
  EXPECT_FALSE(fabric.LinkedPeer(socket).IsNone());
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(client.PortInfoOf({1, 5}, 0).lid, Lid());
  EXPECT_EQ(fabric.device(spine)->lft_blocks_stored(), 0u);
}

class LatencyTest : public FabricTest {
 protected:
  LatencyTest()
      : FabricTest({.link_latency = std::chrono::microseconds(1),
                    .training_time = std::chrono::milliseconds(10)}) {}
};

TEST_F(LatencyTest, EveryHopTakesItsTime) {
  const Instant sent = client.now;
  ASSERT_TRUE(fabric.Send(sent, host, NodeInfoGet({1, 5, 3, 3}, 7)).ok());
  std::vector<Delivery> out;
  fabric.Advance(sent + std::chrono::nanoseconds(7999), out);
  EXPECT_TRUE(out.empty());
  fabric.Advance(sent + std::chrono::microseconds(8), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].at, sent + std::chrono::microseconds(8));
  EXPECT_TRUE(Mads(client.Wait(sent + std::chrono::seconds(1))).empty());  // No time-out later.
}

TEST_F(LatencyTest, AMadInFlightIsLostWithItsLink) {
  ASSERT_TRUE(fabric.Send(client.now, host, NodeInfoGet({1, 5, 3, 3}, 7)).ok());
  client.now += std::chrono::nanoseconds(2500);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", 3)).ok());
  const auto mads = Mads(client.Wait(client.now + kTestTimeout));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0].kind, Kind::kTimedOut);
}

TEST_F(LatencyTest, LinksTrainForAWhile) {
  const PortRef socket = PortOf("su1-rail0-leaf", 2);
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  EXPECT_EQ(Device("su1-rail0-leaf").port(PortNum(2)).info.port_physical_state,
            wire::PortPhysicalState::kTraining);
  client.Wait(client.now + std::chrono::milliseconds(5));
  // Pulled again while it trains: that training must not bring it up.
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  client.Wait(client.now + std::chrono::milliseconds(8));
  EXPECT_TRUE(fabric.LinkedPeer(socket).IsNone());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  client.Wait(client.now + std::chrono::milliseconds(10));
  EXPECT_EQ(fabric.LinkedPeer(socket), PortOf("node0002 mlx5_0", 1));
}

}  // namespace
}  // namespace fabricd::sim
