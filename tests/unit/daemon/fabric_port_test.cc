// SPDX-License-Identifier: Apache-2.0
#include "daemon/fabric_port.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include "common/status.h"
#include "mad/wire/mad_header.h"

namespace fabricd::daemon {
namespace {

constexpr char kSmallFabric[] = "sim:superpod:sus=1,hosts=1,rails=1";

TEST(FabricPort, NamesAFabricThatCannotBeOpened) {
  const auto unknown = FabricPort::Open("sim:nowhere", SmMode::kManage);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(unknown.status()).find("nowhere"), std::string::npos);
  EXPECT_FALSE(FabricPort::Open("umad:no_such_device:1", SmMode::kManage).ok());
}

TEST(FabricPortDeathTest, OneThatWaitsSendsNoSetAndTheManagerAfterItDoes) {
  const auto port = *FabricPort::Open(kSmallFabric, SmMode::kManage);
  mad::OutgoingMad set;
  set.payload.resize(wire::kMadBytes);
  set.payload[3] = static_cast<uint8_t>(wire::Method::kSet);
  const auto ignore = [](std::span<mad::Incoming>) {};
  EXPECT_DEATH((void)port->Use(SmMode::kStandby).Send(set), "in standby mode");
  mad::Transport& manager = port->Use(SmMode::kManage);
  ASSERT_TRUE(manager.Start(ignore).ok());
  EXPECT_TRUE(manager.Send(set).ok());
  manager.Stop();
}

TEST(FabricPort, ASimulatedFabricStaysTheSame) {
  const auto port = *FabricPort::Open(kSmallFabric, SmMode::kManage);
  sim::Control* const control = port->sim_control();
  ASSERT_NE(control, nullptr);
  mad::Transport& first = port->Use(SmMode::kManage);
  ASSERT_TRUE(first.Start([](std::span<mad::Incoming>) {}).ok());
  const auto nodes = control->ListNodes().size();
  EXPECT_GT(nodes, 1u);
  first.Stop();
  mad::Transport& second = port->Use(SmMode::kManage);
  ASSERT_TRUE(second.Start([](std::span<mad::Incoming>) {}).ok());
  EXPECT_EQ(control->ListNodes().size(), nodes);
  EXPECT_EQ(second.local_port().port_guid, first.local_port().port_guid);
}

// The port goes on without a user: the next one is not kept waiting, and gets nothing of before.
TEST(FabricPort, AnAnswerThatComesBetweenTwoUsersIsDropped) {
  const auto port = *FabricPort::Open(kSmallFabric, SmMode::kManage);
  mad::OutgoingMad request;
  request.payload.resize(wire::kMadBytes);
  request.payload[3] = static_cast<uint8_t>(wire::Method::kGet);
  request.timeout = std::chrono::milliseconds(10);  // Nobody answers it.
  mad::Transport& first = port->Use(SmMode::kManage);
  ASSERT_TRUE(first.Start([](std::span<mad::Incoming>) {}).ok());
  first.Stop();
  ASSERT_TRUE(first.Send(request).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::atomic<int> arrived = 0;
  mad::Transport& second = port->Use(SmMode::kManage);
  ASSERT_TRUE(second
                  .Start([&](std::span<mad::Incoming> burst) {
                    for (const mad::Incoming& each : burst)
                      arrived += std::holds_alternative<mad::IncomingMad>(each);
                  })
                  .ok());
  ASSERT_TRUE(second.Send(request).ok());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (arrived == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  second.Stop();
  EXPECT_EQ(arrived, 1) << "its own";
}

}  // namespace
}  // namespace fabricd::daemon
