// SPDX-License-Identifier: Apache-2.0
// The registers against bytes written by hand from reference/telemetry-and-adaptive.md §2.3 and the
// public register description that mad/wire/registers.h names. No library has them as oracle.
#include "mad/wire/registers.h"

#include <gtest/gtest.h>

#include "tests/unit/mad/wire/golden_bytes.h"

namespace fabricd::wire {
namespace {

using testing::ExpectBothWays;
using testing::Piece;

RegisterBlock Block(const std::vector<Piece>& pieces) {
  return testing::Data<AccessRegister::kBlockBytes>(pieces);
}

// Both ways, where Encode leaves the request's bytes as they are.
template <typename Value>
void ExpectBehindRequest(const Value& value, const RegisterBlock& block, size_t request_bytes = 8) {
  EXPECT_EQ(Value::Decode(block), value);
  RegisterBlock sent;
  sent.fill(0xEE);
  std::copy_n(block.begin(), request_bytes, sent.begin());
  value.Encode(sent);
  EXPECT_EQ(sent, block);
}

TEST(Registers, HaveNames) {
  EXPECT_EQ(RegisterName(RegisterId::kPpcnt), "PPCNT");
  EXPECT_EQ(RegisterName(RegisterId::kPddr), "PDDR");
  EXPECT_EQ(RegisterName(RegisterId::kPpbmc), "PPBMC");
  EXPECT_EQ(RegisterName(static_cast<RegisterId>(0x5004)), "unknown");
}

// Port 300 = 0x12C: bits 7:0 in byte 1, bits 9:8 in byte 2 behind the 1 for IB port numbers.
TEST(Registers, PpcntRequest) {
  PpcntRequest request;
  request.port = 300;
  request.group = PpcntGroup::kRecovery;
  request.plane = 2;
  ExpectBothWays(request, Block({{0, {0x00, 0x2C, 0x50, 0x1A}}, {4, {0x00, 0x00, 0x02, 0x00}}}));
}

TEST(Registers, NoPpcntRequestClearsCounters) {
  RegisterBlock block;
  block.fill(0xFF);
  EXPECT_TRUE(ClearsCounters(block));
  const PpcntRequest hostile = PpcntRequest::Decode(block);
  hostile.Encode(block);
  EXPECT_FALSE(ClearsCounters(block));
}

TEST(Registers, PpcntPhysical) {
  PpcntPhysical counters;
  counters.milliseconds_since_clear = 0x0102030405060708;
  counters.symbol_errors = 1;
  counters.sync_header_errors = 2;
  counters.rs_fec_corrected_blocks = 3;
  counters.rs_fec_uncorrectable_blocks = 4;
  counters.rs_fec_error_free_blocks = 5;
  counters.rs_fec_corrected_symbols = 6;
  counters.rs_fec_corrected_symbols_of_physical_lane = {7, 8, 9, 10};
  counters.link_down_events = 0x01020304;
  counters.successful_recoveries = 0x05060708;
  ExpectBehindRequest(counters, Block({{0, {0x00, 0x01, 0x40, 0x12}},
                                       {8, {1, 2, 3, 4, 5, 6, 7, 8}},
                                       {8 + 0x0F, {1}},
                                       {8 + 0x17, {2}},
                                       {8 + 0x7F, {3}},
                                       {8 + 0x87, {4}},
                                       {8 + 0x8F, {5}},
                                       {8 + 0x9F, {6}},
                                       {8 + 0xA7, {7}},
                                       {8 + 0xAF, {8}},
                                       {8 + 0xB7, {9}},
                                       {8 + 0xBF, {10}},
                                       {8 + 0xC0, {1, 2, 3, 4, 5, 6, 7, 8}}}));
}

// Bytes 248 and 252 of the register, hence 28 and 32 of its second block.
TEST(Registers, PpcntLinkDownsAreInTheSecondBlock) {
  PpcntLinkDowns counters;
  counters.unintentional = 0x01020304;
  counters.intentional = 0x05060708;
  ExpectBothWays(counters, Block({{28, {1, 2, 3, 4, 5, 6, 7, 8}}}));
}

TEST(Registers, PpcntStatistical) {
  PpcntStatistical counters;
  counters.milliseconds_since_clear = 1;
  counters.received_bits = 0x0102030405060708;
  counters.symbol_errors = 2;
  counters.corrected_bits = 3;
  counters.raw_errors_of_physical_lane = {4, 5, 6, 7, 8, 9, 10, 11};
  counters.raw_ber = {3, 8};
  counters.effective_ber = {15, 255};
  counters.symbol_ber = {1, 15};
  counters.effective_errors = 0x1112131415161718;
  std::vector<Piece> pieces = {{8 + 0x07, {1}},
                               {8 + 0x08, {1, 2, 3, 4, 5, 6, 7, 8}},
                               {8 + 0x17, {2}},
                               {8 + 0x1F, {3}},
                               {8 + 0x62, {8, 3}},  // magnitude, coefficient
                               {8 + 0x66, {255, 15}},
                               {8 + 0x6A, {15, 1}},
                               {8 + 0x7C, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}}};
  for (uint8_t i = 0; i < 8; ++i) pieces.push_back({8u + 0x27u + 8u * i, {uint8_t(4 + i)}});
  ExpectBehindRequest(counters, Block(pieces));
}

TEST(Registers, BerValueIsCoefficientTimesAPowerOfTen) {
  EXPECT_DOUBLE_EQ((BerValue{3, 8}).value(), 3e-8);
  EXPECT_EQ((BerValue{0, 8}).value(), 0);
  EXPECT_DOUBLE_EQ((BerValue{15, 255}).value(), 15e-255);
}

TEST(Registers, PpcntRecovery) {
  PpcntRecovery counters;
  counters.successful_recoveries = 1;
  counters.unintentional_recoveries = 2;
  counters.intentional_recoveries = 3;
  ExpectBehindRequest(counters, Block({{8, {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}}}));
}

TEST(Registers, PddrRequest) {
  PddrRequest request;
  request.port = 65;
  request.page = PddrPage::kModule;
  request.plane = 1;
  request.powers_in_microwatts = true;
  ExpectBothWays(request, Block({{0, {0x00, 0x41, 0x41, 0x00}}, {4, {0x20, 0x00, 0x00, 0x03}}}));
}

TEST(Registers, PddrOperational) {
  PddrOperational page;
  page.fec_mode_active = PddrFecMode::kLowLatencyRs271Plr;
  page.fec_mode_request = static_cast<PddrFecMode>(0x0102);
  ExpectBehindRequest(page, Block({{8 + 0x1C, {0x00, 0x0D, 0x01, 0x02}}}));
}

// §2.3 there: 5, 8 and 11 to 18 are with PLR, all up to 18 have a name.
TEST(Registers, PddrFecModesAreNamedWithTheirRetransmission) {
  for (uint16_t number = 0; number < 24; ++number) {
    const auto mode = static_cast<PddrFecMode>(number);
    const bool plr = number == 5 || number == 8 || (number >= 11 && number <= 18);
    EXPECT_EQ(HasRetransmission(mode), plr) << number;
    EXPECT_EQ(PddrFecModeName(mode).find("PLR") != std::string_view::npos, plr) << number;
    EXPECT_EQ(PddrFecModeName(mode) == "unknown", number > 18) << number;
  }
  EXPECT_EQ(PddrFecModeName(PddrFecMode::kRs544), "RS(544,514)");
}

std::vector<uint8_t> Text(std::string text) {
  text.resize(PddrModule::kTextBytes, ' ');
  return {text.begin(), text.end()};
}

PddrModule Module() {
  PddrModule page;
  page.cable_type = PddrModule::CableType::kPassiveCopper;
  page.identifier = PddrModule::Identifier::kOsfp;
  page.length = 0x41;
  page.power_class = 8;
  page.max_power = 68;
  page.vendor_name = "NVIDIA";
  page.part_number = "MCP4Y10-N001";
  page.serial_number = "MT2201VS00001234";
  page.temperature = 0x2D80;
  page.voltage = 32915;
  page.rx_power = {1, 2, 3, 4, 5, 6, 7, 0x0108};
  page.tx_power = {9, 10, 11, 12, 13, 14, 15, 0x0110};
  page.temperature_alarm_high = 80 * 256;
  page.temperature_alarm_low = -10 * 256;
  return page;
}

TEST(Registers, PddrModule) {
  ExpectBehindRequest(
      Module(),
      Block({{8 + 0x04, {0x30, 0x41, 0x08, 0x08}},  // type, length, identifier, power class
             {8 + 0x08, {68}},
             {8 + 0x14, Text("NVIDIA")},
             {8 + 0x24, Text("MCP4Y10-N001")},
             {8 + 0x3C, Text("MT2201VS00001234")},
             {8 + 0x4C, {0x2D, 0x80, 0x80, 0x93}},  // temperature, voltage
             {8 + 0x50, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 1, 8}},
             {8 + 0x60, {0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15, 1, 16}},
             {8 + 0x80, {0x50, 0x00, 0xF6, 0x00}}}));
}

TEST(Registers, PddrModuleTextsEndAtTheirFilling) {
  RegisterBlock block = Block({{8 + 0x14, {'A', ' ', 'B', 0, 'C'}}, {8 + 0x24, {' ', ' ', 0}}});
  const PddrModule page = PddrModule::Decode(block);
  EXPECT_EQ(page.vendor_name, "A B");
  EXPECT_EQ(page.part_number, "");
  PddrModule too_long;
  too_long.serial_number = std::string(40, 'x');
  too_long.Encode(block);
  EXPECT_EQ(PddrModule::Decode(block).serial_number, std::string(16, 'x'));
}

TEST(Registers, PddrModuleInUnitsOfOperators) {
  PddrModule page = Module();
  EXPECT_TRUE(page.IsPlugged() && page.IsCmis() && page.HasTemperatureAlarms());
  EXPECT_EQ(page.length_metres(), 1.0);
  EXPECT_EQ(page.max_power_watts(), 17.0);
  EXPECT_EQ(page.temperature_celsius(), 45.5);
  page.length = 0x05;  // 5 * 0.1 m
  EXPECT_DOUBLE_EQ(page.length_metres().value(), 0.5);
  page.power_class = 3;
  EXPECT_EQ(page.max_power_watts(), 7.0);
  page.identifier = PddrModule::Identifier::kQsfp28;
  EXPECT_EQ(page.length_metres(), 5.0);
  EXPECT_EQ(page.max_power_watts(), 2.5);
  page.identifier = PddrModule::Identifier::kSfpDd;
  EXPECT_EQ(page.max_power_watts(), 2.0);
  page.temperature = -256;
  EXPECT_EQ(page.temperature_celsius(), -1.0);
}

TEST(Registers, PddrModuleHasNoValueForFieldsThatTheModuleLacks) {
  const PddrModule empty;
  EXPECT_FALSE(empty.length_metres().has_value());
  EXPECT_FALSE(empty.temperature_celsius().has_value());
  EXPECT_FALSE(empty.HasTemperatureAlarms());
  PddrModule page = Module();
  page.power_class = 0;
  EXPECT_FALSE(page.max_power_watts().has_value());
  page.power_class = 9;
  EXPECT_FALSE(page.max_power_watts().has_value());
  page.power_class = 8;
  page.max_power = 0;
  EXPECT_FALSE(page.max_power_watts().has_value());
  page.cable_type = PddrModule::CableType::kUnplugged;
  EXPECT_FALSE(page.IsPlugged());
}

TEST(Registers, PddrModuleKindsHaveNames) {
  EXPECT_EQ(CableTypeName(PddrModule::CableType::kPassiveCopper), "passive copper");
  EXPECT_EQ(CableTypeName(static_cast<PddrModule::CableType>(6)), "unknown");
  EXPECT_EQ(CableIdentifierName(PddrModule::Identifier::kOsfp), "OSFP");
  EXPECT_EQ(CableIdentifierName(static_cast<PddrModule::Identifier>(12)), "unknown");
}

TEST(Registers, PddrLinkDown) {
  PddrLinkDown page;
  page.blame = PddrLinkDown::Blame::kRemote;
  page.intent = PddrLinkDown::Intent::kUnintentional;
  page.local_reason = LinkDownReason::kCableUnplugged;
  page.remote_reason = LinkDownReason::kHighSer;
  page.recovery_entry_reason = 0x33;
  ExpectBehindRequest(
      page, Block({{8 + 0x03, {0x22}}, {8 + 0x05, {0x33}}, {8 + 0x07, {23}}, {8 + 0x0B, {47}}}));
}

TEST(Registers, LinkDownReasonsHaveNames) {
  for (int number = 2; number <= 33; ++number) {
    EXPECT_NE(LinkDownReasonName(static_cast<LinkDownReason>(number)), "unknown") << number;
  }
  EXPECT_EQ(LinkDownReasonName(LinkDownReason::kCableUnplugged), "cable unplugged");
  EXPECT_EQ(LinkDownReasonName(LinkDownReason::kUnknown), "unknown");
  EXPECT_EQ(LinkDownReasonName(static_cast<LinkDownReason>(46)), "unknown");
}

TEST(Registers, Ppbmc) {
  ExpectBothWays(PpbmcRequest{300}, Block({{0, {0x00, 0x2C, 0x50, 0x00}}}));
  Ppbmc monitor;
  monitor.state = Ppbmc::State::kWarning;
  monitor.monitored = Ppbmc::kSymbolBer | Ppbmc::kEffectiveBer;
  ExpectBehindRequest(monitor, Block({{0, {0x00, 0x2C, 0x55, 0x00}}, {7, {2}}}),
                      PpbmcRequest::kBytes);
}

// Bit 29 of its second word would make the device emit an event.
TEST(Registers, NoPpbmcRequestEmitsEvents) {
  RegisterBlock block;
  block.fill(0xFF);
  PpbmcRequest::Decode(block).Encode(block);
  EXPECT_EQ(block, Block({{0, {0x00, 0xFF, 0x70, 0x00}}}));
}

}  // namespace
}  // namespace fabricd::wire
