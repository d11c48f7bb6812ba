// SPDX-License-Identifier: Apache-2.0
#include "mad/umad_ports.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fabricd::mad
