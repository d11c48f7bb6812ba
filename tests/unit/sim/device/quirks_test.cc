// SPDX-License-Identifier: Apache-2.0
// Devices whose firmware does as it likes.
#include "sim/device/quirks.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using wire::AttributeId;
using wire::DirectedPath;
using wire::PortInfo;

class QuirksTest : public ::testing::Test {
 protected:
  QuirksTest() { client.now = Instant(std::chrono::seconds(1)); }
  void SetLeaf(const Quirks& quirks) {
    fabric.SetQuirks(fabric.FindNode("su1-rail0-leaf").value(), quirks);
  }
  const SimDevice& Leaf() { return *fabric.device(fabric.FindNode("su1-rail0-leaf").value()); }

  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  SimFabric fabric{*topology};
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  const DirectedPath leaf{1}, neighbour{1, 2};
};

TEST_F(QuirksTest, AnswersLate) {
  SetLeaf({.answer_delay = milliseconds(30)});
  wire::Smp get;
  get.attribute = AttributeId::kNodeInfo;
  get.tid = TransactionId(1);
  get.path = leaf;
  const Instant sent = client.now;
  ASSERT_TRUE(fabric.Send(sent, host, EncodeSmp(get, kTestTimeout)).ok());
  std::vector<Delivery> out;
  fabric.Advance(sent + milliseconds(30) - Duration(1), out);
  EXPECT_TRUE(out.empty());
  fabric.Advance(sent + milliseconds(30), out);
  ASSERT_EQ(out.size(), 1u);
  const auto& answer = std::get<mad::IncomingMad>(out[0].what);
  EXPECT_EQ(answer.kind, mad::IncomingMad::Kind::kReceived);
  EXPECT_EQ(DecodeSmp(answer.payload).hop_pointer, 0);
  client.now = sent + milliseconds(30);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());  // It forwards as ever.
  EXPECT_EQ(client.now, sent + milliseconds(30));
}

TEST_F(QuirksTest, AResponseAfterTheTimeoutIsUnmatched) {
  SetLeaf({.answer_delay = kTestTimeout + milliseconds(1)});
  wire::SwitchInfo info;
  info.default_port = info.default_multicast_primary_port =
      info.default_multicast_not_primary_port = 255;
  info.multicast_fdb_top = 0xBFFF;
  info.linear_fdb_top = 77;
  EXPECT_TRUE(client.Set(leaf, info).timed_out);
  EXPECT_EQ(Leaf().switch_info().linear_fdb_top, 0);  // Not yet.
  client.Wait(client.now + milliseconds(1));
  EXPECT_EQ(Leaf().switch_info().linear_fdb_top, 77);  // It was carried out all the same.
  EXPECT_EQ(fabric.stats().unmatched_responses, 1u);
}

TEST_F(QuirksTest, ALateAnswerStillLeavesBeforeTheLinkGoesDown) {
  fabric.SetQuirks(fabric.FindNode("node0002 mlx5_0").value(), {.answer_delay = milliseconds(5)});
  const Answer answer = client.ChangePort(neighbour, 1, [](PortInfo& info) {
    info.lid = info.master_sm_lid = Lid(5);
    info.port_state = wire::PortState::kDown;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<PortInfo>().port_state, wire::PortState::kDown);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());
}

TEST_F(QuirksTest, PowerOffLosesQueuedRequests) {
  const NodeIndex node = fabric.FindNode("su1-rail0-leaf").value();
  SetLeaf({.answer_delay = milliseconds(50)});
  wire::Smp get;
  get.attribute = AttributeId::kNodeInfo;
  get.tid = TransactionId(1);
  get.path = leaf;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(get, kTestTimeout)).ok());
  client.Wait(client.now + milliseconds(10));
  ASSERT_TRUE(fabric.PowerOff(client.now, node).ok());
  ASSERT_TRUE(fabric.PowerOn(client.now, node).ok());
  size_t timed_out = 0;
  for (const Delivery& delivery : client.Wait(client.now + kTestTimeout)) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    if (mad == nullptr) continue;
    EXPECT_EQ(mad->kind, mad::IncomingMad::Kind::kTimedOut);
    ++timed_out;
  }
  EXPECT_EQ(timed_out, 1u);
  EXPECT_TRUE(client.Get(leaf, AttributeId::kNodeInfo).ok());
}

TEST_F(QuirksTest, RefusesAttributes) {
  SetLeaf({.refused_gets = {{AttributeId::kSwitchPortStateTable,
                             wire::kStatusUnsupportedMethodAttribute}},
           .refused_sets = {{AttributeId::kSwitchInfo, wire::kStatusUnsupportedMethod}}});
  EXPECT_EQ(client.Get(leaf, AttributeId::kSwitchPortStateTable).status,
            wire::kStatusUnsupportedMethodAttribute);
  auto info = client.Get(leaf, AttributeId::kSwitchInfo);
  ASSERT_TRUE(info.ok());
  auto wanted = info.As<wire::SwitchInfo>();
  wanted.linear_fdb_top = 9;
  EXPECT_EQ(client.Set(leaf, wanted).status, wire::kStatusUnsupportedMethod);
  EXPECT_EQ(Leaf().switch_info().linear_fdb_top, 0);
  SetLeaf({});
  EXPECT_TRUE(client.Set(leaf, wanted).ok());
  EXPECT_EQ(Leaf().switch_info().linear_fdb_top, 9);
}

TEST_F(QuirksTest, IgnoresSetsAndAnswersWithTheRegisters) {
  SetLeaf({.ignored_sets = {AttributeId::kPKeyTable}, .ignores_linear_fdb_top = true});
  auto wanted = client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  wanted.linear_fdb_top = 9;
  wanted.life_time_value = 7;
  const auto shown = client.Set(leaf, wanted);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown.As<wire::SwitchInfo>().linear_fdb_top, 0);
  EXPECT_EQ(shown.As<wire::SwitchInfo>().life_time_value, 7);
  wire::PKeyTable table;
  table.keys[0] = PKey(0x8001);
  EXPECT_EQ(client.Set(leaf, table, 0).As<wire::PKeyTable>().keys[0], PKey(0xFFFF));
}

TEST_F(QuirksTest, ReadsStaleForAWhile) {
  SetLeaf({.stale_reads = milliseconds(50)});
  const uint8_t before = client.PortInfoOf(leaf, 2).hoq_life;
  const auto write = [&](uint8_t value) {
    PortInfo info = Leaf().port(PortNum(2)).info;
    info.port_state = wire::PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    info.hoq_life = value;
    return client.Set(leaf, info, 2 | wire::kSmSupportsExtendedSpeeds);
  };
  EXPECT_EQ(write(3).As<PortInfo>().hoq_life, before);
  EXPECT_EQ(Leaf().port(PortNum(2)).info.hoq_life, 3);
  EXPECT_EQ(client.PortInfoOf(leaf, 2).hoq_life, before);
  client.Wait(client.now + milliseconds(49));
  EXPECT_EQ(client.PortInfoOf(leaf, 2).hoq_life, before);
  client.Wait(client.now + milliseconds(1));
  EXPECT_EQ(client.PortInfoOf(leaf, 2).hoq_life, 3);
  // Another block is another matter, and a refused Set leaves nothing stale.
  EXPECT_EQ(client.PortInfoOf(leaf, 3).hoq_life, before);
  wire::PKeyTable table;
  table.keys[0] = PKey(0x8001);
  EXPECT_EQ(client.Set(leaf, table, 1).status, wire::kStatusInvalidAttributeValue);
  EXPECT_EQ(client.Set(leaf, table, 0).As<wire::PKeyTable>().keys[0], PKey(0xFFFF));
  EXPECT_EQ(Leaf().PKeyAt(PortNum(0), 0), PKey(0x8001));
  // A second Set meanwhile: what could be read before it was stale already.
  table.keys[0] = PKey(0x8002);
  client.Wait(client.now + milliseconds(40));
  EXPECT_EQ(client.Set(leaf, table, 0).As<wire::PKeyTable>().keys[0], PKey(0xFFFF));
  client.Wait(client.now + milliseconds(40));
  EXPECT_EQ(client.Get(leaf, AttributeId::kPKeyTable, 0).As<wire::PKeyTable>().keys[0],
            PKey(0xFFFF));
  client.Wait(client.now + milliseconds(10));
  EXPECT_EQ(client.Get(leaf, AttributeId::kPKeyTable, 0).As<wire::PKeyTable>().keys[0],
            PKey(0x8002));
}

TEST_F(QuirksTest, LeavesFieldsOutSilently) {
  SetLeaf({.ignored = IgnoredPortInfoFields::OfIbsim()});
  const PortInfo before = Leaf().port(PortNum(2)).info;
  const Answer answer = client.ChangePort(leaf, 2, [](PortInfo& info) {
    info.local_phy_errors = 8;
    info.partition_enforcement_inbound = true;
    info.hoq_life = 4;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<PortInfo>().local_phy_errors, before.local_phy_errors);
  const PortInfo& after = Leaf().port(PortNum(2)).info;
  EXPECT_EQ(after.local_phy_errors, before.local_phy_errors);
  EXPECT_FALSE(after.partition_enforcement_inbound);
  EXPECT_EQ(after.hoq_life, 4);
  ASSERT_TRUE(client
                  .ChangePort(leaf, 0,
                              [](PortInfo& info) {
                                info.lid = info.master_sm_lid = Lid(6);
                                info.subnet_timeout = 18;
                              })
                  .ok());
  EXPECT_EQ(Leaf().port(PortNum(0)).info.lid, Lid(6));
  EXPECT_EQ(Leaf().port(PortNum(0)).info.subnet_timeout, 0);
}

TEST_F(QuirksTest, TakesPartsOfARefusedSet) {
  const auto set = [&](bool takes_parts) {
    fabric.SetQuirks(fabric.FindNode("node0002 mlx5_0").value(), {.takes_parts = takes_parts});
    return client.ChangePort(neighbour, 1, [](PortInfo& info) {
      info.lid = info.master_sm_lid = Lid(5);
      info.neighbor_mtu = 9;
      info.vl_high_limit = 3;
      info.port_state = wire::PortState::kArmed;
    });
  };
  const NodeIndex node = fabric.FindNode("node0002 mlx5_0").value();
  const auto registers = [&] { return fabric.device(node)->port(PortNum(1)).info; };
  const PortInfo before = registers();
  EXPECT_EQ(set(false).status, wire::kStatusInvalidAttributeValue);
  EXPECT_EQ(registers(), before);
  const Answer answer = set(true);
  EXPECT_EQ(answer.status, wire::kStatusInvalidAttributeValue);
  EXPECT_EQ(registers().lid, Lid(5));
  EXPECT_EQ(registers().port_state, wire::PortState::kArmed);
  EXPECT_EQ(registers().neighbor_mtu, before.neighbor_mtu);
  EXPECT_EQ(registers().vl_high_limit, before.vl_high_limit);
  EXPECT_EQ(answer.As<PortInfo>().lid, Lid(5));  // It shows the registers.
}

TEST_F(QuirksTest, IsBusyAtIntervalsAlsoAfterAReboot) {
  SetLeaf({.busy_every = 3});
  const auto statuses = [&] {
    std::vector<uint16_t> seen;
    for (int i = 0; i < 6; ++i) seen.push_back(client.Get(leaf, AttributeId::kNodeInfo).status);
    return seen;
  };
  const std::vector<uint16_t> expected{0, 0, 1, 0, 0, 1};
  EXPECT_EQ(statuses(), expected);
  EXPECT_EQ(fabric.stats().smps.at(AttributeId::kNodeInfo).refused, 2u);
  ASSERT_TRUE(fabric.Reboot(client.now, fabric.FindNode("su1-rail0-leaf").value()).ok());
  client.Wait(client.now + std::chrono::seconds(1));
  EXPECT_EQ(statuses(), expected);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());
}

}  // namespace
}  // namespace fabricd::sim
