// SPDX-License-Identifier: Apache-2.0
// The PerfMgt codecs against bytes written by hand from the layouts of
// reference/telemetry-and-adaptive.md §1.2. libibmad as oracle is in perf_libibmad_test.cc.
#include "mad/wire/perf.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/mad/wire/golden_bytes.h"

namespace fabricd::wire {
namespace {

using testing::ExpectBothWays;
using testing::Piece;
PerfData PerfBytes(const std::vector<Piece>& pieces) {
  return testing::Data<kPerfDataBytes>(pieces);
}

TEST(PerfMad, IsAHeaderAndTheDataFromByte64) {
  MadBytes bytes{};
  const uint8_t header[] = {
      0x01, 0x04, 0x01, 0x81,                          // version, class, class version, GetResp
      0x00, 0x1C, 0x00, 0x00,                          // status
      0xAA, 0xBB, 0xCC, 0xDD, 0x80, 0x00, 0x00, 0x07,  // transaction id
      0x00, 0x1D, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,  // attribute, modifier
  };
  std::copy(std::begin(header), std::end(header), bytes.begin());
  bytes[64] = 0x11;
  bytes[255] = 0x22;
  const auto mad = PerfMad::Decode(bytes);
  ASSERT_TRUE(mad.has_value());
  EXPECT_EQ(mad->method, Method::kGetResp);
  EXPECT_EQ(mad->status, kStatusInvalidAttributeValue);
  EXPECT_EQ(mad->transaction_id, 0xAABBCCDD80000007);
  EXPECT_EQ(mad->tid(), TransactionId(0x80000007));
  EXPECT_EQ(mad->attribute, PerfAttribute::kPortCountersExtended);
  EXPECT_EQ(mad->modifier, 2u);
  EXPECT_EQ(mad->data, PerfBytes({{0, {0x11}}, {191, {0x22}}}));
  MadBytes sent;
  sent.fill(0xEE);
  mad->Encode(sent);
  EXPECT_EQ(sent, bytes);
}

TEST(PerfMad, OfAnotherClassIsNone) {
  MadBytes bytes{};
  for (const uint8_t management_class : {0x01, 0x03, 0x0A, 0x81}) {
    bytes[1] = management_class;
    EXPECT_FALSE(PerfMad::Decode(bytes).has_value()) << int{management_class};
  }
}

// What ibsim 0.10 sends for a switch (§8 there): CapabilityMask 0x1300, response time 0x12.
TEST(PerfClassPortInfo, OfASwitch) {
  ClassPortInfo info;
  info.capability_mask = kPerfAllPortSelect | kPerfExtendedWidth | kPerfXmitWait;
  info.response_time_value = 0x12;
  ExpectBothWays(info, PerfBytes({{0, {1, 1, 0x13, 0x00, 0x00, 0x00, 0x00, 0x12}}}));
  EXPECT_EQ(info.response_time(), std::chrono::nanoseconds(1'073'741'824));
  EXPECT_FALSE(info.IsRedirected());
}

TEST(PerfClassPortInfo, NamesWhereRequestsAndTrapsGo) {
  ClassPortInfo info;
  info.capability_mask2 = kPerf2PmKey | kPerf2ExtendedErrors | kPerf2Virtualization;
  info.redirect.gid = {0xFE80000000000000, 0x0002C90300001234};
  info.redirect.traffic_class = 0x21;
  info.redirect.sl = ServiceLevel(3);
  info.redirect.flow_label = 0x45678;
  info.redirect.lid = Lid(0x0102);
  info.redirect.p_key = PKey(0xFFFF);
  info.redirect.qpn = 0x010203;
  info.redirect.q_key = 0x80010000;
  info.trap.lid = Lid(0x0304);
  info.trap.hop_limit = 0x40;
  info.trap.qpn = 1;
  ExpectBothWays(
      info,
      PerfBytes({{0, {1, 1, 0, 0}},
                 {4, {0x00, 0x00, 0x00, 0xE0}},  // CapabilityMask2 in bits 31:5
                 {8, {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x02, 0xC9, 0x03, 0, 0, 0x12, 0x34}},
                 {24, {0x21, 0x34, 0x56, 0x78}},  // traffic class, SL, flow label
                 {28, {0x01, 0x02, 0xFF, 0xFF}},  // LID, P_Key
                 {32, {0x00, 0x01, 0x02, 0x03}},  // reserved, QP
                 {36, {0x80, 0x01, 0x00, 0x00}},  // Q_Key
                 {60, {0x03, 0x04}},
                 {64, {0x40, 0x00, 0x00, 0x01}}}));  // hop limit, QP
  EXPECT_TRUE(info.IsRedirected());
}

// Tick and option mask of a Quantum-2 (§1.1, §1.5 there).
TEST(PerfAttributes, PortSamplesControl) {
  PortSamplesControl control;
  control.op_code = 0xF3;
  control.port_select = 65;
  control.tick = 7;
  control.counter_width = 4;
  control.sample_mechanisms = 1;
  control.sample_status = 2;
  control.option_mask = 0x01800000008CF7FC;
  control.vendor_mask = 9;
  ExpectBothWays(control, PerfBytes({{0, {0xF3, 65, 7, 4}},
                                     {10, {1, 2}},
                                     {12, {0x01, 0x80, 0x00, 0x00, 0x00, 0x8C, 0xF7, 0xFC}},
                                     {27, {9}}}));
}

TEST(PerfAttributes, PortCounters) {
  PortCounters counters;
  counters.port_select = 17;
  counters.counter_select = 0x0102;
  counters.symbol_error = 0x0304;
  counters.link_error_recovery = 5;
  counters.link_downed = 6;
  counters.rcv_errors = 0x0708;
  counters.rcv_remote_physical_errors = 0x090A;
  counters.rcv_switch_relay_errors = 0x0B0C;
  counters.xmit_discards = 0x0D0E;
  counters.xmit_constraint_errors = 0x0F;
  counters.rcv_constraint_errors = 0x10;
  counters.counter_select2 = PortCounters::kSelect2XmitWait;
  counters.local_link_integrity_errors = 0xA;
  counters.excessive_buffer_overrun_errors = 0xB;
  counters.qp1_dropped = 0x1112;
  counters.vl15_dropped = 0x1314;
  counters.xmit_data = 0x15161718;
  counters.rcv_data = 0x191A1B1C;
  counters.xmit_pkts = 0x1D1E1F20;
  counters.rcv_pkts = 0x21222324;
  counters.xmit_wait = 0x25262728;
  ExpectBothWays(counters, PerfBytes({{1, {17}},
                                      {2, {0x01, 0x02}},
                                      {4, {0x03, 0x04}},
                                      {6, {5}},
                                      {7, {6}},
                                      {8, {0x07, 0x08}},
                                      {10, {0x09, 0x0A}},
                                      {12, {0x0B, 0x0C}},
                                      {14, {0x0D, 0x0E}},
                                      {16, {0x0F}},
                                      {17, {0x10}},
                                      {18, {0x01}},
                                      {19, {0xAB}},
                                      {20, {0x11, 0x12}},  // QP1Dropped
                                      {22, {0x13, 0x14}},  // VL15Dropped
                                      {24, {0x15, 0x16, 0x17, 0x18}},
                                      {28, {0x19, 0x1A, 0x1B, 0x1C}},
                                      {32, {0x1D, 0x1E, 0x1F, 0x20}},
                                      {36, {0x21, 0x22, 0x23, 0x24}},
                                      {40, {0x25, 0x26, 0x27, 0x28}}}));
}

// Each counter has its own number, sent in the lowest of its eight bytes.
TEST(PerfAttributes, PortCountersExtended) {
  PortCountersExtended counters;
  counters.port_select = 0xFF;
  counters.counter_select = 0x0001;
  counters.counter_select2 = 0x01020304;
  counters.xmit_data = uint64_t{1} << 63 | 1;
  counters.rcv_data = 2;
  counters.xmit_pkts = 3;
  counters.rcv_pkts = 4;
  counters.unicast_xmit_pkts = 5;
  counters.unicast_rcv_pkts = 6;
  counters.multicast_xmit_pkts = 7;
  counters.multicast_rcv_pkts = 8;
  counters.symbol_error = 9;
  counters.link_error_recovery = 10;
  counters.link_downed = 11;
  counters.rcv_errors = 12;
  counters.rcv_remote_physical_errors = 13;
  counters.rcv_switch_relay_errors = 14;
  counters.xmit_discards = 15;
  counters.xmit_constraint_errors = 16;
  counters.rcv_constraint_errors = 17;
  counters.local_link_integrity_errors = 18;
  counters.excessive_buffer_overrun_errors = 19;
  counters.vl15_dropped = 20;
  counters.xmit_wait = 21;
  counters.qp1_dropped = 22;
  std::vector<Piece> pieces = {{1, {0xFF}}, {2, {0x00, 0x01}}, {4, {1, 2, 3, 4}}, {8, {0x80}}};
  for (uint8_t number = 1; number <= 22; ++number) pieces.push_back({8u * number + 7, {number}});
  ExpectBothWays(counters, PerfBytes(pieces));
}

TEST(PerfAttributes, PortRcvErrorDetails) {
  PortRcvErrorDetails details;
  details.port_select = 3;
  details.counter_select = 0x3F;
  details.local_physical_errors = 1;
  details.malformed_packet_errors = 2;
  details.buffer_overrun_errors = 3;
  details.dlid_mapping_errors = 521;
  details.vl_mapping_errors = 5;
  details.looping_errors = 6;
  ExpectBothWays(details,
                 PerfBytes({{1, {3}}, {2, {0, 0x3F}}, {4, {0, 1, 0, 2, 0, 3, 2, 9, 0, 5, 0, 6}}}));
}

TEST(PerfAttributes, PortXmitDiscardDetails) {
  PortXmitDiscardDetails details;
  details.port_select = 3;
  details.counter_select = 0xF;
  details.inactive_discards = 0x0102;
  details.neighbor_mtu_discards = 3;
  details.sw_lifetime_limit_discards = 4;
  details.sw_hoq_lifetime_limit_discards = 5;
  ExpectBothWays(details, PerfBytes({{1, {3}}, {2, {0, 0xF}}, {4, {1, 2, 0, 3, 0, 4, 0, 5}}}));
}

TEST(PerfAttributes, PortExtendedSpeedsCounters) {
  PortExtendedSpeedsCounters counters;
  counters.port_select = 2;
  counters.counter_select = 0x0102030405060708;
  counters.sync_header_errors = 0x0A0B;
  counters.unknown_blocks = 0x0C0D;
  counters.error_detection[0] = 0x1011;
  counters.error_detection[11] = 0x1213;
  counters.fec_correctable_blocks[0] = 0x20212223;
  counters.fec_correctable_blocks[11] = 0x24252627;
  counters.fec_uncorrectable_blocks[0] = 0x30313233;
  counters.fec_uncorrectable_blocks[11] = 0x34353637;
  ExpectBothWays(counters, PerfBytes({{1, {2}},
                                      {8, {1, 2, 3, 4, 5, 6, 7, 8}},
                                      {16, {0x0A, 0x0B, 0x0C, 0x0D}},
                                      {20, {0x10, 0x11}},
                                      {42, {0x12, 0x13}},
                                      {44, {0x20, 0x21, 0x22, 0x23}},
                                      {88, {0x24, 0x25, 0x26, 0x27}},
                                      {92, {0x30, 0x31, 0x32, 0x33}},
                                      {136, {0x34, 0x35, 0x36, 0x37}}}));
}

TEST(PerfAttributes, PortExtendedSpeedsCountersWithRsFec) {
  PortExtendedSpeedsCountersRsFec counters;
  counters.port_select = 2;
  counters.sync_header_errors = 0x0A0B;
  counters.unknown_blocks = 0x0C0D;
  counters.fec_corrected_symbols_of_physical_lane[0] = 0x20212223;
  counters.fec_corrected_symbols_of_physical_lane[11] = 0x24252627;
  counters.fec_correctable_blocks = 0x30313233;
  counters.fec_uncorrectable_blocks = 0x34353637;
  counters.fec_corrected_symbols = 0x38393A3B;
  ExpectBothWays(counters, PerfBytes({{1, {2}},
                                      {16, {0x0A, 0x0B, 0x0C, 0x0D}},
                                      {44, {0x20, 0x21, 0x22, 0x23}},
                                      {88, {0x24, 0x25, 0x26, 0x27}},
                                      {140, {0x30, 0x31, 0x32, 0x33}},
                                      {144, {0x34, 0x35, 0x36, 0x37}},
                                      {148, {0x38, 0x39, 0x3A, 0x3B}}}));
}

TEST(PerfAttributes, HaveTheNamesOfTheSpecification) {
  EXPECT_EQ(PerfAttributeName(PerfAttribute::kPortCounters), "PortCounters");
  EXPECT_EQ(PerfAttributeName(PerfAttribute::kPortVlXmitWaitCounters), "PortVLXmitWaitCounters");
  EXPECT_EQ(PerfAttributeName(static_cast<PerfAttribute>(0x30)), "unknown");
}

}  // namespace
}  // namespace fabricd::wire
