// SPDX-License-Identifier: Apache-2.0
// Answers to what others ask: MakeSmpResponse, MakeTrapRepress and the routing of what arrives.
#include "mad/replies.h"

#include <gtest/gtest.h>

#include "mad/transactions.h"
#include "mad/wire/sm_info.h"
#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

wire::Smp SmInfoGet() {
  wire::Smp get;
  get.attribute = wire::AttributeId::kSmInfo;
  get.modifier = 5;
  get.tid = TransactionId(0x01020304);
  get.tid_high = 0x55667788;
  get.m_key = MKey(0x1111);
  get.path = wire::DirectedPath{1, 20, 3};
  get.hop_pointer = 4;  // What the kernel hands up: hop count + 1.
  return get;
}

// IBA vol 1 §14.2.2: a returning SMP runs over the same bytes in the other direction.
TEST(SmpResponse, DirectedKeepsRouteAndId) {
  IncomingMad request = Received(SmInfoGet());
  for (size_t hop = 1; hop <= 3; ++hop) request.payload[192 + hop] = static_cast<uint8_t>(30 + hop);
  request.from.lid = kPermissiveLid;
  wire::Smp response;
  response.data[0] = 0xAB;
  const OutgoingMad reply = MakeSmpResponse(request, response);
  EXPECT_EQ(reply.agent, Agent::kSmpDirected);
  EXPECT_EQ(reply.timeout, Duration::zero());
  EXPECT_EQ(reply.to.lid, kPermissiveLid);
  std::vector<uint8_t> expected = request.payload;
  expected[3] = 0x81;
  expected[4] = 0x80;  // D
  for (size_t byte = 24; byte < 32; ++byte) expected[byte] = 0;
  expected[64] = 0xAB;
  EXPECT_EQ(reply.payload, expected);
}

TEST(SmpResponse, StatusNeverTouchesTheDirectionBit) {
  wire::Smp response;
  response.status = wire::kStatusUnsupportedMethodAttribute;
  const OutgoingMad reply = MakeSmpResponse(Received(SmInfoGet()), response);
  EXPECT_EQ(reply.payload[4], 0x80);
  EXPECT_EQ(reply.payload[5], 0x0C);
}

TEST(SmpResponse, LidRoutedIsAddressedToTheSource) {
  wire::Smp get = SmInfoGet();
  get.path.reset();
  get.hop_pointer = 0;
  IncomingMad request = Received(get);
  request.from.lid = Lid(17);
  request.from.sl = ServiceLevel(2);
  request.from.qpn = 0;
  const OutgoingMad reply = MakeSmpResponse(request, wire::Smp{});
  EXPECT_EQ(reply.agent, Agent::kSmpLid);
  EXPECT_EQ(reply.to.lid, Lid(17));
  EXPECT_EQ(reply.to.sl, ServiceLevel(2));
  EXPECT_EQ(reply.payload[3], 0x81);
  EXPECT_EQ(reply.payload[4], 0x00) << "no direction bit in a LID routed SMP";
}

TEST(SmpResponse, LidRoutedPartBeforeTheDirectedOne) {
  wire::Smp get = SmInfoGet();
  get.dr_slid = 99;
  IncomingMad request = Received(get);
  request.from.lid = Lid(12);
  EXPECT_EQ(MakeSmpResponse(request, wire::Smp{}).to.lid, Lid(12));
}

TEST(TrapRepress, SameIdAndDataToTheSourceWithItsKey) {
  wire::Smp smp;
  smp.method = wire::Method::kTrap;
  smp.attribute = wire::AttributeId::kNotice;
  smp.tid = TransactionId(0xAABBCCDD);
  smp.tid_high = 0x11223344;
  smp.m_key = MKey(0x77);
  for (size_t byte = 0; byte < smp.data.size(); ++byte) smp.data[byte] = static_cast<uint8_t>(byte);
  IncomingMad trap = Received(smp);
  trap.from.lid = Lid(9);
  const OutgoingMad repress = MakeTrapRepress(trap, MKey(0x0102030405060708));
  EXPECT_EQ(repress.agent, Agent::kSmpLid);
  EXPECT_EQ(repress.timeout, Duration::zero());
  EXPECT_EQ(repress.to.lid, Lid(9));
  std::vector<uint8_t> expected = trap.payload;
  expected[3] = 0x07;
  for (uint8_t byte = 0; byte < 8; ++byte) expected[24 + byte] = byte + 1;
  EXPECT_EQ(repress.payload, expected);
}

TEST(TrapRepress, TakesTheReturnPathOfADirectedRouteTrap) {
  wire::Smp smp;
  smp.method = wire::Method::kTrap;
  smp.attribute = wire::AttributeId::kNotice;
  smp.path = wire::DirectedPath{1, 2};
  IncomingMad trap = Received(smp);
  trap.from.lid = Lid(9);
  const OutgoingMad repress = MakeTrapRepress(trap, MKey());
  EXPECT_EQ(repress.agent, Agent::kSmpDirected) << "the agent of its class";
  EXPECT_EQ(repress.to.lid, kPermissiveLid);
  EXPECT_EQ(repress.payload[3], 0x07);
  EXPECT_EQ(repress.payload[4], 0x80) << "the direction bit";
}

TEST(ForEngine, ResponsesAndReportsOnOurRequestsOnly) {
  const wire::Smp get = SmInfoGet();
  EXPECT_FALSE(IsForEngine(Received(get)));
  EXPECT_TRUE(IsForEngine(Received(AnswerTo(get))));
  IncomingMad report = Received(get);
  report.kind = IncomingMad::Kind::kTimedOut;
  EXPECT_TRUE(IsForEngine(report));
  IncomingMad failed_reply = Received(AnswerTo(get));
  failed_reply.kind = IncomingMad::Kind::kSendFailed;
  EXPECT_FALSE(IsForEngine(failed_reply));
  IncomingMad general = Received(AnswerTo(get));
  general.agent = Agent::kSubnAdm;
  EXPECT_FALSE(IsForEngine(general));
  wire::Smp of_telemetry = get;
  of_telemetry.tid = TransactionId(get.tid.value() | kTelemetryTransactionBit);
  EXPECT_FALSE(IsForEngine(Received(AnswerTo(of_telemetry))));
  report = Received(of_telemetry);
  report.kind = IncomingMad::Kind::kTimedOut;
  EXPECT_FALSE(IsForEngine(report));
}

}  // namespace
}  // namespace fabricd::mad
