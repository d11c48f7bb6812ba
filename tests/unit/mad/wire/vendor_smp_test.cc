// SPDX-License-Identifier: Apache-2.0
// NVIDIA's SMP attributes against bytes written by hand from reference/telemetry-and-adaptive.md
// §2.4, §3.1 and reference/peers.md §2.2. libibmad knows some of ExtPortInfo: see
// perf_libibmad_test.cc.
#include "mad/wire/vendor_smp.h"

#include <gtest/gtest.h>

#include "tests/unit/mad/wire/golden_bytes.h"

namespace fabricd::wire {
namespace {

using testing::ExpectBothWays;

SmpData SmpBytes(const std::vector<testing::Piece>& pieces) {
  return testing::Data<kSmpDataBytes>(pieces);
}

TEST(VendorSmp, AttributesAreNamedByNumber) {
  EXPECT_EQ(AttributeName(GeneralInfo::kAttribute), "0xFF17");
  EXPECT_EQ(AttributeName(ExtPortInfo::kAttribute), "0xFF90");
  EXPECT_EQ(AttributeName(ArInfo::kAttribute), "0xFF20");
}

// The bits of a Quantum-2 of a real fabric (§3.1 there).
TEST(VendorSmp, GeneralInfoOfAQuantum2) {
  using Capability = GeneralInfo::Capability;
  GeneralInfo info;
  for (const uint8_t bit :
       {0, 2, 4, 5, 6, 8, 9, 10, 12, 13, 16, 18, 19, 21, 29, 31, 44, 46, 52, 53, 61}) {
    info.capabilities.Set(static_cast<Capability>(bit));
  }
  ExpectBothWays(info, SmpBytes({{0, {0xA0, 0x2D, 0x37, 0x75}}, {4, {0x20, 0x30, 0x50, 0x00}}}));
  EXPECT_TRUE(info.HasAdaptiveRouting());
  EXPECT_FALSE(info.capabilities.Has(Capability::kAdaptiveRouting));
  EXPECT_TRUE(info.capabilities.Has(Capability::kSharp));
  EXPECT_FALSE(info.capabilities.Has(Capability::kUnhealthyReason));
}

TEST(VendorSmp, GeneralInfoBitsBehindTheSecondWord) {
  using Capability = GeneralInfo::Capability;
  GeneralInfo info;
  info.capabilities = {Capability::kExtendedSwitchInfo, Capability::kLinkAutoRetrain};
  ExpectBothWays(info, SmpBytes({{8, {0x00, 0x02, 0x00, 0x08}}}));  // 81, 67
  EXPECT_FALSE(info.HasAdaptiveRouting());
}

TEST(VendorSmp, ExtPortInfo) {
  ExtPortInfo info;
  info.sharp_enable = true;
  info.port_recovered = true;
  info.state_change_enable = 1;
  info.bandwidth_utilisation = 0x0203;
  info.unhealthy_reason = ExtPortInfo::UnhealthyReason::kSymbolBer;
  info.link_speed_supported = ExtPortInfo::kSpeedFdr10;
  info.link_speed_enabled = 0x04;
  info.link_speed_active = 0x05;
  info.capability_mask = ExtPortInfo::kDualMKey;
  ExpectBothWays(info, SmpBytes({{0, {0x50}},
                                 {3, {0x01}},
                                 {4, {0x02, 0x03}},
                                 {6, {0x06}},
                                 {7, {0x01}},
                                 {11, {0x04}},
                                 {15, {0x05}},
                                 {18, {0x02, 0x00}}}));
  info = ExtPortInfo{};
  info.router_lid_enable = true;
  ExpectBothWays(info, SmpBytes({{0, {0x20}}}));
}

TEST(VendorSmp, UnhealthyReasonsHaveNames) {
  using Reason = ExtPortInfo::UnhealthyReason;
  EXPECT_EQ(UnhealthyReasonName(Reason::kNone), "none");
  EXPECT_EQ(UnhealthyReasonName(Reason::kSymbolBer), "symbol BER");
  EXPECT_EQ(UnhealthyReasonName(Reason::kUnknown), "unknown");
  EXPECT_EQ(UnhealthyReasonName(static_cast<Reason>(7)), "unknown");
}

TEST(VendorSmp, ArInfo) {
  ArInfo info;
  info.global_groups = true;
  info.by_sl_supported = true;
  info.dynamic_capability = true;
  info.directions_supported = 3;
  info.group_table_copy_supported = 1;
  info.sub_groups_active = 2;
  info.enabled = true;
  info.frn_supported = true;
  info.notices_enabled = true;
  info.string_width_cap = 4;
  info.group_table_cap = 5;
  info.group_top = 0x123;
  info.group_cap = 0x456;
  info.enabled_sl_mask = 0xFFFE;
  info.sub_groups_supported = 7;
  info.notice_version = 1;
  info.version = 2;
  info.by_transport_disable = ArInfo::kDisableUd | ArInfo::kDisableUc;
  info.ageing_time = 0x01020304;
  info.features_supported = ArInfo::kHbfSupported | ArInfo::kPfrnSupported;
  info.features_enabled = ArInfo::kHbfEnabled | ArInfo::kPfrnEnabled;
  info.weighted_hbf_granularity = 9;
  info.hbf_sl_mask = 0x00FF;
  ExpectBothWays(info, SmpBytes({{0, {0x4C}},
                                 {1, {0x03}},
                                 {2, {0x12}},
                                 {3, {0x25}},
                                 {4, {0x45, 0x12, 0x34, 0x56}},
                                 {8, {0xFF, 0xFE}},
                                 {10, {0x07}},
                                 {11, {0x12}},
                                 {15, {0x05}},
                                 {16, {0x01, 0x02, 0x03, 0x04}},
                                 {20, {0x82}},
                                 {22, {0x90}},
                                 {24, {0x09}},
                                 {26, {0x00, 0xFF}}}));
}

TEST(VendorSmp, ArInfoFlagsThatTheOtherTestLeavesOut) {
  ArInfo info;
  info.no_fallback = info.is4_mode = info.by_sl_enabled = info.by_transport_supported = true;
  info.arn_supported = info.fast_recovery_supported = info.fast_recovery_enabled = true;
  ExpectBothWays(info, SmpBytes({{0, {0x33}}, {3, {0x1A}}}));
}

}  // namespace
}  // namespace fabricd::wire
