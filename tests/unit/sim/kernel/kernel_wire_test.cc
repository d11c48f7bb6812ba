// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_wire.h"

#include <endian.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "common/status.h"
#include "sim/kernel/kernel_console.h"
#include "tests/unit/sim/kernel/frames.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

// A directed-route Get of NodeInfo as ib_mad puts it on the wire: the hop pointer is 1 already.
Frame NodeInfoGet(uint16_t hca, const wire::DirectedPath& path) {
  wire::Smp smp;
  smp.attribute = wire::AttributeId::kNodeInfo;
  smp.path = path;
  std::vector<uint8_t> mad = EncodeSmp(smp, kTestTimeout).payload;
  mad[6] = 1;
  simib_packet packet{};
  packet.slid = packet.dlid = 0xFFFF;
  return MakeFrame(SIMIB_PACKET, hca, 1, packet, mad);
}

// Two levels of switches; HCA 0 and 1 are plugged to hosts of it.
class KernelWireTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fabric = std::make_unique<SimFabric>(**topology);
    wire = std::make_unique<KernelWire>(*fabric, KernelWire::Places{});
    ASSERT_TRUE(wire->Take(now, Hello(0, 0x100)).ok());
    ASSERT_TRUE(wire->Take(now, Hello(1, 0x200)).ok());
  }
  std::vector<Frame> Advance() {
    std::vector<Frame> frames;
    now += std::chrono::milliseconds(1);
    wire->Advance(now, frames);
    return frames;
  }
  wire::PortState StateAtSwitch(uint16_t hca) const {
    const PortRef place = wire->places().at({hca, 1});
    const PortRef peer = fabric->device(place.node)->port(place.port).cable;
    return fabric->device(peer.node)->port(peer.port).info.port_state;
  }
  std::string Console(const std::string& line) {
    std::vector<Frame> frames;
    return Message(RunConsoleLine(now, line, *fabric, frames));
  }

  absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> topology =
      Generate("fat-tree:radix=4,levels=2");
  Instant now{};
  std::unique_ptr<SimFabric> fabric;
  std::unique_ptr<KernelWire> wire;
};

TEST_F(KernelWireTest, NotifiesEachPortThatItsLinkIsUpOnce) {
  const std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 2u);
  for (uint16_t hca = 0; hca < 2; ++hca) {
    EXPECT_EQ(TypeOf(frames[hca]), SIMIB_LINK);
    EXPECT_EQ(HcaOf(frames[hca]), hca);
    EXPECT_EQ(BodyOf<simib_link>(frames[hca]).up, 1);
  }
  EXPECT_TRUE(Advance().empty());
}

TEST_F(KernelWireTest, SwitchAnswersADirectedRouteSmpOfAnHca) {
  Advance();
  ASSERT_TRUE(wire->Take(now, NodeInfoGet(0, wire::DirectedPath{1})).ok());
  const std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(HcaOf(frames[0]), 0);
  const std::vector<uint8_t> mad = PayloadOf(frames[0]);
  ASSERT_EQ(mad.size(), wire::kMadBytes);
  EXPECT_EQ(mad[4] & 0x80, 0x80) << "direction";
  EXPECT_EQ(mad[6], 1) << "the hop pointer that ib_mad takes down to 0";
  const auto info = wire::NodeInfo::Decode(DecodeSmp(mad).data);
  EXPECT_EQ(info.node_type, wire::NodeType::kSwitch);
}

// The agent of a port outside of the simulator is outside, too: it gets the request as it left the
// last switch.
TEST_F(KernelWireTest, DeliversASmpForAnotherHcaUnanswered) {
  Advance();
  const PortRef place = wire->places().at({1, 1});
  const PortRef peer = fabric->device(place.node)->port(place.port).cable;
  const PortRef own = wire->places().at({0, 1});
  ASSERT_EQ(fabric->device(own.node)->port(own.port).cable.node, peer.node) << "one leaf";
  ASSERT_TRUE(wire->Take(now, NodeInfoGet(0, wire::DirectedPath{1, peer.port.value()})).ok());
  const std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(HcaOf(frames[0]), 1);
  const std::vector<uint8_t> mad = PayloadOf(frames[0]);
  EXPECT_EQ(mad[3], 0x01) << "still a Get";
  EXPECT_EQ(mad[6], 2) << "hop pointer";
}

TEST_F(KernelWireTest, DropsDataWhileThePortIsNotActive) {
  Advance();
  simib_packet packet{};
  packet.destination_qpn = htole32(2);
  packet.dlid = htole16(1);
  packet.pkey = 0xFFFF;
  ASSERT_TRUE(wire->Take(now, MakeFrame(SIMIB_PACKET, 0, 1, packet, {1, 2, 3})).ok());
  EXPECT_TRUE(Advance().empty());
  EXPECT_EQ(fabric->stats().lost_not_active, 1u);
}

TEST_F(KernelWireTest, PulledCableTakesTheLinkDownAndUpAgain) {
  Advance();
  const PortRef place = wire->places().at({1, 1});
  const std::string node = fabric->device(place.node)->description();
  EXPECT_EQ(Console("unlink " + node + " 1"), "");
  std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(BodyOf<simib_link>(frames[0]).up, 0);
  EXPECT_EQ(StateAtSwitch(1), wire::PortState::kDown);
  EXPECT_EQ(Console("link " + node + " 1"), "");
  frames = Advance();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(BodyOf<simib_link>(frames[0]).up, 1);
}

TEST_F(KernelWireTest, ReportsALinkThatWentDownAndUpBetweenTwoTurns) {
  Advance();
  const std::string node = fabric->device(wire->places().at({0, 1}).node)->description();
  EXPECT_EQ(Console("unlink " + node + " 1"), "");
  EXPECT_EQ(Console("link " + node + " 1"), "");
  const std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(BodyOf<simib_link>(frames[0]).up, 0);
  EXPECT_EQ(BodyOf<simib_link>(frames[1]).up, 1);
}

TEST_F(KernelWireTest, MirrorsTheStateOfThePort) {
  Advance();
  simib_port_state state{};
  state.lid = htole16(7);
  state.state = 3;
  ASSERT_TRUE(wire->Take(now, MakeFrame(SIMIB_PORT, 0, 1, state)).ok());
  const PortRef place = wire->places().at({0, 1});
  EXPECT_EQ(fabric->device(place.node)->port(place.port).info.lid, Lid(7));
  EXPECT_EQ(fabric->device(place.node)->port(place.port).info.port_state, wire::PortState::kArmed);
}

TEST_F(KernelWireTest, ASetThatTakesTheLinkDownTrainsItAgain) {
  Advance();
  simib_port_state state{};
  state.state = 1;
  state.physical_state = 2;
  state.retrain = 1;
  ASSERT_TRUE(wire->Take(now, MakeFrame(SIMIB_PORT, 0, 1, state)).ok());
  const std::vector<Frame> frames = Advance();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(BodyOf<simib_link>(frames[0]).up, 0);
  EXPECT_EQ(BodyOf<simib_link>(frames[1]).up, 1);
}

TEST_F(KernelWireTest, LinkOfARemovedHcaIsDownUntilItIsBack) {
  Advance();
  ASSERT_TRUE(wire->Take(now, KernelWire::Fatal(0)).code() == absl::StatusCode::kInvalidArgument)
      << "not a frame that the module sends";
  ASSERT_TRUE(wire->Take(now, KernelWire::Gone(1)).ok());
  Advance();
  EXPECT_EQ(StateAtSwitch(1), wire::PortState::kDown);
  ASSERT_TRUE(wire->Take(now, Hello(1, 0x200)).ok());
  Advance();
  EXPECT_EQ(StateAtSwitch(1), wire::PortState::kInit);
}

TEST_F(KernelWireTest, AReplacedHcaIsAddedWithItsNewGuid) {
  std::vector<Frame> frames;
  ASSERT_TRUE(RunConsoleLine(now, "replace 1 0x0253490000000f00", *fabric, frames).ok());
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(TypeOf(frames[0]), SIMIB_ADD);
  EXPECT_EQ(HcaOf(frames[0]), 1);
  EXPECT_EQ(le64toh(BodyOf<simib_add>(frames[0]).node_guid), 0x0253490000000f00u);
  EXPECT_EQ(KernelWire::Add(1).size(), sizeof(simib_header)) << "the HCA that it was has no body";
}

TEST_F(KernelWireTest, RefusesMalformedFrames) {
  Advance();
  EXPECT_FALSE(wire->Take(now, Frame{1, 2}).ok());
  Frame other = Hello(0, 0x100);
  other[0] = SIMIB_WIRE_VERSION + 1;
  EXPECT_FALSE(wire->Take(now, other).ok());
  EXPECT_FALSE(wire->Take(now, MakeFrame(SIMIB_PORT, 9, 1, simib_port_state{})).ok());
  EXPECT_FALSE(wire->Take(now, MakeFrame(SIMIB_PORT, 0, 1, uint32_t{0})).ok());
  simib_packet packet{};
  EXPECT_FALSE(wire->Take(now, MakeFrame(SIMIB_PACKET, 0, 1, packet, {1})).ok()) << "a short SMP";
  packet.flags = SIMIB_PACKET_GRH;
  packet.destination_qpn = 2;
  EXPECT_FALSE(wire->Take(now, MakeFrame(SIMIB_PACKET, 0, 1, packet, {1})).ok()) << "a short GRH";
}

TEST_F(KernelWireTest, ConsoleRefusesOtherWords) {
  EXPECT_NE(Console("explode 1"), "");
  EXPECT_NE(Console("unlink nothing 1"), "");
  EXPECT_NE(Console("remove"), "");
  EXPECT_NE(Console("replace 1"), "");
  EXPECT_NE(Console("replace 1 card"), "");
  EXPECT_EQ(Console("remove 1"), "");
}

}  // namespace
}  // namespace fabricd::sim
