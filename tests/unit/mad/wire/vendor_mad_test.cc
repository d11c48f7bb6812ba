// SPDX-License-Identifier: Apache-2.0
// Class 0x0A against bytes written by hand from the layouts of
// reference/telemetry-and-adaptive.md §2.1, §2.2 and §5.4. No library has them as oracle.
#include "mad/wire/vendor_mad.h"

#include <gtest/gtest.h>

#include "tests/unit/mad/wire/golden_bytes.h"

namespace fabricd::wire {
namespace {

using testing::ExpectBothWays;

VendorData VendorBytes(const std::vector<testing::Piece>& pieces) {
  return testing::Data<kVendorDataBytes>(pieces);
}

TEST(VendorMad, IsAHeaderTheKeyAndTheDataFromByte32) {
  const MadBytes bytes = testing::Data<kMadBytes>({
      {0, {0x01, 0x0A, 0x01, 0x81}},  // version, class, class version, GetResp
      {4, {0x00, 0x14}},              // status
      {8, {0xAA, 0xBB, 0xCC, 0xDD, 0x80, 0x00, 0x00, 0x07}},
      {16, {0x00, 0x51}},              // attribute
      {20, {0x00, 0x00, 0x50, 0x08}},  // modifier: PPCNT
      {24, {1, 2, 3, 4, 5, 6, 7, 8}},  // VS_Key
      {32, {0x11}},
      {255, {0x22}},
  });
  const auto mad = VendorMad::Decode(bytes);
  ASSERT_TRUE(mad.has_value());
  EXPECT_EQ(mad->method, Method::kGetResp);
  EXPECT_EQ(mad->status, kStatusRegisterNotSupported);
  EXPECT_EQ(mad->transaction_id, 0xAABBCCDD80000007);
  EXPECT_EQ(mad->tid(), TransactionId(0x80000007));
  EXPECT_EQ(mad->attribute, VendorAttribute::kAccessRegister);
  EXPECT_EQ(mad->modifier, 0x5008u);
  EXPECT_EQ(mad->vs_key, VsKey(0x0102030405060708));
  EXPECT_EQ(mad->data, VendorBytes({{0, {0x11}}, {223, {0x22}}}));
  MadBytes sent;
  sent.fill(0xEE);
  mad->Encode(sent);
  EXPECT_EQ(sent, bytes);
}

TEST(VendorMad, OfAnotherClassIsNone) {
  MadBytes bytes{};
  for (const uint8_t management_class : {0x01, 0x03, 0x04, 0x09, 0x0B}) {
    bytes[1] = management_class;
    EXPECT_FALSE(VendorMad::Decode(bytes).has_value()) << int{management_class};
  }
}

TEST(VendorAttributes, GmpGeneralInfoHasItsBitsFromByte0x80) {
  using Capability = GmpGeneralInfo::Capability;
  GmpGeneralInfo info;
  info.capabilities = {Capability::kPerVlCounters, Capability::kAccessRegister,
                       Capability::kRawBerPerPhysicalLane, Capability::kDualVsKey};
  ExpectBothWays(info, VendorBytes({{0x80, {0x00, 0x10, 0x00, 0x40}},     // 20, 6
                                    {0x84, {0x00, 0x01, 0x00, 0x08}}}));  // 48, 35
  EXPECT_TRUE(info.capabilities.Has(Capability::kAccessRegister));
  EXPECT_FALSE(info.capabilities.Has(Capability::kHistograms));
  EXPECT_FALSE(info.capabilities.Has(static_cast<Capability>(128 + 20)));
}

TEST(VendorAttributes, KeyInfo) {
  KeyInfo info;
  info.key = VsKey(0x1122334455667788);
  info.protect = true;
  info.lease_period = 60;
  info.violations = 0x0102;
  ExpectBothWays(info, VendorBytes({{0, {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}},
                                    {8, {0x80}},
                                    {10, {0x00, 0x3C}},
                                    {12, {0x01, 0x02}}}));
}

TEST(VendorAttributes, AccessRegisterIsABlockOf220Bytes) {
  AccessRegister access;
  access.block = 1;
  access.bytes.front() = 0x11;
  access.bytes.back() = 0x22;
  ExpectBothWays(access, VendorBytes({{0, {0x00, 0x01}}, {4, {0x11}}, {223, {0x22}}}));
}

TEST(VendorAttributes, HaveNames) {
  EXPECT_EQ(VendorAttributeName(VendorAttribute::kAccessRegister), "AccessRegister");
  EXPECT_EQ(VendorAttributeName(VendorAttribute::kKeyInfo), "KeyInfo");
  EXPECT_EQ(VendorAttributeName(static_cast<VendorAttribute>(0x50)), "unknown");
}

}  // namespace
}  // namespace fabricd::wire
