// SPDX-License-Identifier: Apache-2.0
// The subnet management agent of a simulated device, attribute by attribute (IBA vol 1 §14.2.5).
#include <gtest/gtest.h>

#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::DirectedPath;
using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

constexpr uint16_t kRefused = wire::kStatusInvalidAttributeValue;
constexpr uint16_t kUnsupported = wire::kStatusUnsupportedMethodAttribute;

// Two leaves of radix 8 below two spines; the client sits on node0001, port 1 of the first leaf.
class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() { client.now = Instant(std::chrono::seconds(1)); }
  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  SimFabric fabric{*topology};
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  const DirectedPath self{};
  const DirectedPath leaf{1};          // su1-rail0-leaf
  const DirectedPath neighbour{1, 2};  // node0002 mlx5_0
};

TEST_F(DeviceTest, NodeInfoNamesTheIngressPort) {
  const auto leaf_info = client.Get(leaf, AttributeId::kNodeInfo).As<wire::NodeInfo>();
  EXPECT_EQ(leaf_info.node_type, wire::NodeType::kSwitch);
  EXPECT_EQ(leaf_info.num_ports, 8);
  EXPECT_EQ(leaf_info.local_port, PortNum(1));
  EXPECT_EQ(leaf_info.port_guid, leaf_info.node_guid);
  const auto ca = client.Get(neighbour, AttributeId::kNodeInfo).As<wire::NodeInfo>();
  EXPECT_EQ(ca.node_type, wire::NodeType::kChannelAdapter);
  EXPECT_EQ(ca.local_port, PortNum(1));
  EXPECT_EQ(ca.port_guid.value(), ca.node_guid.value() + 1);
  EXPECT_EQ(ca.partition_cap, 128);
  EXPECT_EQ(client.Get(neighbour, AttributeId::kNodeDescription).As<wire::NodeDescription>().text,
            "node0002 mlx5_0");
}

TEST_F(DeviceTest, RefusesAttributesAndPortsThatItDoesNotHave) {
  EXPECT_EQ(client.Get(neighbour, AttributeId::kSwitchInfo).status, kUnsupported);
  EXPECT_EQ(client.Get(neighbour, AttributeId::kLinearForwardingTable).status, kUnsupported);
  EXPECT_EQ(client.Get(leaf, AttributeId::kRandomForwardingTable).status, kUnsupported);
  EXPECT_EQ(client.Get(leaf, AttributeId::kSmInfo).status, kUnsupported);
  EXPECT_EQ(client.Set(leaf, wire::NodeDescription{"mine"}).status, kUnsupported);
  EXPECT_EQ(client.Get(leaf, AttributeId::kPortInfo, 9).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kPortInfo, 1 << 8).status, kRefused);
  EXPECT_EQ(client.Get(neighbour, AttributeId::kPortInfo, 2).status, kRefused);
  wire::Smp odd;
  odd.method = wire::Method::kGetTable;
  odd.attribute = AttributeId::kNodeInfo;
  odd.path = leaf;
  EXPECT_EQ(client.Exchange(odd).status, wire::kStatusUnsupportedMethod);
}

TEST_F(DeviceTest, RefusesModifiersThatNameNothing) {
  EXPECT_EQ(client.Get(leaf, AttributeId::kNodeInfo, 1).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kNodeDescription, 1).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kSwitchInfo, 1).status, kRefused);
  auto info = client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  info.linear_fdb_top = 9;
  EXPECT_EQ(client.Set(leaf, info, 1).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>().linear_fdb_top, 0);
  EXPECT_EQ(client.Get(leaf, AttributeId::kLinearForwardingTable, 768).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kPKeyTable, 9u << 16).status, kRefused);
}

TEST_F(DeviceTest, RefusesVendorsAttributesAndThoseOfOtherManagers) {
  // ExtendedPortInfo, GeneralInfo, ClassPortInfo (of GMPs), LedInfo (no such capability bit). The
  // first two are those of some vendor's devices (vendor_class_test.cc).
  PerformanceOptions plain;
  plain.family = PerformanceFamily::kPlain;
  fabric.SetPerformanceOfAll(plain);
  for (uint16_t attribute : {0xFF90, 0xFF17, 0x0001, 0x0031}) {
    EXPECT_EQ(client.Get(leaf, static_cast<AttributeId>(attribute)).status, kUnsupported);
    EXPECT_EQ(client.Get(neighbour, static_cast<AttributeId>(attribute)).status, kUnsupported);
  }
  EXPECT_EQ(client.Get(neighbour, AttributeId::kNotice).status, kUnsupported);
  EXPECT_EQ(client.Set(neighbour, wire::SmInfo{}).status, kUnsupported);
}

TEST_F(DeviceTest, IgnoresATrapRepressOfNoNotice) {
  wire::Smp repress;
  repress.method = wire::Method::kTrapRepress;
  repress.attribute = AttributeId::kPortInfo;
  repress.path = leaf;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero())).ok());
  EXPECT_EQ(fabric.next_event(), kNever);
  EXPECT_EQ(fabric.stats().lost_m_key, 0u);
}

TEST_F(DeviceTest, PortInfoReportsTheLink) {
  const PortInfo info = client.PortInfoOf(leaf, 1);
  EXPECT_EQ(info.port_state, PortState::kInit);
  EXPECT_EQ(info.port_physical_state, PortPhysicalState::kLinkUp);
  EXPECT_EQ(wire::ActiveSpeed(info), wire::LinkSpeed::kNdr);
  EXPECT_EQ(wire::ActiveWidth(info), 4);
  EXPECT_EQ(info.capability_mask, 0u);  // External ports have none of their own.
  const PortInfo port0 = client.PortInfoOf(leaf, 0);
  EXPECT_EQ(port0.port_state, PortState::kActive);
  EXPECT_NE(port0.capability_mask & wire::kCapIsTrap, 0u);
  EXPECT_NE(port0.capability_mask2 & wire::kCap2IsLinkSpeedNdr, 0);
  // A CA takes port 0 as the one that the SMP came in by.
  EXPECT_EQ(client.PortInfoOf(neighbour, 0), client.PortInfoOf(neighbour, 1));
}

TEST_F(DeviceTest, PortStateChangesOnlyInLegalOrder) {
  const auto set_state = [&](PortState state) {
    return client.ChangePort(leaf, 2, [&](PortInfo& info) { info.port_state = state; });
  };
  EXPECT_EQ(set_state(PortState::kActive).status, kRefused);
  EXPECT_EQ(set_state(PortState::kInit).status, kRefused);
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_state, PortState::kInit);
  EXPECT_EQ(set_state(PortState::kArmed).As<PortInfo>().port_state, PortState::kArmed);
  EXPECT_TRUE(set_state(PortState::kArmed).ok());  // A repeat whose first answer was lost.
  EXPECT_EQ(set_state(PortState::kActive).As<PortInfo>().port_state, PortState::kActive);
  EXPECT_EQ(set_state(PortState::kArmed).status, kRefused);
  EXPECT_TRUE(set_state(PortState::kActive).ok());
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).port_state, PortState::kInit);  // Its own business.
}

TEST_F(DeviceTest, DownRetrainsBothEnds) {
  for (PortState state : {PortState::kArmed, PortState::kActive}) {
    ASSERT_TRUE(client
                    .ChangePort(neighbour, 1,
                                [&](PortInfo& info) {
                                  info.lid = info.master_sm_lid = Lid(5);
                                  info.port_state = state;
                                })
                    .ok());
  }
  // The answer travels over the very link that goes down after it.
  const Answer answer =
      client.ChangePort(neighbour, 1, [](PortInfo& info) { info.port_state = PortState::kDown; });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<PortInfo>().port_state, PortState::kDown);
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).port_state, PortState::kInit);
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_state, PortState::kInit);
}

TEST_F(DeviceTest, PhysicalStateDisablesAndPollsAPort) {
  const auto set_physical = [&](PortState state, PortPhysicalState physical) {
    return client.ChangePort(leaf, 2, [&](PortInfo& info) {
      info.port_state = state;
      info.port_physical_state = physical;
    });
  };
  EXPECT_EQ(set_physical(PortState::kNoChange, PortPhysicalState::kDisabled).status, kRefused);
  EXPECT_EQ(set_physical(PortState::kDown, PortPhysicalState::kLinkUp).status, kRefused);
  EXPECT_TRUE(set_physical(PortState::kDown, PortPhysicalState::kDisabled).ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_physical_state, PortPhysicalState::kDisabled);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).timed_out);
  EXPECT_EQ(
      client.ChangePort(leaf, 2, [](PortInfo& i) { i.port_state = PortState::kArmed; }).status,
      kRefused);
  EXPECT_TRUE(set_physical(PortState::kNoChange, PortPhysicalState::kPolling).ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_state, PortState::kInit);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());
}

TEST_F(DeviceTest, PortInfoSetChecksItsValues) {
  const auto with_lid = [](uint16_t lid, uint8_t lmc) {
    return [=](PortInfo& info) {
      info.lid = Lid(lid);
      info.lmc = lmc;
      info.master_sm_lid = Lid(1);
    };
  };
  EXPECT_EQ(client.ChangePort(neighbour, 1, with_lid(0, 0)).status, kRefused);
  EXPECT_EQ(client.ChangePort(neighbour, 1, with_lid(0xC000, 0)).status, kRefused);
  EXPECT_EQ(client.ChangePort(neighbour, 1, with_lid(6, 2)).status, kRefused);
  EXPECT_EQ(client.ChangePort(leaf, 0, with_lid(8, 1)).status,
            kRefused);  // Base port 0 has no LMC.
  ASSERT_TRUE(client.ChangePort(neighbour, 1, with_lid(8, 2)).ok());
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).lid, Lid(8));
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).lmc, 2);
  const auto refused = [&](auto&& change) { return client.ChangePort(leaf, 2, change).status; };
  EXPECT_EQ(refused([](PortInfo& info) { info.neighbor_mtu = 6; }), kRefused);
  EXPECT_EQ(refused([](PortInfo& info) { info.neighbor_mtu = 0; }), kRefused);
  EXPECT_EQ(refused([](PortInfo& info) { info.operational_vls = 5; }), kRefused);
  EXPECT_EQ(refused([](PortInfo& info) { info.link_width_enabled = 8; }), kRefused);
  EXPECT_EQ(refused([](PortInfo& info) { info.port_state = static_cast<PortState>(5); }), kRefused);
  EXPECT_EQ(refused([](PortInfo& info) { info.neighbor_mtu = 4; }), wire::kStatusOk);
  EXPECT_EQ(client.PortInfoOf(leaf, 2).neighbor_mtu, 4);
}

TEST_F(DeviceTest, PortInfoSetIsAllOrNothing) {
  const PortInfo before = client.PortInfoOf(leaf, 2);
  EXPECT_EQ(client
                .ChangePort(leaf, 2,
                            [](PortInfo& info) {
                              info.neighbor_mtu = 3;
                              info.port_state = PortState::kActive;
                            })
                .status,
            kRefused);
  EXPECT_EQ(client.PortInfoOf(leaf, 2), before);
}

TEST_F(DeviceTest, PortInfoSetIgnoresReadOnlyFields) {
  const PortInfo before = client.PortInfoOf(leaf, 2);
  ASSERT_TRUE(client
                  .ChangePort(leaf, 2,
                              [](PortInfo& info) {
                                info.lid = Lid(77);  // An external port has none.
                                info.mtu_cap = 1;
                                info.link_speed_supported = 0;
                                info.capability_mask = 0xFFFFFFFF;
                                info.m_key = MKey(9);
                              })
                  .ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2), before);
}

TEST_F(DeviceTest, EnabledCodesMeanSupported) {
  const auto change = [](PortInfo& info) {
    info.link_width_enabled = 255;
    info.link_speed_enabled = 15;
    info.link_speed_ext_enabled = 31;
  };
  ASSERT_TRUE(client
                  .ChangePort(leaf, 2 | wire::kSmSupportsExtendedSpeeds,
                              [](PortInfo& info) { info.link_speed_ext_enabled = 2; })
                  .ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).link_speed_ext_enabled, 2);
  // Without bit 31 the sender does not know extended speeds: they stay.
  ASSERT_TRUE(client.ChangePort(leaf, 2, change).ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).link_speed_ext_enabled, 2);
  ASSERT_TRUE(client.ChangePort(leaf, 2 | wire::kSmSupportsExtendedSpeeds, change).ok());
  const PortInfo info = client.PortInfoOf(leaf, 2);
  EXPECT_EQ(info.link_speed_ext_enabled, info.link_speed_ext_supported);
  EXPECT_EQ(info.link_width_enabled, info.link_width_supported);
  EXPECT_EQ(info.link_speed_enabled, info.link_speed_supported);
}

TEST_F(DeviceTest, ASlowerEnabledSpeedHoldsAfterRetraining) {
  ASSERT_TRUE(client
                  .ChangePort(leaf, 2 | wire::kSmSupportsExtendedSpeeds,
                              [](PortInfo& info) {
                                info.link_speed_ext_enabled = 3;  // FDR and EDR
                                info.port_state = PortState::kDown;
                              })
                  .ok());
  EXPECT_EQ(wire::ActiveSpeed(client.PortInfoOf(leaf, 2)), wire::LinkSpeed::kEdr);
  EXPECT_EQ(wire::ActiveSpeed(client.PortInfoOf(neighbour, 1)), wire::LinkSpeed::kEdr);
}

TEST_F(DeviceTest, SwitchInfo) {
  auto info = client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  EXPECT_EQ(info.linear_fdb_cap, 0xC000);
  EXPECT_TRUE(info.port_state_change);  // Its links came up.
  info.linear_fdb_top = 100;
  info.linear_fdb_cap = 7;  // Read-only.
  info.port_state_change = false;
  ASSERT_TRUE(client.Set(leaf, info).ok());
  auto read = client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  EXPECT_EQ(read.linear_fdb_top, 100);
  EXPECT_EQ(read.linear_fdb_cap, 0xC000);
  EXPECT_TRUE(read.port_state_change);  // Cleared by writing 1 only.
  read.port_state_change = true;
  EXPECT_FALSE(client.Set(leaf, read).As<wire::SwitchInfo>().port_state_change);
  read.linear_fdb_top = 0xC000;
  EXPECT_EQ(client.Set(leaf, read).status, kRefused);
  read.linear_fdb_top = 100;
  read.multicast_fdb_top = 0xC000 + 0x1000;
  EXPECT_EQ(client.Set(leaf, read).status, kRefused);
  read.multicast_fdb_top = 0xBFFF;
  EXPECT_TRUE(client.Set(leaf, read).ok());
}

TEST_F(DeviceTest, LinearForwardingTable) {
  auto table =
      client.Get(leaf, AttributeId::kLinearForwardingTable, 3).As<wire::LinearForwardingTable>();
  EXPECT_EQ(table.port[5], wire::LinearForwardingTable::kNoPath);
  EXPECT_EQ(fabric.device(fabric.FindNode("su1-rail0-leaf").value())->lft_blocks_stored(), 0u);
  table.port[5] = 4;
  ASSERT_TRUE(client.Set(leaf, table, 3).ok());
  EXPECT_EQ(
      client.Get(leaf, AttributeId::kLinearForwardingTable, 3).As<wire::LinearForwardingTable>(),
      table);
  EXPECT_EQ(client.Set(leaf, table, 0xC000 / 64).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kLinearForwardingTable, 1 << 16).status, kRefused);
}

TEST_F(DeviceTest, MulticastForwardingTable) {
  using Table = wire::MulticastForwardingTable;
  Table table;
  table.port_mask[1] = 0x0006;
  ASSERT_TRUE(client.Set(leaf, table, Table::Modifier(0, 2)).ok());
  EXPECT_EQ(client.Get(leaf, Table::kAttribute, Table::Modifier(0, 2)).As<Table>(), table);
  EXPECT_EQ(client.Set(leaf, table, Table::Modifier(1, 2)).status, kRefused);  // Ports 16-31.
  EXPECT_EQ(client.Set(leaf, table, Table::Modifier(0, 0x1000 / 32)).status, kRefused);
}

TEST_F(DeviceTest, PKeyTable) {
  using Table = wire::PKeyTable;
  auto table = client.Get(neighbour, AttributeId::kPKeyTable, 0).As<Table>();
  EXPECT_EQ(table.keys[0], PKey(0xFFFF));
  table.keys[1] = PKey(0x8001);
  ASSERT_TRUE(client.Set(neighbour, table, 0).ok());
  ASSERT_TRUE(client.Set(neighbour, table, 3).ok());
  EXPECT_EQ(client.Get(neighbour, AttributeId::kPKeyTable, 3).As<Table>(), table);
  EXPECT_EQ(client.Get(neighbour, AttributeId::kPKeyTable, 2).As<Table>(), Table());
  // Port 0 of a switch holds 8 keys here: what is written behind them is not kept.
  table.keys[7] = PKey(0x8007);
  table.keys[8] = PKey(0x8008);
  EXPECT_EQ(client.Set(leaf, table, 0).As<Table>().keys[8], PKey());
  EXPECT_EQ(client.Get(leaf, AttributeId::kPKeyTable, 0).As<Table>().keys[7], PKey(0x8007));
  EXPECT_EQ(client.Get(leaf, AttributeId::kPKeyTable, 0).As<Table>().keys[8], PKey());
  EXPECT_EQ(client.Set(neighbour, table, 4).status, kRefused);  // 128 keys are 4 blocks.
  ASSERT_TRUE(client.Set(leaf, table, Table::Modifier(PortNum(2), 0)).ok());
  EXPECT_EQ(client.Get(leaf, Table::kAttribute, Table::Modifier(PortNum(2), 0)).As<Table>(), table);
  EXPECT_NE(client.Get(leaf, Table::kAttribute, Table::Modifier(PortNum(3), 0)).As<Table>(), table);
  EXPECT_EQ(client.Set(leaf, table, Table::Modifier(PortNum(2), 1)).status, kRefused);
  EXPECT_EQ(client.Set(leaf, table, Table::Modifier(PortNum(9), 0)).status, kRefused);
}

TEST_F(DeviceTest, SlToVlAndArbitration) {
  using Map = wire::SlToVlMappingTable;
  Map map = client.Get(leaf, Map::kAttribute, Map::Modifier(PortNum(1), PortNum(2))).As<Map>();
  EXPECT_EQ(map.vl[9], 1);
  map.vl[9] = 3;
  ASSERT_TRUE(client.Set(leaf, map, Map::Modifier(PortNum(1), PortNum(2))).ok());
  EXPECT_EQ(client.Get(leaf, Map::kAttribute, Map::Modifier(PortNum(1), PortNum(2))).As<Map>(),
            map);
  EXPECT_NE(client.Get(leaf, Map::kAttribute, Map::Modifier(PortNum(2), PortNum(1))).As<Map>(),
            map);
  EXPECT_EQ(client.Set(leaf, map, Map::Modifier(PortNum(1), PortNum(9))).status, kRefused);
  EXPECT_EQ(client.Set(leaf, map, 0x30000).status, kRefused);  // Not an optimised switch.
  ASSERT_TRUE(client.Set(neighbour, map).ok());
  EXPECT_EQ(client.Get(neighbour, Map::kAttribute).As<Map>(), map);

  using Arbitration = wire::VlArbitrationTable;
  Arbitration table;
  table.entries[0] = {1, 4};
  Arbitration longer = table;
  longer.entries[8] = {2, 4};  // VLArbLowCap is 8.
  ASSERT_EQ(client.Set(leaf, longer, Arbitration::Modifier(1, PortNum(2))).As<Arbitration>(),
            table);
  EXPECT_EQ(client.Get(leaf, Arbitration::kAttribute, Arbitration::Modifier(1, PortNum(2)))
                .As<Arbitration>(),
            table);
  EXPECT_EQ(client.Set(leaf, table, Arbitration::Modifier(2, PortNum(2))).status, kRefused);
  EXPECT_EQ(client.Set(leaf, table, Arbitration::Modifier(1, PortNum(9))).status, kRefused);
  EXPECT_TRUE(client.Set(neighbour, table, Arbitration::Modifier(3, PortNum(0))).ok());
}

TEST_F(DeviceTest, GuidInfoKeepsThePortGuid) {
  auto info = client.Get(neighbour, AttributeId::kGuidInfo).As<wire::GuidInfo>();
  const Guid port = info.guids[0];
  EXPECT_EQ(port, client.Get(neighbour, AttributeId::kNodeInfo).As<wire::NodeInfo>().port_guid);
  info.guids[0] = Guid(1);
  info.guids[1] = Guid(2);
  ASSERT_TRUE(client.Set(neighbour, info).ok());
  const auto read = client.Get(neighbour, AttributeId::kGuidInfo).As<wire::GuidInfo>();
  EXPECT_EQ(read.guids[0], port);
  EXPECT_EQ(read.guids[1], Guid(2));
  auto alias = client.Get(leaf, AttributeId::kGuidInfo).As<wire::GuidInfo>();
  alias.guids[1] = Guid(2);  // GUIDCap of port 0 is 1.
  EXPECT_EQ(client.Set(leaf, alias).As<wire::GuidInfo>().guids[1], Guid());
  EXPECT_EQ(client.Get(leaf, AttributeId::kGuidInfo).As<wire::GuidInfo>().guids[1], Guid());
  EXPECT_EQ(client.Get(neighbour, AttributeId::kGuidInfo, 4).status, kRefused);
  EXPECT_EQ(client.Get(leaf, AttributeId::kGuidInfo, 1).status, kRefused);
}

TEST_F(DeviceTest, SwitchPortStateTable) {
  ASSERT_TRUE(
      client.ChangePort(leaf, 2, [](PortInfo& info) { info.port_state = PortState::kArmed; }).ok());
  const auto table =
      client.Get(leaf, AttributeId::kSwitchPortStateTable).As<wire::SwitchPortStateTable>();
  EXPECT_EQ(table.state[0], 4);  // Port 0
  EXPECT_EQ(table.state[1], 2);
  EXPECT_EQ(table.state[2], 3);
  EXPECT_EQ(table.state[9], 0);
  EXPECT_EQ(client.Get(leaf, AttributeId::kSwitchPortStateTable, 1).status, kRefused);
  EXPECT_EQ(client.Get(neighbour, AttributeId::kSwitchPortStateTable).status, kUnsupported);
}

TEST_F(DeviceTest, PortInfoExtended) {
  auto info = client.Get(leaf, AttributeId::kPortInfoExtended, 2).As<wire::PortInfoExtended>();
  EXPECT_EQ(info.fec_mode_active, wire::FecMode::kRs);
  info.edr_fec_mode_enabled = 1;
  ASSERT_TRUE(client.Set(leaf, info, 2).ok());
  EXPECT_EQ(client.Get(leaf, AttributeId::kPortInfoExtended, 2).As<wire::PortInfoExtended>(), info);
  info.edr_fec_mode_enabled = 0x80;
  EXPECT_EQ(client.Set(leaf, info, 2).status, kRefused);
}

TEST_F(DeviceTest, MKeyProtectsByItsBits) {
  const auto install = [&](uint8_t protect) {
    return client.ChangePort(neighbour, 1, [&](PortInfo& info) {
      info.lid = Lid(5);
      info.master_sm_lid = Lid(1);
      info.m_key = MKey(0x1234);
      info.m_key_protect_bits = protect;
      info.m_key_lease_period = 2;
    });
  };
  ASSERT_TRUE(install(1).ok());
  // Protect 1: everybody reads all but the key; nobody writes without it.
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).m_key, MKey());
  EXPECT_TRUE(install(1).timed_out);
  client.m_key = MKey(0x1234);
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).m_key, MKey(0x1234));
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).m_key_violations, 1);
  // Protect 2: nobody reads without it, until the lease that a violation starts has run out.
  ASSERT_TRUE(install(2).ok());
  client.m_key = MKey(7);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).timed_out);
  client.now += std::chrono::seconds(3);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(client.PortInfoOf(neighbour, 1).m_key_protect_bits, 0);
  EXPECT_EQ(fabric.stats().lost_m_key, 2u);
}

TEST_F(DeviceTest, MKeyOfASwitchGuardsAllItsPorts) {
  ASSERT_TRUE(client
                  .ChangePort(leaf, 0,
                              [](PortInfo& info) {
                                info.lid = Lid(5);
                                info.master_sm_lid = Lid(1);
                                info.m_key = MKey(0x1234);
                                info.m_key_protect_bits = 3;
                              })
                  .ok());
  const auto violations = [&] {
    const NodeIndex node = fabric.FindNode("su1-rail0-leaf").value();
    return fabric.device(node)->port(PortNum(0)).info.m_key_violations;
  };
  EXPECT_TRUE(client.Get(leaf, AttributeId::kPortInfo, 2).timed_out);
  EXPECT_TRUE(client.Set(leaf, wire::LinearForwardingTable()).timed_out);
  EXPECT_EQ(violations(), 2);
  EXPECT_TRUE(client.Get(neighbour, AttributeId::kNodeInfo).ok());  // It forwards as ever.
  // Without a lease it stays so.
  client.now += std::chrono::hours(24);
  EXPECT_TRUE(client.Get(leaf, AttributeId::kPortInfo, 2).timed_out);
  client.m_key = MKey(0x1234);
  EXPECT_TRUE(client.Get(leaf, AttributeId::kPortInfo, 2).ok());
}

TEST_F(DeviceTest, AGoodMKeyEndsTheLeaseAViolationBegan) {
  ASSERT_TRUE(client
                  .ChangePort(neighbour, 1,
                              [](PortInfo& info) {
                                info.lid = Lid(5);
                                info.master_sm_lid = Lid(1);
                                info.m_key = MKey(0x1234);
                                info.m_key_protect_bits = 2;
                                info.m_key_lease_period = 10;
                              })
                  .ok());
  const auto readable = [&](uint64_t key) {
    client.m_key = MKey(key);
    return client.Get(neighbour, AttributeId::kPortInfo, 1).ok();
  };
  EXPECT_FALSE(readable(7));
  client.now += std::chrono::seconds(8);
  EXPECT_TRUE(readable(0x1234));
  client.now += std::chrono::seconds(8);
  EXPECT_FALSE(readable(7));  // Begins a new one.
  client.now += std::chrono::seconds(8);
  EXPECT_FALSE(readable(7));  // Prolongs nothing.
  client.now += std::chrono::seconds(2);
  EXPECT_TRUE(readable(7));
  // The key can be read now; it is still needed to write.
  const PortInfo info = client.PortInfoOf(neighbour, 1);
  EXPECT_EQ(info.m_key, MKey(0x1234));
  EXPECT_TRUE(client.Set(neighbour, info, 1).timed_out);
  client.m_key = info.m_key;
  EXPECT_TRUE(client.Set(neighbour, wire::GuidInfo()).ok());
}

TEST_F(DeviceTest, CountsRequestsByKindAndIdleSets) {
  fabric.ResetStats();
  const auto table =
      client.Get(leaf, AttributeId::kLinearForwardingTable).As<wire::LinearForwardingTable>();
  ASSERT_TRUE(client.Set(leaf, table).ok());
  auto other = table;
  other.port[1] = 1;
  ASSERT_TRUE(client.Set(leaf, other).ok());
  EXPECT_EQ(client.Set(leaf, other, 1 << 20).status, kRefused);
  const SimStats::Attribute& counts = fabric.stats().smps.at(AttributeId::kLinearForwardingTable);
  EXPECT_EQ(counts.gets, 1u);
  EXPECT_EQ(counts.sets, 3u);
  EXPECT_EQ(counts.idle_sets, 1u);
  EXPECT_EQ(counts.refused, 1u);
}

}  // namespace
}  // namespace fabricd::sim
