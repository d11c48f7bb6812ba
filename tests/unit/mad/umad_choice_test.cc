// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "mad/umad_transport.h"

namespace fabricd::mad {
namespace {

TEST(UmadChoice, Forms) {
  const auto any = UmadChoice::Parse("umad");
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->device, "");
  EXPECT_EQ(any->port, PortNum(0));
  const auto device = UmadChoice::Parse("umad:mlx5_0");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->device, "mlx5_0");
  EXPECT_EQ(device->port, PortNum(0));
  const auto port = UmadChoice::Parse("umad:mlx5_0:2");
  ASSERT_TRUE(port.ok());
  EXPECT_EQ(port->device, "mlx5_0");
  EXPECT_EQ(port->port, PortNum(2));
}

TEST(UmadChoice, Refused) {
  for (const char* text : {"", "uma", "umadx", "umad:", "umad::1", "umad:mlx5_0:", "umad:mlx5_0:0",
                           "umad:mlx5_0:256", "umad:mlx5_0:1x", "sim:file"}) {
    EXPECT_FALSE(UmadChoice::Parse(text).ok()) << text;
  }
}

TEST(UmadTransport, OnlyAnswersAndReturnedRequestsEndARequest) {
  using Kind = IncomingMad::Kind;
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

}  // namespace
}  // namespace fabricd::mad
