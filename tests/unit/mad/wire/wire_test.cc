// SPDX-License-Identifier: Apache-2.0
// What no outside library can judge: that nothing of a block is lost, the directed-route layout and
// its limits, link speeds up to XDR, and the names.
#include <gtest/gtest.h>

#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"
#include "tests/unit/mad/wire/random_block.h"

namespace fabricd::wire {
namespace {

// Every bit of the block set in `kept` comes back, every other bit is sent as zero.
template <typename Attribute>
void ExpectKept(const SmpData& kept) {
  Rng rng(static_cast<uint64_t>(Attribute::kAttribute));
  for (int round = 0; round < 1000; ++round) {
    const SmpData received = testing::RandomBlock(rng);
    SmpData expected = received;
    for (size_t i = 0; i < expected.size(); ++i) expected[i] &= kept[i];
    SmpData sent = testing::RandomBlock(rng);  // Encode must not rely on a cleared buffer.
    const Attribute value = Attribute::Decode(received);
    value.Encode(sent);
    ASSERT_EQ(sent, expected);
    ASSERT_EQ(Attribute::Decode(sent), value);
  }
}

SmpData FirstBytes(size_t count) {
  SmpData kept{};
  std::fill_n(kept.begin(), count, uint8_t{0xFF});
  return kept;
}

template <typename Attribute>
class WholeBlock : public ::testing::Test {};
using WholeBlockAttributes =
    ::testing::Types<PortInfo, PortInfoExtended, SwitchInfo, Notice, GuidInfo, PKeyTable,
                     LinearForwardingTable, MulticastForwardingTable, SwitchPortStateTable>;
TYPED_TEST_SUITE(WholeBlock, WholeBlockAttributes);

TYPED_TEST(WholeBlock, DecodeThenEncodeIsTheIdentity) { ExpectKept<TypeParam>(FirstBytes(64)); }

TEST(PartOfBlock, DecodeThenEncodeKeepsTheNamedBits) {
  ExpectKept<NodeInfo>(FirstBytes(40));
  SmpData sm_info = FirstBytes(21);
  ExpectKept<SmInfo>(sm_info);
  ExpectKept<SlToVlMappingTable>(FirstBytes(8));
  SmpData arbitration = FirstBytes(64);
  for (size_t i = 0; i < arbitration.size(); i += 2) arbitration[i] = 0x0F;
  ExpectKept<VlArbitrationTable>(arbitration);
}

// IBA vol 1 §14.2.5.2.
TEST(NodeDescriptionTest, EndsAtTheFirstZeroAndIsCutAt64Bytes) {
  SmpData block;
  block.fill(0xAA);
  NodeDescription{.text = "leaf-1 \xFF"}.Encode(block);
  EXPECT_EQ(block[8], 0);
  EXPECT_EQ(block[63], 0);
  EXPECT_EQ(NodeDescription::Decode(block).text, "leaf-1 \xFF");

  const std::string full(64, 'x');
  NodeDescription{.text = full}.Encode(block);
  EXPECT_EQ(NodeDescription::Decode(block).text, full);
  NodeDescription{.text = full + "y"}.Encode(block);
  EXPECT_EQ(NodeDescription::Decode(block).text, full);
}

// IBA vol 1 §14.2.1.2, figure of the directed-route SMP.
TEST(SmpTest, DirectedRouteLayout) {
  Smp smp;
  smp.method = Method::kGetResp;
  smp.status = kStatusUnsupportedMethodAttribute;
  smp.tid = TransactionId(0x01020304);
  smp.tid_high = 0xA0A1A2A3;
  smp.attribute = AttributeId::kPortInfo;
  smp.modifier = 0x80000007;
  smp.m_key = MKey(0x1122334455667788);
  smp.path = DirectedPath{1, 36, 2};
  smp.hop_pointer = 4;
  smp.returning = true;
  smp.dr_slid = 0xFFFE;
  smp.dr_dlid = 0x1234;
  smp.return_path[1] = 9;
  smp.data[0] = 0x5A;
  smp.data[63] = 0xA5;
  MadBytes bytes;
  bytes.fill(0xEE);
  smp.Encode(bytes);

  MadBytes expected{};
  const uint8_t head[] = {1,    0x81, 1,    0x81, 0x80, 0x0C, 4,    3,    0xA0, 0xA1, 0xA2, 0xA3,
                          1,    2,    3,    4,    0,    0x15, 0,    0,    0x80, 0,    0,    7,
                          0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xFF, 0xFE, 0x12, 0x34};
  std::copy(std::begin(head), std::end(head), expected.begin());
  expected[64] = 0x5A;
  expected[127] = 0xA5;
  expected[129] = 1;
  expected[130] = 36;
  expected[131] = 2;
  expected[193] = 9;
  EXPECT_EQ(bytes, expected);

  const std::optional<Smp> decoded = Smp::Decode(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->status, kStatusUnsupportedMethodAttribute);
  EXPECT_TRUE(decoded->returning);
  EXPECT_EQ(decoded->path, (DirectedPath{1, 36, 2}));
  EXPECT_EQ(decoded->tid_high, 0xA0A1A2A3u);
}

// IBA vol 1 §14.2.1.1: bytes 32-63 and 128-255 are reserved, byte 6 and 7 have no hop fields.
TEST(SmpTest, LidRoutedHasNoPath) {
  Rng rng(7);
  MadBytes received = testing::RandomBytes<kMadBytes>(rng);
  received[0] = received[2] = 1;
  received[1] = 0x01;
  received[4] = 0x80;  // No D bit here: part of the status.
  received[7] = 0xFF;
  const std::optional<Smp> smp = Smp::Decode(received);
  ASSERT_TRUE(smp);
  EXPECT_FALSE(smp->path);
  EXPECT_FALSE(smp->returning);
  EXPECT_EQ(smp->status, 0x8000 | received[5]);
  MadBytes sent;
  smp->Encode(sent);
  MadBytes expected = received;
  expected[6] = expected[7] = expected[18] = expected[19] = 0;
  std::fill(expected.begin() + 32, expected.begin() + 64, uint8_t{0});
  std::fill(expected.begin() + 128, expected.end(), uint8_t{0});
  EXPECT_EQ(sent, expected);
}

TEST(SmpTest, RefusesOtherClassesAndLongerPathsThanThereAre) {
  MadBytes bytes{};
  for (int management_class = 0; management_class < 256; ++management_class) {
    bytes[1] = static_cast<uint8_t>(management_class);
    EXPECT_EQ(Smp::Decode(bytes).has_value(), management_class == 0x01 || management_class == 0x81);
  }
  bytes[1] = 0x81;
  for (int hop_count = 0; hop_count < 256; ++hop_count) {
    bytes[7] = static_cast<uint8_t>(hop_count);
    const std::optional<Smp> smp = Smp::Decode(bytes);
    ASSERT_EQ(smp.has_value(), hop_count <= 63);
    if (smp) {
      EXPECT_EQ(smp->path->hops(), static_cast<size_t>(hop_count));
    }
  }
}

TEST(DirectedPathTest, GrowsToItsLimit) {
  DirectedPath path;
  EXPECT_EQ(path.ToString(), "0");
  EXPECT_EQ((DirectedPath{1, 36}).ToString(), "0,1,36");
  EXPECT_EQ(path.Then(PortNum(1)).Then(PortNum(36)), (DirectedPath{1, 36}));
  EXPECT_NE((DirectedPath{1, 0}), DirectedPath{1});
  for (size_t hop = 0; hop < DirectedPath::kMaxHops; ++hop) {
    ASSERT_TRUE(path.CanExtend());
    path = path.Then(PortNum(static_cast<uint8_t>(hop)));
  }
  EXPECT_FALSE(path.CanExtend());
  EXPECT_EQ(DirectedPath::FromPorts(path.ports()), path);
  EXPECT_EQ(path[62], 62);
}

PortInfo PortInfoOf(std::initializer_list<std::pair<size_t, uint8_t>> bytes) {
  SmpData block{};
  for (const auto& [at, value] : bytes) block[at] = value;
  return PortInfo::Decode(block);
}

double ActiveGigabits(const PortInfo& info) {
  return RateOf(ActiveSpeed(info), ActiveWidth(info)).nominal;
}

// IBA vol 1 §14.2.5.6: LinkWidthActive byte 31; LinkSpeedActive bits 7-4 of byte 35;
// LinkSpeedExtActive bits 7-4 and LinkSpeedExtSupported bits 3-0 of byte 62, LinkSpeedExtEnabled
// bits 4-0 of byte 63; release 1.7: LinkSpeedExtActive2 bits 6-5, LinkSpeedExtSupported2 bits 4-3
// and LinkSpeedExtEnabled2 bits 2-0 of byte 56.
TEST(PortInfoSpeed, NdrVector) {
  const PortInfo info =
      PortInfoOf({{31, 2}, {35, 0x47}, {60, 0x04}, {61, 0x22}, {62, 0x8F}, {63, 0x0F}});
  EXPECT_EQ(info.capability_mask2,
            kCap2IsLinkSpeedNdr | kCap2IsLinkSpeedHdr | kCap2IsPortInfoExtended);
  EXPECT_EQ(info.link_speed_ext_active, 8);
  EXPECT_EQ(info.link_speed_ext_supported, 15);
  EXPECT_EQ(info.link_speed_ext_enabled, 15);
  EXPECT_EQ(ActiveSpeed(info), LinkSpeed::kNdr);
  EXPECT_EQ(BestSupportedSpeed(info), LinkSpeed::kNdr);
  EXPECT_EQ(ActiveGigabits(info), 400);
}

// 8b/10b up to QDR, 64b/66b behind; FEC takes its part from HDR on.
TEST(PortInfoSpeed, TheEncodingIsTheDifferenceBetweenSignalAndData) {
  for (const LinkSpeed speed : {LinkSpeed::kSdr, LinkSpeed::kDdr, LinkSpeed::kQdr})
    EXPECT_DOUBLE_EQ(RateOf(speed, 4).data, RateOf(speed, 4).signal * 8 / 10);
  for (const LinkSpeed speed : {LinkSpeed::kFdr10, LinkSpeed::kFdr, LinkSpeed::kEdr})
    EXPECT_NEAR(RateOf(speed, 4).data, RateOf(speed, 4).signal * 64 / 66, 1e-3);
  for (const LinkSpeed speed : {LinkSpeed::kHdr, LinkSpeed::kNdr, LinkSpeed::kXdr})
    EXPECT_DOUBLE_EQ(RateOf(speed, 4).data * 1.0625, RateOf(speed, 4).signal);
  EXPECT_EQ(RateOf(LinkSpeed::kUnknown, 4).signal, 0);
  EXPECT_EQ(RateOf(LinkSpeed::kNdr, 0).signal, 0);
}

TEST(PortInfoSpeed, XdrVector) {
  // Byte 56 = 0 01 01 001: active, supported and enabled XDR.
  const PortInfo info = PortInfoOf({{31, 2}, {56, 0x29}, {57, 0xAB}, {60, 0x18}, {62, 0x0F}});
  EXPECT_EQ(info.capability_mask2, kCap2IsLinkSpeedXdr | kCap2IsExtendedSpeeds2);
  EXPECT_EQ(info.link_speed_ext_active2, 1);
  EXPECT_EQ(info.link_speed_ext_supported2, 1);
  EXPECT_EQ(info.link_speed_ext_enabled2, 1);
  EXPECT_EQ(info.link_round_trip_latency, 0xAB0000u);
  EXPECT_EQ(ActiveSpeed(info), LinkSpeed::kXdr);
  EXPECT_EQ(BestSupportedSpeed(info), LinkSpeed::kXdr);
  EXPECT_EQ(ActiveGigabits(info), 800);
}

// The three fields are distinct: the values of a decoder known to be right (rdma-core) for 0x52.
TEST(PortInfoSpeed, SecondExtendedSpeedsShareByte56) {
  const PortInfo info = PortInfoOf({{56, 0x52}});
  EXPECT_EQ(info.link_speed_ext_active2, 2);
  EXPECT_EQ(info.link_speed_ext_supported2, 2);
  EXPECT_EQ(info.link_speed_ext_enabled2, 2);
  EXPECT_EQ(PortInfoOf({{56, 0x60}}).link_speed_ext_active2, 3);
  EXPECT_EQ(PortInfoOf({{56, 0x18}}).link_speed_ext_supported2, 3);
  EXPECT_EQ(PortInfoOf({{56, 0x07}}).link_speed_ext_enabled2, 7);
}

TEST(PortInfoSpeed, FastestFieldThatIsSetDecides) {
  const struct {
    uint8_t speed, ext, ext2;
    LinkSpeed active;
  } cases[] = {
      {0, 0, 0, LinkSpeed::kUnknown}, {1, 0, 0, LinkSpeed::kSdr},
      {2, 0, 0, LinkSpeed::kDdr},     {4, 0, 0, LinkSpeed::kQdr},
      {8, 0, 0, LinkSpeed::kUnknown}, {4, 1, 0, LinkSpeed::kFdr},
      {0, 2, 0, LinkSpeed::kEdr},     {4, 4, 0, LinkSpeed::kHdr},
      {4, 8, 0, LinkSpeed::kNdr},     {4, 8, 1, LinkSpeed::kXdr},
      {4, 0, 1, LinkSpeed::kXdr},     {4, 8, 2, LinkSpeed::kUnknown},
  };
  for (const auto& c : cases) {
    PortInfo info;
    info.link_speed_active = c.speed;
    info.link_speed_ext_active = c.ext;
    info.link_speed_ext_active2 = c.ext2;
    EXPECT_EQ(ActiveSpeed(info), c.active)
        << int{c.speed} << ' ' << int{c.ext} << ' ' << int{c.ext2};
  }
  PortInfo info;
  info.link_speed_supported = 7;
  EXPECT_EQ(BestSupportedSpeed(info), LinkSpeed::kQdr);
  info.link_speed_ext_supported = 3;
  EXPECT_EQ(BestSupportedSpeed(info), LinkSpeed::kEdr);
}

TEST(PortInfoWidth, EveryCodeAndItsSets) {
  const std::pair<uint8_t, int> codes[] = {{0, 0},  {1, 1},  {2, 4}, {4, 8},
                                           {8, 12}, {16, 2}, {32, 0}};
  for (const auto& [code, lanes] : codes) {
    PortInfo info;
    info.link_width_active = code;
    EXPECT_EQ(ActiveWidth(info), lanes);
  }
  PortInfo info;
  info.link_width_active = 3;  // A set is no width.
  EXPECT_EQ(ActiveWidth(info), 0);
  info.link_width_supported = 0x13;
  EXPECT_EQ(BestSupportedWidth(info), 4);
  info.link_width_supported = 0x11;
  EXPECT_EQ(BestSupportedWidth(info), 2);
}

TEST(PortInfoCodes, MtuAndDataVls) {
  const int mtu[] = {0, 256, 512, 1024, 2048, 4096, 0};
  for (uint8_t code = 0; code < std::size(mtu); ++code) EXPECT_EQ(MtuBytes(code), mtu[code]);
  const int vls[] = {0, 1, 2, 4, 8, 15, 0};
  for (uint8_t code = 0; code < std::size(vls); ++code) EXPECT_EQ(DataVls(code), vls[code]);
}

// IBA vol 1 §14.2.5.19: the NDR masks follow the HDR ones (the oracles end before or misread them).
TEST(PortInfoExtendedTest, NdrMasks) {
  SmpData block{};
  for (uint8_t i = 0; i < block.size(); ++i) block[i] = i;
  const PortInfoExtended info = PortInfoExtended::Decode(block);
  EXPECT_EQ(info.hdr_fec_mode_supported, 0x0E0F);
  EXPECT_EQ(info.hdr_fec_mode_enabled, 0x1011);
  EXPECT_EQ(info.ndr_fec_mode_supported, 0x1213);
  EXPECT_EQ(info.ndr_fec_mode_enabled, 0x1415);
  EXPECT_EQ(info.reserved[21], 0);
  EXPECT_EQ(info.reserved[22], 22);
}

// Codes that the specification does not name are values of devices, not errors.
TEST(UnknownCodes, Survive) {
  SmpData block{};
  block[2] = 77;
  EXPECT_EQ(static_cast<int>(NodeInfo::Decode(block).node_type), 77);
  block[32] = 0x0F;
  block[33] = 0xCB;
  const PortInfo info = PortInfo::Decode(block);
  EXPECT_EQ(PortStateName(info.port_state), "unknown");
  EXPECT_EQ(PortPhysicalStateName(info.port_physical_state), "unknown");
  SmpData sent;
  info.Encode(sent);
  EXPECT_EQ(sent, block);
}

// IBA vol 1 §13.4.8.2: without the generic bit the trap number is a vendor's device id.
TEST(NoticeTest, VendorNoticesHaveNoSubject) {
  Notice notice;
  notice.trap = kTrapLocalLinkIntegrity;
  notice.details = {0, 1, 0x12, 0x34, 7};
  EXPECT_EQ(notice.subject_lid(), Lid(0x1234));
  EXPECT_EQ(notice.subject_port(), PortNum(7));
  notice.generic = false;
  EXPECT_EQ(notice.subject_lid(), Lid());
  EXPECT_EQ(notice.subject_port(), PortNum());
}

// IBA vol 1 §14.2.5.8: SL 0 is the high nibble of byte 0. The state table likewise: port 0 first.
TEST(TablesTest, HighNibbleComesFirst) {
  SmpData block{};
  block[0] = 0x41;
  block[7] = 0x0F;
  const SlToVlMappingTable map = SlToVlMappingTable::Decode(block);
  EXPECT_EQ(map.vl[0], 4);
  EXPECT_EQ(map.vl[1], 1);
  EXPECT_EQ(map.vl[14], 0);
  EXPECT_EQ(map.vl[15], 15);
  const SwitchPortStateTable states = SwitchPortStateTable::Decode(block);
  EXPECT_EQ(states.state[0], static_cast<uint8_t>(PortState::kActive));
  EXPECT_EQ(states.state[1], static_cast<uint8_t>(PortState::kDown));
}

TEST(TablesTest, Modifiers) {
  EXPECT_EQ(PKeyTable::Modifier(PortNum(3), 2), 0x00030002u);
  EXPECT_EQ(SlToVlMappingTable::Modifier(PortNum(1), PortNum(36)), 0x0124u);
  EXPECT_EQ(VlArbitrationTable::Modifier(3, PortNum(36)), 0x00030024u);
  EXPECT_EQ(MulticastForwardingTable::Modifier(15, 0x1FF), 0xF00001FFu);
}

TEST(Names, AreThoseOfTheSpecification) {
  EXPECT_EQ(AttributeName(AttributeId::kPortInfo), "PortInfo");
  EXPECT_EQ(AttributeName(static_cast<AttributeId>(0xFF90)), "0xFF90");
  EXPECT_EQ(AttributeName(static_cast<AttributeId>(0xFF00)), "0xFF00");
  EXPECT_EQ(AttributeName(static_cast<AttributeId>(0xFFFF)), "0xFFFF");
  EXPECT_EQ(AttributeName(static_cast<AttributeId>(0x0099)), "unknown");
  EXPECT_EQ(MethodName(Method::kTrapRepress), "TrapRepress");
  EXPECT_EQ(MethodName(static_cast<Method>(0x7F)), "unknown");
  EXPECT_EQ(SpeedName(LinkSpeed::kXdr), "XDR");
  EXPECT_EQ(SmStateName(SmState::kMaster), "MASTER");
  EXPECT_EQ(PortStateName(PortState::kArmed), "ARMED");
  EXPECT_EQ(FecModeName(FecMode::kRs), "RS");
}

}  // namespace
}  // namespace fabricd::wire
