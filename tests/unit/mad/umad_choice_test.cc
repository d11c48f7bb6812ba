// SPDX-License-Identifier: Apache-2.0
#include "mad/umad_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

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

using enum wire::PortState;

FoundPort Found(const char* device, int port, wire::PortState state, int lid = 0) {
  FoundPort found;
  found.port.local = {device, PortNum(port), Guid(0x1000 + port), Guid(0x1000)};
  found.infiniband = true;
  found.state = state;
  found.lid = Lid(lid);
  return found;
}

TEST(ChoosePort, TakesTheOnlyPortThatIsUp) {
  const std::vector<FoundPort> ports = {Found("mlx5_0", 1, kDown), Found("mlx5_1", 1, kActive, 7)};
  const auto chosen = ChoosePort(ports, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->local.device, "mlx5_1");
}

TEST(ChoosePort, TakesTheFirstWherePortsAreDown) {
  const std::vector<FoundPort> ports = {Found("mlx5_0", 1, kDown), Found("mlx5_1", 1, kDown)};
  const auto chosen = ChoosePort(ports, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->local.device, "mlx5_0");
}

TEST(ChoosePort, RefusesToGuessAmongPortsThatAreUp) {
  FoundPort ethernet = Found("mlx5_2", 1, kActive);
  ethernet.infiniband = false;
  const std::vector<FoundPort> ports = {Found("mlx5_0", 1, kActive, 12), Found("mlx5_1", 2, kInit),
                                        ethernet};
  const auto chosen = ChoosePort(ports, {});
  ASSERT_EQ(chosen.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string text = Message(chosen.status());
  EXPECT_THAT(text, testing::HasSubstr("2 InfiniBand ports are up"));
  EXPECT_THAT(text, testing::HasSubstr("--fabric umad:mlx5_0:1  ACTIVE, LID 12, port GUID 0x"));
  EXPECT_THAT(text, testing::HasSubstr("--fabric umad:mlx5_1:2  INIT, LID 0, port GUID 0x"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("mlx5_2")));
  for (const UmadChoice& named : {UmadChoice{"mlx5_1", PortNum(0)}, {"mlx5_1", PortNum(2)}})
    EXPECT_EQ(ChoosePort(ports, named)->local.device, "mlx5_1");
}

TEST(ChoosePort, RefusesToGuessAmongPortsOfOneDevice) {
  const std::vector<FoundPort> ports = {Found("mlx5_0", 1, kActive), Found("mlx5_0", 2, kActive)};
  EXPECT_EQ(ChoosePort(ports, {"mlx5_0", PortNum(0)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChoosePort(ports, {"mlx5_0", PortNum(2)})->local.port, PortNum(2));
}

}  // namespace
}  // namespace fabricd::mad
