// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/device_table.h"

#include <gtest/gtest.h>

#include "mad/wire/sm_info.h"
#include "sweep/device/m_keys.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using wire::AttributeId;
using wire::DirectedPath;

class DeviceTableTest : public testing::Test {
 protected:
  DeviceTableTest() {
    options_.m_key = MKey(5);
    options_.m_key_by_guid[Guid(0x1000)] = MKey(6);
  }
  SmOptions options_;
  DeviceTable devices_{options_, Guid(0x0FE)};
  const NodeIndex node_{3};
};

TEST_F(DeviceTableTest, ADeviceIsThereFromItsPathToItsRemoval) {
  EXPECT_FALSE(devices_.Has(node_));
  devices_.SetPath(node_, {1, 2});
  devices_.applied().Lft(node_).Confirm(0, {});
  EXPECT_TRUE(devices_.Has(node_));
  EXPECT_EQ(devices_.PathTo(node_), (DirectedPath{1, 2}));
  EXPECT_FALSE(devices_.Has(NodeIndex(2)));
  devices_.Remove(node_);
  devices_.Remove(NodeIndex(99));
  EXPECT_FALSE(devices_.Has(node_));
  EXPECT_TRUE(devices_.applied().IsUntouched(node_));
}

TEST_F(DeviceTableTest, RequestsCarryPathKeyAndTheWholeValue) {
  devices_.SetPath(node_, {1, 2});
  wire::PortInfo info;
  info.lid = Lid(9);
  const mad::SmpRequest set = devices_.Set(node_, 4, info);
  EXPECT_EQ(set.method, wire::Method::kSet);
  EXPECT_EQ(set.attribute, AttributeId::kPortInfo);
  EXPECT_EQ(set.modifier, 4u);
  EXPECT_EQ(set.path, (DirectedPath{1, 2}));
  EXPECT_EQ(set.device, 3u);
  EXPECT_EQ(set.m_key, MKey(5)) << "the configured one, until it was read";
  EXPECT_EQ(wire::PortInfo::Decode(set.data), info);
  devices_.SetMKey({node_, PortNum(0)}, MKey(77));
  devices_.SetMKey({node_, PortNum(0)}, MKey(0));  // The device shows none: it checks none.
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 4).m_key, MKey(77));
  EXPECT_EQ(devices_.MKeyOf(node_), MKey(77));
  EXPECT_EQ(devices_.MKeyOf(NodeIndex(8)), MKey(5));
}

TEST_F(DeviceTableTest, KeysAreConfiguredByPortGuid) {
  EXPECT_EQ(devices_.ConfiguredMKey(Guid(0x1000)), MKey(6));
  EXPECT_EQ(devices_.ConfiguredMKey(Guid(0x1001)), MKey(5));
}

TEST_F(DeviceTableTest, UnprovenKeysAreTriedAndTheOneThatWorkedComesFirst) {
  options_.former_m_keys = {MKey(8), MKey(9)};
  devices_.SetPath(node_, {1, 2});
  devices_.SetPossibleMKeys({node_, PortNum(0)}, Guid(0x1000));
  mad::SmpRequest get = devices_.Get(node_, AttributeId::kPortInfo, 0);
  EXPECT_EQ(get.m_key, MKey(6));
  EXPECT_EQ(get.other_keys, (std::vector<MKey>{MKey(5), MKey(8), MKey(9)}));
  devices_.NoteAnswer(node_.value(), {1, 2}, MKey(9));
  devices_.NoteAnswer(node_.value(), {1, 2}, MKey(1234));  // None that it may have.
  get = devices_.Get(node_, AttributeId::kPortInfo, 0);
  EXPECT_EQ(get.m_key, MKey(9));
  EXPECT_EQ(get.other_keys, (std::vector<MKey>{MKey(6), MKey(5), MKey(8)}));
  devices_.SetMKey({node_, PortNum(0)}, MKey(9));
  devices_.SetPossibleMKeys({node_, PortNum(0)}, Guid(0x1000));
  EXPECT_TRUE(devices_.Get(node_, AttributeId::kPortInfo, 0).other_keys.empty()) << "it was shown";
}

TEST_F(DeviceTableTest, APortThatIsGivenAKeyMayHaveEither) {
  devices_.SetPath(node_, {1, 2});
  devices_.SetMKey({node_, PortNum(0)}, MKey(9));
  devices_.ExpectMKey({node_, PortNum(0)}, MKey(9));
  EXPECT_TRUE(devices_.Get(node_, AttributeId::kPortInfo, 0).other_keys.empty());
  devices_.ExpectMKey({node_, PortNum(0)}, MKey(10));
  const mad::SmpRequest get = devices_.Get(node_, AttributeId::kPortInfo, 0);
  EXPECT_EQ(get.m_key, MKey(9));
  EXPECT_EQ(get.other_keys, std::vector<MKey>{MKey(10)});
  devices_.SetMKey({node_, PortNum(0)}, MKey(10));
  EXPECT_TRUE(devices_.Get(node_, AttributeId::kPortInfo, 0).other_keys.empty());
}

TEST_F(DeviceTableTest, ANodeThatIsRemovedIsSearchedForByItsKey) {
  options_ = {};
  options_.m_key_secret = "a secret of some length";
  devices_.SetPath(node_, {1});
  devices_.SetPossibleMKeys({node_, PortNum(1)}, Guid(2));
  const KeySearch::Cable cable{Guid(0x10), PortNum(9)};
  EXPECT_EQ(devices_.search().Next(cable, {}), std::vector<MKey>{MKey(0)});
  devices_.Remove(node_);
  EXPECT_EQ(devices_.search().Next(cable, {}),
            std::vector<MKey>{DeriveMKey(options_.m_key_secret, Guid(2))});
}

TEST(MKeys, AreDerivedByTheDocumentedHash) {
  // printf 'fabricd M_Key 1\x00\x02\xc9\x03\x00\x00\x12\x34' | openssl dgst -sha256 -hmac 'the
  // secret'
  EXPECT_EQ(DeriveMKey("the secret", Guid(0x0002c90300001234)), MKey(0x076c77f7f959a534));
}

TEST_F(DeviceTableTest, AnAnswerByTheAlternativeMakesItTheFirstChoice) {
  const DirectedPath first{1, 2}, second{1, 3}, third{1, 4};
  devices_.SetAlternative(node_, second);  // Of a device that is not there: no effect.
  devices_.SetPath(node_, first);
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 0).alternative, std::nullopt);
  devices_.SetAlternative(node_, first);
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 0).alternative, std::nullopt);
  devices_.SetAlternative(node_, second);
  devices_.SetAlternative(node_, third);
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 0).alternative, second);
  devices_.NoteAnswer(node_.value(), first);
  EXPECT_EQ(devices_.PathTo(node_), first);
  devices_.NoteAnswer(node_.value(), second);
  EXPECT_EQ(devices_.PathTo(node_), second);
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 0).alternative, first);
  devices_.NoteAnswer(kProbeDevices, second);
  devices_.SetPath(node_, third);
  EXPECT_EQ(devices_.Get(node_, AttributeId::kPortInfo, 0).alternative, std::nullopt);
}

// IBA vol 1 §14.2.5.7: a CA's Gets and Sets of P_Keys name no port, so each port has its own path.
TEST_F(DeviceTableTest, FurtherPortsOfAHostHaveTheirOwnPathAndKey) {
  const PortRef first{node_, PortNum(1)}, second{node_, PortNum(2)};
  devices_.SetPath(node_, {1, 2});
  devices_.SetAlternative(node_, {9});
  devices_.SetPortPath(first, {1, 2});
  EXPECT_EQ(devices_.FurtherPathTo(first), nullptr) << "it is reached as the node is";
  devices_.SetPortPath(second, {1, 5});
  devices_.SetPortPath(second, {1, 6});
  ASSERT_NE(devices_.FurtherPathTo(second), nullptr);
  EXPECT_EQ(*devices_.FurtherPathTo(second), (DirectedPath{1, 6}));
  EXPECT_EQ(devices_.FurtherPathTo({NodeIndex(50), PortNum(1)}), nullptr);
  devices_.SetMKey(first, MKey(71));
  mad::SmpRequest get = devices_.Get(second, AttributeId::kPortInfo, 2);
  EXPECT_EQ(get.path, (DirectedPath{1, 6}));
  EXPECT_EQ(get.alternative, std::nullopt);
  EXPECT_EQ(get.m_key, MKey(5));
  devices_.SetMKey(second, MKey(72));
  get = devices_.Set(second, 2, wire::PortInfo());
  EXPECT_EQ(get.m_key, MKey(72));
  EXPECT_EQ(get.method, wire::Method::kSet);
  get = devices_.Get(first, AttributeId::kPortInfo, 1);
  EXPECT_EQ(get.path, (DirectedPath{1, 2}));
  EXPECT_EQ(get.m_key, MKey(71));
}

TEST_F(DeviceTableTest, RequestsForSmInfoNameTheirSenderAndThoseToUnknownDevicesCarryNoKey) {
  devices_.SetPath(node_, {1});
  const auto known = devices_.Get(node_, AttributeId::kSmInfo, 0);
  EXPECT_EQ(wire::SmInfo::Decode(known.data).guid, Guid(0x0FE));
  EXPECT_EQ(known.m_key, MKey(5));
  const auto asked = devices_.GetSmInfo({1, 7}, kProbeDevices);
  EXPECT_EQ(wire::SmInfo::Decode(asked.data).guid, Guid(0x0FE));
  EXPECT_EQ(asked.m_key, MKey(0));
  EXPECT_EQ(asked.path, (DirectedPath{1, 7}));
  EXPECT_EQ(asked.device, kProbeDevices);
  EXPECT_EQ(asked.attribute, AttributeId::kSmInfo);
}

TEST_F(DeviceTableTest, TablesAreUnreadWhereASwitchForwardsAndNothingOfThemIsKnown) {
  SmallFabric fabric(0);
  EXPECT_FALSE(devices_.HasUnreadTables(*fabric.builder.Build())) << "no top, no table";
  wire::SwitchInfo info;
  info.linear_fdb_top = 4;
  fabric.builder.SetSwitchInfo(fabric.switches[0], info);
  EXPECT_FALSE(devices_.HasUnreadTables(*fabric.builder.Build())) << "no path leads to it";
  devices_.SetPath(fabric.switches[0], {1});
  EXPECT_TRUE(devices_.HasUnreadTables(*fabric.builder.Build()));
  devices_.applied().Lft(fabric.switches[0]).Confirm(0, {});
  EXPECT_FALSE(devices_.HasUnreadTables(*fabric.builder.Build()));
}

TEST_F(DeviceTableTest, ARequestToADeviceThatIsNotThereIsAProgrammersError) {
  EXPECT_DEATH(devices_.Get(node_, AttributeId::kPortInfo, 0), "node index 3");
  EXPECT_DEATH(devices_.PathTo(node_), "node index 3");
}

}  // namespace
}  // namespace fabricd::sweep
