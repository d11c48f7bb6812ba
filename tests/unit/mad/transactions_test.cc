// SPDX-License-Identifier: Apache-2.0
// What ends a request, and whose a transaction is.
#include "mad/transactions.h"

#include <gtest/gtest.h>

#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using Kind = IncomingMad::Kind;

IncomingMad Came(Kind kind, wire::Method method, uint32_t id) {
  IncomingMad mad;
  mad.kind = kind;
  mad.agent = Agent::kPerf;
  mad.payload.resize(wire::kMadBytes);
  wire::MadHeader header;
  header.management_class = wire::ManagementClass::kPerf;
  header.method = method;
  header.transaction_id = uint64_t{0xABCD} << 32 | id;
  header.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

TEST(Transactions, OnlyAnswersAndReturnedRequestsEndARequest) {
  constexpr uint8_t kGet = 0x01, kGetResp = 0x81, kGetTableResp = 0x92, kTrap = 0x05;
  constexpr uint8_t kTrapRepress = 0x07, kReport = 0x06, kReportResp = 0x86;
  EXPECT_TRUE(EndsRequest(Kind::kReceived, kGetResp));
  EXPECT_TRUE(EndsRequest(Kind::kReceived, kReportResp));
  EXPECT_TRUE(EndsRequest(Kind::kTimedOut, kGet));
  EXPECT_TRUE(EndsRequest(Kind::kSendFailed, kReport));
  EXPECT_FALSE(EndsRequest(Kind::kReceived, kGet));
  EXPECT_FALSE(EndsRequest(Kind::kReceived, kTrap));
  // An RMPP answer of ours that was not acknowledged, and answers that could not be sent.
  EXPECT_FALSE(EndsRequest(Kind::kTimedOut, kGetTableResp));
  EXPECT_FALSE(EndsRequest(Kind::kSendFailed, kGetResp));
  EXPECT_FALSE(EndsRequest(Kind::kSendFailed, kTrapRepress));
}

TEST(Transactions, OthersThanTelemetrysStayBelowItsBit) {
  EXPECT_EQ(NextTransactionId(0), 1u);
  EXPECT_EQ(NextTransactionId(0x7FFFFFFE), 0x7FFFFFFFu);
  EXPECT_EQ(NextTransactionId(0x7FFFFFFF), 1u);
  EXPECT_EQ(NextTransactionId(0xFFFFFFFF), 1u);
  EXPECT_FALSE(IsTelemetryTransaction(TransactionId(0x7FFFFFFF)));
  EXPECT_TRUE(IsTelemetryTransaction(TransactionId(0x80000000)));
}

TEST(Transactions, CompletionsOfTelemetryAreRecognisedForEachAgent) {
  const uint32_t ours = kTelemetryTransactionBit | 7;
  EXPECT_TRUE(IsForTelemetry(Came(Kind::kReceived, wire::Method::kGetResp, ours)));
  EXPECT_TRUE(IsForTelemetry(Came(Kind::kTimedOut, wire::Method::kGet, ours)));
  EXPECT_TRUE(IsForTelemetry(Came(Kind::kSendFailed, wire::Method::kGet, ours)));
  EXPECT_FALSE(IsForTelemetry(Came(Kind::kReceived, wire::Method::kGetResp, 7)));
  // The bit of another program's request is that program's.
  EXPECT_FALSE(IsForTelemetry(Came(Kind::kReceived, wire::Method::kGet, ours)));
  EXPECT_FALSE(IsForTelemetry(Came(Kind::kTimedOut, wire::Method::kGetResp, ours)));
  wire::Smp smp;
  smp.tid = TransactionId(ours);
  smp.path = wire::DirectedPath{1, 2};
  EXPECT_TRUE(IsForTelemetry(Received(AnswerTo(smp))));
  IncomingMad cut = Received(AnswerTo(smp));
  cut.payload.resize(24);
  EXPECT_FALSE(IsForTelemetry(cut));
}

}  // namespace
}  // namespace fabricd::mad
