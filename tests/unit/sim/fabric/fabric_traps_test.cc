// SPDX-License-Identifier: Apache-2.0
// Traps of a SimFabric: of lost links, thresholds of ports and M_Keys.
#include <gtest/gtest.h>

#include "mad/wire/notice.h"
#include "tests/unit/sim/fabric/fabric_fixture.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::PortInfo;
using wire::PortState;

// Trap 128 of a pulled cable: from both switches, LID routed, repeated until repressed.
TEST_F(FabricTest, ReportsALostLinkUntilRepressed) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(client.ChangePort(leaf, 0, [](PortInfo& info) { info.subnet_timeout = 15; }).ok());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  const wire::Smp trap = DecodeSmp(mads[0].payload);
  const Lid leaf_lid = sm.lid.at(Device("su1-rail0-leaf").guid());
  EXPECT_EQ(trap.method, wire::Method::kTrap);
  EXPECT_EQ(mads[0].agent, mad::Agent::kSmpLid);
  EXPECT_EQ(mads[0].from.lid, leaf_lid);
  const auto notice = wire::Notice::Decode(trap.data);
  EXPECT_EQ(notice.trap, wire::kTrapLinkStateChange);
  EXPECT_EQ(notice.issuer_lid, leaf_lid);
  EXPECT_EQ(notice.subject_lid(), leaf_lid);
  EXPECT_TRUE(client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>().port_state_change);
  EXPECT_EQ(client.PortInfoOf(leaf, 4).port_state, PortState::kDown);

  // Repeated after 4.096 us * 2^15 = 134 ms.
  mads = Mads(client.Wait(client.now + std::chrono::milliseconds(150)));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(DecodeSmp(mads[0].payload).tid, trap.tid);
  wire::Smp repress = trap;
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), leaf_lid)).ok());
  EXPECT_TRUE(Mads(client.Wait(client.now + std::chrono::seconds(60))).empty());
}

TEST_F(FabricTest, ReportsAnEventThatHappenedWhileATrapWasPending) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 3)).ok());
  EXPECT_TRUE(Mads(client.Wait(client.now)).empty());
  wire::Smp repress = DecodeSmp(mads[0].payload);
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(
      fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), mads[0].from.lid)).ok());
  mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_NE(DecodeSmp(mads[0].payload).tid, repress.tid);
}

TEST_F(FabricTest, EndsUnrepressedTrapsAfterElevenAttempts) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  EXPECT_EQ(Mads(client.Wait(client.now + std::chrono::minutes(10))).size(), 11u);
  EXPECT_EQ(fabric.next_event(), kNever);
}

TEST_F(FabricTest, RoutesTrapsByTheTablesThatRemain) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  // The far leaf's traps go to the host by one of its two spines; both cables of that spine are
  // pulled.
  const uint8_t egress =
      Device("su1-rail1-leaf").LftPort(sm.lid.at(Device("node0001 mlx5_0").guid()));
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", egress)).ok());
  std::vector<Lid> senders;
  for (const auto& mad : Mads(client.Wait(client.now))) senders.push_back(mad.from.lid);
  EXPECT_EQ(senders, std::vector<Lid>{sm.lid.at(Device("spine1").guid())});
}

// Traps 129-131: each port sends its own, and each is repressed by itself.
TEST_F(FabricTest, ReportsTheThresholdsOfAPort) {
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 4), 129).code(),
            absl::StatusCode::kFailedPrecondition);  // No subnet manager yet.
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 4), 129).ok());
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 3), 129).ok());
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("node0003 mlx5_1", 1), 131).ok());
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("spine1", 1), 128).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("spine1", 9), 130).code(),
            absl::StatusCode::kNotFound);
  const auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 3u);
  const Lid leaf_lid = sm.lid.at(Device("su1-rail0-leaf").guid());
  const Lid host_lid = sm.lid.at(Device("node0003 mlx5_1").guid());
  const auto expect = [&](size_t at, uint16_t trap, Lid lid, uint8_t port, uint32_t producer) {
    const auto notice = wire::Notice::Decode(DecodeSmp(mads[at].payload).data);
    EXPECT_EQ(notice.trap, trap);
    EXPECT_EQ(notice.type, 1);
    EXPECT_EQ(notice.producer, producer);
    EXPECT_EQ(notice.issuer_lid, lid);
    EXPECT_EQ(notice.subject_lid(), lid);
    EXPECT_EQ(notice.subject_port(), PortNum(port));
  };
  expect(0, 129, leaf_lid, 4, 2);
  expect(1, 129, leaf_lid, 3, 2);
  expect(2, 131, host_lid, 1, 1);
  // Repressed by its transaction: the other two go on.
  wire::Smp repress = DecodeSmp(mads[0].payload);
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), leaf_lid)).ok());
  const auto repeats = Mads(client.Wait(client.now + std::chrono::milliseconds(100)));
  ASSERT_EQ(repeats.size(), 2u);
  for (const auto& mad : repeats) EXPECT_NE(DecodeSmp(mad.payload).tid, repress.tid);
}

// Trap 256 names the requester and its request. It is sent again after the repress for another
// attempt.
TEST_F(FabricTest, ReportsABadMKey) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(client
                  .ChangePort({1, 2}, 1,
                              [](PortInfo& info) {
                                info.m_key = MKey(0x1234);
                                info.m_key_protect_bits = 1;
                              })
                  .ok());
  client.Wait(client.now);
  const Lid lid = sm.lid.at(Device("node0002 mlx5_0").guid());
  client.m_key = MKey(7);
  EXPECT_TRUE(client.Set({1, 2}, wire::PKeyTable(), 2).timed_out);
  wire::Smp routed;
  routed.method = wire::Method::kSet;
  routed.attribute = AttributeId::kGuidInfo;
  EXPECT_TRUE(client.Exchange(routed, lid).timed_out);
  client.m_key = MKey();
  ASSERT_FALSE(client.unsolicited.empty());
  const wire::Smp trap = DecodeSmp(client.unsolicited.front().payload);
  auto notice = wire::Notice::Decode(trap.data);
  EXPECT_EQ(notice.trap, wire::kTrapBadMKey);
  EXPECT_EQ(notice.type, 2);
  EXPECT_EQ(notice.issuer_lid, lid);
  const auto& details = notice.details;
  EXPECT_EQ(details[2] << 8 | details[3], 0xFFFF);  // Directed: it has no source LID.
  EXPECT_EQ(details[4] << 8 | details[5], 0xFFFF);
  EXPECT_EQ(details[6], 0x02);
  EXPECT_EQ(details[8] << 8 | details[9], 0x0016);
  EXPECT_EQ(details[13], 2);  // AttributeModifier
  EXPECT_EQ(details[21], 7);  // M_Key
  EXPECT_EQ(details[23], 0x80 | 2);
  EXPECT_EQ(details[25], 1);  // Return path: into the leaf by port 1, into the node by port 1.
  EXPECT_EQ(details[26], 1);

  wire::Smp repress = trap;
  repress.method = wire::Method::kTrapRepress;
  repress.m_key = MKey(0x1234);
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), lid)).ok());
  const auto later = Mads(client.Wait(client.now));
  ASSERT_EQ(later.size(), 1u);
  notice = wire::Notice::Decode(DecodeSmp(later[0].payload).data);
  EXPECT_EQ(notice.details[2] << 8 | notice.details[3],
            sm.lid.at(Device("node0001 mlx5_0").guid()).value());
  EXPECT_EQ(notice.details[9], 0x14);
  EXPECT_EQ(notice.details[23], 0);
  EXPECT_EQ(Device("node0002 mlx5_0").port(PortNum(1)).info.m_key_violations, 2);
}

}  // namespace
}  // namespace fabricd::sim
