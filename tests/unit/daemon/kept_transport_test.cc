// SPDX-License-Identifier: Apache-2.0
#include "daemon/kept_transport.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using mad::Incoming;
using mad::LocalPortEvent;
using mad::Transport;

struct Port {
  Transport::Sink sink;
  absl::Status start = absl::OkStatus();
  int starts = 0, stops = 0;

  void Deliver() const {
    Incoming burst[] = {LocalPortEvent{}};
    sink(burst);
  }
};

class Inner final : public Transport {
 public:
  explicit Inner(Port& port) : port_(port) {}
  absl::Status Start(Sink sink) override {
    ++port_.starts;
    port_.sink = std::move(sink);
    return port_.start;
  }
  void Stop() override { ++port_.stops; }
  absl::Status Send(const mad::OutgoingMad&) override { return absl::OkStatus(); }
  absl::Status SetIsSm(bool) override { return absl::OkStatus(); }
  mad::LocalPort local_port() const override { return {}; }

 private:
  Port& port_;
};

class KeptTransportTest : public testing::Test {
 protected:
  Transport::Sink Counting(int& count) {
    return [&count](std::span<Incoming> burst) { count += static_cast<int>(burst.size()); };
  }
  Port port_;
  std::unique_ptr<KeptTransport> transport_ =
      std::make_unique<KeptTransport>(std::make_unique<Inner>(port_));
};

TEST_F(KeptTransportTest, ThePortStaysOpenFromOneUserToTheNext) {
  int first = 0, second = 0;
  ASSERT_TRUE(transport_->Start(Counting(first)).ok());
  port_.Deliver();
  transport_->Stop();
  port_.Deliver();  // For nobody.
  ASSERT_TRUE(transport_->Start(Counting(second)).ok());
  port_.Deliver();
  EXPECT_EQ(std::pair(first, second), std::pair(1, 1));
  EXPECT_EQ(std::pair(port_.starts, port_.stops), std::pair(1, 0));
  transport_.reset();
  EXPECT_EQ(port_.stops, 1);
}

TEST_F(KeptTransportTest, APortThatDidNotStartIsStartedAgain) {
  int count = 0;
  port_.start = absl::UnavailableError("not now");
  EXPECT_EQ(transport_->Start(Counting(count)), port_.start);
  port_.Deliver();
  EXPECT_EQ(count, 0);
  port_.start = absl::OkStatus();
  EXPECT_TRUE(transport_->Start(Counting(count)).ok());
  port_.Deliver();
  EXPECT_EQ(std::pair(port_.starts, count), std::pair(2, 1));
}

TEST_F(KeptTransportTest, StopWaitsForADeliveryAndComesThroughUnderLoad) {
  std::atomic<bool> ends = false, is_used = true;
  std::atomic<int> late = 0;
  ASSERT_TRUE(transport_
                  ->Start([&](std::span<Incoming>) {
                    if (!is_used) ++late;
                  })
                  .ok());
  std::thread receivers[3];
  for (std::thread& each : receivers)
    each = std::thread([&] {
      while (!ends) port_.Deliver();
    });
  transport_->Stop();
  is_used = false;
  ends = true;
  for (std::thread& each : receivers) each.join();
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace fabricd::daemon
