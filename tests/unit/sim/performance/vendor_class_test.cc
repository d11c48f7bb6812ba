// SPDX-License-Identifier: Apache-2.0
// Registers, keys and vendor SMPs of simulated devices as a program reads them over the fabric.
#include <gtest/gtest.h>

#include "mad/wire/vendor_smp.h"
#include "sim/device/link_rate.h"
#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::seconds;
using wire::Method;
using wire::PpcntGroup;
using wire::VendorAttribute;

class VendorClassTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gmp.up); }
  void TearDown() override { EXPECT_TRUE(gmp.up); }

  std::optional<wire::VendorMad> Get(VendorAttribute attribute, wire::VsKey key = {}) {
    wire::VendorMad mad;
    mad.attribute = attribute;
    mad.vs_key = key;
    return gmp.Exchange(mad, leaf.node);
  }
  template <typename Group>
  Group Ppcnt(PortRef port, uint16_t block = 0) {
    wire::PpcntRequest request;
    request.port = port.port.value();
    request.group = Group::kGroup;
    const auto bytes = gmp.GetRegister(port.node, request, block);
    EXPECT_TRUE(bytes) << gmp.status;
    return bytes ? Group::Decode(*bytes) : Group();
  }
  template <typename Page>
  Page Pddr(PortRef port) {
    wire::PddrRequest request;
    request.port = port.port.value();
    request.page = Page::kPage;
    const auto bytes = gmp.GetRegister(port.node, request);
    EXPECT_TRUE(bytes) << gmp.status;
    return bytes ? Page::Decode(*bytes) : Page();
  }
  wire::Ppbmc Monitor(PortRef port) {
    const auto bytes = gmp.GetRegister(port.node, wire::PpbmcRequest{port.port.value()});
    EXPECT_TRUE(bytes) << gmp.status;
    return bytes ? wire::Ppbmc::Decode(*bytes) : wire::Ppbmc();
  }

  GmpFabric gmp;
  PortRef leaf = gmp.Port("su1-rail0-leaf", 2);
  PortRef hca = gmp.Port("node0002 mlx5_0", 1);
  PortRef trunk = [this] {  // A cable between switches.
    const SimDevice& device = *gmp.fabric.device(leaf.node);
    for (uint8_t port = 1; port <= device.last_port().value(); ++port) {
      const PortRef peer = device.port(PortNum(port)).cable;
      if (!peer.IsNone() && gmp.fabric.device(peer.node)->IsSwitch()) {
        return PortRef{leaf.node, PortNum(port)};
      }
    }
    return PortRef();
  }();
};

TEST_F(VendorClassTest, ClassKeyAndCapabilitiesAreAnnounced) {
  const auto class_info = Get(VendorAttribute::kClassPortInfo);
  ASSERT_TRUE(class_info);
  EXPECT_EQ(wire::ClassPortInfo::Decode(class_info->data).capability_mask, wire::kVendorHasKey);
  const auto key = Get(VendorAttribute::kKeyInfo);
  ASSERT_TRUE(key);
  EXPECT_EQ(wire::KeyInfo::Decode(key->data), wire::KeyInfo());
  const auto general = Get(VendorAttribute::kGeneralInfo);
  ASSERT_TRUE(general);
  EXPECT_TRUE(wire::GmpGeneralInfo::Decode(general->data)
                  .capabilities.Has(wire::GmpGeneralInfo::Capability::kAccessRegister));
}

TEST_F(VendorClassTest, OnlyGetsAreServed) {
  wire::VendorMad mad;
  mad.attribute = VendorAttribute::kKeyInfo;
  mad.method = Method::kSet;
  ASSERT_TRUE(gmp.Exchange(mad, leaf.node));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
  mad.method = Method::kGet;
  mad.attribute = static_cast<VendorAttribute>(0x12);
  ASSERT_TRUE(gmp.Exchange(mad, leaf.node));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
}

TEST_F(VendorClassTest, ErrorsAndReceivedBitsGiveTheBer) {
  gmp.client.now += seconds(100);
  gmp.Count(leaf, Counter::kSymbolErrors, 4);
  gmp.Count(leaf, Counter::kEffectiveErrors, 40);
  gmp.Count(leaf, Counter::kRawErrors, 401);
  const auto group = Ppcnt<wire::PpcntStatistical>(leaf);
  const double gigabits = ActiveGigabits(gmp.fabric.device(leaf.node)->port(leaf.port).info);
  EXPECT_GE(static_cast<double>(group.received_bits), 100e9 * gigabits);
  EXPECT_GE(group.milliseconds_since_clear, 100'000u);
  EXPECT_EQ(group.symbol_errors, 4u);
  EXPECT_EQ(group.effective_errors, 40u);
  EXPECT_EQ(group.raw_errors_of_physical_lane[0], 101u);
  EXPECT_EQ(group.raw_errors_of_physical_lane[3], 100u);
  const double symbol_ber = 4 / static_cast<double>(group.received_bits);
  EXPECT_NEAR(group.symbol_ber.value() / symbol_ber, 1, 0.5);
  const auto clean = Ppcnt<wire::PpcntStatistical>({leaf.node, PortNum(3)});
  EXPECT_LT(clean.symbol_ber.value(), 1e-100);
}

TEST_F(VendorClassTest, PhysicalGroupHasFecAndLinkDowns) {
  gmp.Count(leaf, Counter::kFecUncorrectableBlocks, 3);
  gmp.Count(leaf, Counter::kFecCorrectedSymbols, 9);
  gmp.Count(leaf, Counter::kLinkErrorRecovery, 2);
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  const auto group = Ppcnt<wire::PpcntPhysical>(leaf);
  EXPECT_EQ(group.rs_fec_uncorrectable_blocks, 3u);
  EXPECT_EQ(group.rs_fec_corrected_symbols, 9u);
  EXPECT_EQ(group.successful_recoveries, 2u);
  EXPECT_EQ(group.link_down_events, 1u);
  const auto downs = Ppcnt<wire::PpcntLinkDowns>(leaf, wire::PpcntLinkDowns::kBlock);
  EXPECT_EQ(downs.unintentional, 1u);
  EXPECT_EQ(downs.intentional, 0u);
  EXPECT_EQ(Ppcnt<wire::PpcntRecovery>(leaf).successful_recoveries, 2u);
}

TEST_F(VendorClassTest, BadPortsBlocksGroupsAndRegistersAreRefused) {
  wire::PpcntRequest request;
  request.port = 0;
  EXPECT_FALSE(gmp.GetRegister(leaf.node, request));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  request.port = 300;
  EXPECT_FALSE(gmp.GetRegister(leaf.node, request));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  request.port = 2;
  EXPECT_FALSE(gmp.GetRegister(leaf.node, request, 2));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  request.group = static_cast<PpcntGroup>(0x2);
  EXPECT_FALSE(gmp.GetRegister(leaf.node, request));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  EXPECT_FALSE(gmp.GetRegister(leaf.node, wire::PpbmcRequest{2}, 1));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  wire::VendorMad mad;
  mad.attribute = VendorAttribute::kAccessRegister;
  mad.modifier = 0x5004;  // PTYS
  ASSERT_TRUE(gmp.Exchange(mad, leaf.node));
  EXPECT_EQ(gmp.status, wire::kStatusRegisterNotSupported);
}

TEST_F(VendorClassTest, AClearingRequestClearsAndIsRecognised) {
  gmp.Count(leaf, Counter::kSymbolErrors, 4);
  wire::AccessRegister access;
  wire::PpcntRequest{.port = leaf.port.value(), .group = PpcntGroup::kStatistical}.Encode(
      access.bytes);
  access.bytes[4] |= 0x80;
  ASSERT_TRUE(wire::ClearsCounters(access.bytes));
  wire::VendorMad mad;
  mad.attribute = VendorAttribute::kAccessRegister;
  mad.modifier = static_cast<uint32_t>(wire::RegisterId::kPpcnt);
  access.Encode(mad.data);
  ASSERT_TRUE(gmp.Exchange(mad, leaf.node));
  EXPECT_EQ(Ppcnt<wire::PpcntStatistical>(leaf).symbol_errors, 0u);
}

TEST_F(VendorClassTest, ModulesAreThoseOfTheCable) {
  const auto own = Pddr<wire::PddrModule>(trunk);
  const auto peer = Pddr<wire::PddrModule>(gmp.fabric.LinkedPeer(trunk));
  EXPECT_TRUE(own.IsPlugged());
  EXPECT_EQ(own.part_number, peer.part_number);
  EXPECT_EQ(own.length_metres(), peer.length_metres());
  EXPECT_FALSE(own.serial_number.empty());
  ASSERT_TRUE(own.temperature_celsius());
  ASSERT_TRUE(gmp.fabric.SetModuleTemperature(trunk, 77).ok());
  EXPECT_EQ(Pddr<wire::PddrModule>(trunk).temperature_celsius(), 77);
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, hca).ok());
  EXPECT_FALSE(
      Pddr<wire::PddrModule>(gmp.fabric.device(hca.node)->port(hca.port).cable).IsPlugged());
}

TEST_F(VendorClassTest, ActiveModulesReportPowers) {
  wire::PddrRequest request;
  request.port = trunk.port.value();
  request.page = wire::PddrPage::kModule;
  request.powers_in_microwatts = true;
  const auto bytes = gmp.GetRegister(trunk.node, request);
  ASSERT_TRUE(bytes);
  const auto module = wire::PddrModule::Decode(*bytes);
  EXPECT_GT(module.rx_power[3], 0);
  EXPECT_GT(module.tx_power[0], 0);
  EXPECT_EQ(module.rx_power[4], 0);
}

TEST_F(VendorClassTest, FecIsThatOfTheRunningLink) {
  const auto page = Pddr<wire::PddrOperational>(leaf);
  EXPECT_NE(page.fec_mode_active, wire::PddrFecMode::kNone);
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  EXPECT_EQ(Pddr<wire::PddrOperational>(leaf).fec_mode_active, wire::PddrFecMode::kNone);
}

TEST_F(VendorClassTest, ThePageOfLinkDownsHasTheLastCause) {
  EXPECT_EQ(Pddr<wire::PddrLinkDown>(leaf), wire::PddrLinkDown());
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  const auto pulled = Pddr<wire::PddrLinkDown>(leaf);
  EXPECT_EQ(pulled.local_reason, wire::LinkDownReason::kCableUnplugged);
  EXPECT_EQ(pulled.intent, wire::PddrLinkDown::Intent::kUnintentional);
  ASSERT_TRUE(gmp.fabric.Link(gmp.client.now, leaf).ok());
  gmp.client.now += seconds(1);
  std::vector<Delivery> ignored;
  gmp.fabric.Advance(gmp.client.now, ignored);
  const PortRef peer = gmp.fabric.LinkedPeer(leaf);
  ASSERT_TRUE(gmp.fabric.PowerOff(gmp.client.now, peer.node).ok());
  const auto rebooted = Pddr<wire::PddrLinkDown>(leaf);
  EXPECT_EQ(rebooted.local_reason, wire::LinkDownReason::kPeerReset);
  EXPECT_EQ(rebooted.blame, wire::PddrLinkDown::Blame::kRemote);
}

TEST_F(VendorClassTest, TheMonitorFollowsItsThresholds) {
  EXPECT_EQ(Monitor(leaf).state, wire::Ppbmc::State::kNormal);
  gmp.client.now += seconds(10'000);
  const auto bits = static_cast<double>(Ppcnt<wire::PpcntStatistical>(leaf).received_bits);
  gmp.Count(leaf, Counter::kSymbolErrors, static_cast<uint64_t>(6e-15 * bits + 1));
  EXPECT_EQ(Monitor(leaf).state, wire::Ppbmc::State::kWarning);
  gmp.Count(leaf, Counter::kEffectiveErrors, static_cast<uint64_t>(2e-11 * bits));
  EXPECT_EQ(Monitor(leaf).state, wire::Ppbmc::State::kAlarm);
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, leaf).ok());
  EXPECT_EQ(Monitor(leaf).state, wire::Ppbmc::State::kNotMonitored);
}

TEST_F(VendorClassTest, OneEarlyErrorIsNoAlarm) {
  gmp.Count(leaf, Counter::kSymbolErrors, 1);
  EXPECT_EQ(Monitor(leaf).state, wire::Ppbmc::State::kNormal);
}

TEST_F(VendorClassTest, AProtectedKeyLetsOnlyItsOwnerRead) {
  gmp.Quirks(leaf, "vs_key_set");
  EXPECT_FALSE(Get(VendorAttribute::kGeneralInfo));
  const auto key = Get(VendorAttribute::kKeyInfo);
  ASSERT_TRUE(key);
  const auto info = wire::KeyInfo::Decode(key->data);
  EXPECT_TRUE(info.protect);
  EXPECT_EQ(info.key, wire::VsKey());
  EXPECT_EQ(info.violations, 1);
  const wire::VsKey owner = PerformanceAgent::VsKeyOf(*gmp.fabric.device(leaf.node));
  EXPECT_TRUE(Get(VendorAttribute::kGeneralInfo, owner));
  const auto shown = Get(VendorAttribute::kKeyInfo, owner);
  ASSERT_TRUE(shown);
  EXPECT_EQ(wire::KeyInfo::Decode(shown->data).key, owner);
}

TEST_F(VendorClassTest, AHiddenKeyHidesTheClass) {
  gmp.Quirks(leaf, "vs_key_hidden");
  EXPECT_FALSE(Get(VendorAttribute::kKeyInfo));
  EXPECT_FALSE(Get(VendorAttribute::kClassPortInfo));
  EXPECT_TRUE(
      Get(VendorAttribute::kKeyInfo, PerformanceAgent::VsKeyOf(*gmp.fabric.device(leaf.node))));
}

TEST_F(VendorClassTest, DevicesWithoutTheClassReturnBadVersion) {
  for (const char* options : {"no_vendor", "plain"}) {
    gmp.Quirks(leaf, options);
    ASSERT_TRUE(Get(VendorAttribute::kGeneralInfo)) << options;
    EXPECT_EQ(gmp.status, wire::kStatusBadVersion) << options;
  }
  gmp.Quirks(leaf, "unresponsive");
  EXPECT_FALSE(Get(VendorAttribute::kGeneralInfo));
}

class VendorSmpTest : public VendorClassTest {
 protected:
  template <typename Attribute>
  std::optional<Attribute> GetSmp(NodeIndex node, uint32_t modifier) {
    wire::Smp smp;
    smp.attribute = Attribute::kAttribute;
    smp.modifier = modifier;
    mad::OutgoingMad mad = EncodeSmp(smp, kTestTimeout, gmp.LidOf(node));
    const auto answer = gmp.Exchange(std::move(mad));
    if (!answer) return std::nullopt;
    const auto decoded = wire::Smp::Decode(BytesOf(*answer));
    gmp.status = decoded->status;
    if (gmp.status != wire::kStatusOk) return std::nullopt;
    return Attribute::Decode(decoded->data);
  }
};

TEST_F(VendorSmpTest, CapabilitiesNameTheServedAttributes) {
  const auto of_leaf = GetSmp<wire::GeneralInfo>(leaf.node, wire::GeneralInfo::kModifier);
  ASSERT_TRUE(of_leaf);
  EXPECT_TRUE(of_leaf->HasAdaptiveRouting());
  EXPECT_TRUE(of_leaf->capabilities.Has(wire::GeneralInfo::Capability::kExtPortInfo));
  EXPECT_TRUE(GetSmp<wire::ArInfo>(leaf.node, 0));
  EXPECT_TRUE(GetSmp<wire::ExtPortInfo>(leaf.node, leaf.port.value()));
  const auto of_hca = GetSmp<wire::GeneralInfo>(hca.node, wire::GeneralInfo::kModifier);
  ASSERT_TRUE(of_hca);
  EXPECT_FALSE(of_hca->HasAdaptiveRouting());
  EXPECT_FALSE(GetSmp<wire::ArInfo>(hca.node, 0));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
}

TEST_F(VendorSmpTest, BadModifiersAreRefused) {
  EXPECT_FALSE(GetSmp<wire::GeneralInfo>(leaf.node, 0));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  EXPECT_FALSE(GetSmp<wire::ExtPortInfo>(leaf.node, 200));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
}

TEST_F(VendorSmpTest, PlainDevicesHaveNone) {
  gmp.Quirks(leaf, "plain");
  EXPECT_FALSE(GetSmp<wire::GeneralInfo>(leaf.node, wire::GeneralInfo::kModifier));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
}

}  // namespace
}  // namespace fabricd::sim
