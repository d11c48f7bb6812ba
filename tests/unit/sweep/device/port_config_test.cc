// SPDX-License-Identifier: Apache-2.0
// PortInfo and SwitchInfo Sets: reference WIRE.md §3-4 and IBA vol 1 §14.2.5.6.
#include <gtest/gtest.h>

#include "sweep/device/port_config.h"
#include "sweep/interface/options.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

class PortConfigTest : public testing::Test {
 protected:
  PortConfigTest() : small_(2) {
    lids_.Assign(small_.Host(0), {Lid(4), 0});
    lids_.Assign({small_.switches[0], PortNum(0)}, {Lid(9), 0});
  }
  std::optional<PortWish> Wish(PortRef port, bool reregister = false) {
    const auto snapshot = small_.builder.Build();
    return PortConfig(options_, Lid(77))
        .Configure(*snapshot, lids_, *snapshot->node(port.node), port.port, reregister);
  }
  void Edit(PortRef port, auto&& edit) {
    wire::PortInfo info = small_.builder.node(port.node)->port(port.port).info;
    edit(info);
    small_.builder.SetPortInfo(port, info);
  }
  CoreOptions options_;
  SmallFabric small_;
  fabric::LidTable lids_;
};

TEST_F(PortConfigTest, EndPortGetsItsLidAndTheLinkItsSmallerMtuAndVls) {
  Edit({small_.switches[0], PortNum(1)}, [](auto& info) { info.mtu_cap = 4, info.vl_cap = 2; });
  const auto wish = Wish(small_.Host(0));
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->info.lid, Lid(4));
  EXPECT_EQ(wish->info.master_sm_lid, Lid(77));
  EXPECT_EQ(wish->info.gid_prefix, 0xFE80000000000000u);
  EXPECT_EQ(wish->info.neighbor_mtu, 4);
  EXPECT_EQ(wish->info.operational_vls, 2);
  EXPECT_EQ(wish->info.subnet_timeout, 18);
  EXPECT_EQ(wish->info.port_state, wire::PortState::kNoChange);
  EXPECT_EQ(wish->info.port_physical_state, wire::PortPhysicalState::kNoChange);
  EXPECT_EQ(wish->modifier, 1u);
}

TEST_F(PortConfigTest, SwitchExternalPortHasNoLidAndItsHoqLifeDependsOnThePeer) {
  const auto to_host = Wish({small_.switches[0], PortNum(1)});
  const auto to_switch = Wish({small_.switches[0], PortNum(36)});
  ASSERT_TRUE(to_host && to_switch);
  EXPECT_EQ(to_host->info.lid, Lid(0));
  EXPECT_EQ(to_host->info.master_sm_lid, Lid(0));
  EXPECT_EQ(to_host->info.gid_prefix, 0u);
  EXPECT_EQ(to_host->info.hoq_life, 16);
  EXPECT_EQ(to_switch->info.hoq_life, 18);
}

TEST_F(PortConfigTest, BasePortZeroKeepsItsMtuAndIsNeverArmed) {
  const auto wish = Wish({small_.switches[0], PortNum(0)});
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->info.lid, Lid(9));
  EXPECT_EQ(wish->info.neighbor_mtu, 0);
  EXPECT_EQ(wish->modifier, 0u);
}

TEST_F(PortConfigTest, NoSetForAPortThatReportsAllDesiredValues) {
  for (PortRef port : {small_.Host(0), PortRef{small_.switches[0], PortNum(1)}}) {
    const auto wish = Wish(port);
    ASSERT_TRUE(wish);
    wire::PortInfo shown = wish->info;  // As a faithful device answers.
    shown.port_state = wire::PortState::kActive;
    shown.port_physical_state = wire::PortPhysicalState::kLinkUp;
    small_.builder.SetPortInfo(port, shown);
  }
  EXPECT_FALSE(Wish(small_.Host(0)));
  EXPECT_FALSE(Wish({small_.switches[0], PortNum(1)}));
}

TEST_F(PortConfigTest, AnActiveLinkKeepsALegalMtuAndRetrainsFromAnIllegalOne) {
  const PortRef leaf{small_.switches[0], PortNum(1)};
  auto active = [](uint8_t mtu) {
    return [mtu](auto& info) {
      info.port_state = wire::PortState::kActive;
      info.neighbor_mtu = mtu;
      info.operational_vls = 3;
    };
  };
  Edit(small_.Host(0), active(3));
  Edit(leaf, active(3));
  EXPECT_EQ(Wish(small_.Host(0))->info.neighbor_mtu, 3);
  EXPECT_EQ(Wish(small_.Host(0))->info.port_state, wire::PortState::kNoChange);
  Edit(leaf, [](auto& info) { info.mtu_cap = 2; });
  EXPECT_EQ(Wish(small_.Host(0))->info.neighbor_mtu, 2);
  EXPECT_EQ(Wish(small_.Host(0))->info.port_state, wire::PortState::kDown);
}

TEST_F(PortConfigTest, ReregisterAndExtendedSpeedsOnlyWhereThePortSupportsThem) {
  EXPECT_FALSE(Wish(small_.Host(0), true)->info.client_reregister);
  Edit(small_.Host(0), [](auto& info) {
    info.capability_mask |= wire::kCapIsClientReregister | wire::kCapIsExtendedSpeeds;
  });
  const auto wish = Wish(small_.Host(0), true);
  EXPECT_TRUE(wish->info.client_reregister);
  EXPECT_EQ(wish->modifier, 1u | wire::kSmSupportsExtendedSpeeds);
}

TEST_F(PortConfigTest, NoSetForPortsThatAreDownOrUnlinked) {
  EXPECT_FALSE(Wish({small_.switches[0], PortNum(20)}));
  Edit({small_.switches[0], PortNum(36)},
       [](auto& info) { info.port_state = wire::PortState::kDown; });
  EXPECT_FALSE(Wish({small_.switches[0], PortNum(36)}));
  EXPECT_FALSE(Wish({small_.switches[1], PortNum(36)}));
}

TEST_F(PortConfigTest, LinearFdbTopStaysWithinTheTable) {
  wire::SwitchInfo info;
  info.linear_fdb_cap = 1000;
  small_.builder.SetSwitchInfo(small_.switches[0], info);
  const PortConfig config(options_, Lid(77));
  const fabric::Node& node = *small_.builder.node(small_.switches[0]);
  EXPECT_EQ(config.ConfigureSwitch(node, Lid(1000))->linear_fdb_top, 999);
  EXPECT_EQ(config.ConfigureSwitch(node, Lid(999))->linear_fdb_top, 999);
}

TEST_F(PortConfigTest, LinearFdbTopGrowsToTheEndOfABlock) {
  const PortConfig config(options_, Lid(77));
  const auto set = [&](uint16_t shown, uint16_t lid_top) {
    wire::SwitchInfo info;
    info.linear_fdb_cap = 1000;
    info.linear_fdb_top = shown;
    info.life_time_value = 18;
    small_.builder.SetSwitchInfo(small_.switches[0], info);
    const auto wish =
        config.ConfigureSwitch(*small_.builder.node(small_.switches[0]), Lid(lid_top));
    return wish ? std::optional(wish->linear_fdb_top) : std::nullopt;
  };
  EXPECT_EQ(set(0, 20), 20);
  EXPECT_EQ(set(20, 20), std::nullopt);
  EXPECT_EQ(set(20, 21), 63);
  EXPECT_EQ(set(63, 22), std::nullopt);
  EXPECT_EQ(set(63, 64), 127);
  EXPECT_EQ(set(127, 40), 40);
  EXPECT_EQ(set(980, 990), 999);
  EXPECT_EQ(set(999, 1200), std::nullopt);
}

TEST_F(PortConfigTest, SwitchInfoClearsOnlyTheChangeThatWasRead) {
  wire::SwitchInfo info;
  info.linear_fdb_cap = 1000;
  small_.builder.SetSwitchInfo(small_.switches[0], info);
  const PortConfig config(options_, Lid(77));
  auto want = config.ConfigureSwitch(*small_.builder.node(small_.switches[0]), Lid(12));
  ASSERT_TRUE(want);
  EXPECT_EQ(want->linear_fdb_top, 12);
  EXPECT_EQ(want->life_time_value, 18);
  EXPECT_FALSE(want->port_state_change);
  small_.builder.SetSwitchInfo(small_.switches[0], *want);
  EXPECT_FALSE(config.ConfigureSwitch(*small_.builder.node(small_.switches[0]), Lid(12)));
  want->port_state_change = true;
  small_.builder.SetSwitchInfo(small_.switches[0], *want);
  EXPECT_TRUE(
      config.ConfigureSwitch(*small_.builder.node(small_.switches[0]), Lid(12))->port_state_change);
}

}  // namespace
}  // namespace fabricd::sweep
