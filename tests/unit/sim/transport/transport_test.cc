// SPDX-License-Identifier: Apache-2.0
#include "sim/transport/sim_transport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "common/process_clock.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using Arrival = mad::Incoming;

// Collects what the sink is given; waits for a count instead of sleeping.
class Inbox {
 public:
  mad::Transport::Sink sink() {
    return [this](std::span<Arrival> burst) {
      std::lock_guard lock(mutex_);
      std::move(burst.begin(), burst.end(), std::back_inserter(arrivals_));
      changed_.notify_all();
    };
  }
  std::vector<Arrival> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return arrivals_.size() >= count; });
    return arrivals_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;
};

mad::OutgoingMad NodeInfoGet(const wire::DirectedPath& path, uint32_t tid, Duration timeout) {
  wire::Smp smp;
  smp.attribute = wire::AttributeId::kNodeInfo;
  smp.tid = TransactionId(tid);
  smp.path = path;
  return EncodeSmp(smp, timeout);
}

class TransportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = SimTransport::Create(**topology, {});
    ASSERT_TRUE(made.ok()) << made.status();
    transport = *std::move(made);
    ASSERT_TRUE(transport->Start(inbox.sink()).ok());
  }
  absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> topology =
      Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  Inbox inbox;
  std::unique_ptr<SimTransport> transport;
};

TEST_F(TransportTest, NamesItsPort) {
  EXPECT_EQ(transport->local_port().device, "sim");
  EXPECT_EQ(transport->local_port().port, PortNum(1));
  const fabric::Node* node = (*topology)->FindNode(transport->local_port().node_guid);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->description, "node0001 mlx5_0");
  EXPECT_EQ(node->ports[1].guid, transport->local_port().port_guid);
}

TEST_F(TransportTest, SitsOnTheConfiguredHost) {
  auto other = SimTransport::Create(**topology, {.host = "node0003 mlx5_1", .fabric = {}});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*topology)->FindNode((*other)->local_port().node_guid)->description,
            "node0003 mlx5_1");
  EXPECT_EQ(SimTransport::Create(**topology, {.host = "nobody", .fabric = {}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(TransportTest, AnswersEveryRequest) {
  constexpr uint32_t kRequests = 2000;
  for (uint32_t tid = 1; tid <= kRequests; ++tid) {
    ASSERT_TRUE(transport->Send(NodeInfoGet({1, 5, 3, 3}, tid, std::chrono::seconds(20))).ok());
  }
  const auto arrivals = inbox.WaitFor(kRequests);
  ASSERT_EQ(arrivals.size(), kRequests);
  for (uint32_t i = 0; i < kRequests; ++i) {
    const auto& mad = std::get<mad::IncomingMad>(arrivals[i]);
    EXPECT_EQ(mad.kind, mad::IncomingMad::Kind::kReceived);
    EXPECT_EQ(DecodeSmp(mad.payload).tid, TransactionId(i + 1));
  }
  EXPECT_EQ(transport->stats().gets(), kRequests);
}

TEST_F(TransportTest, ReportsTimeOutsInTime) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(transport->Send(NodeInfoGet({1, 8, 8}, 1, std::chrono::milliseconds(60))).ok());
  ASSERT_TRUE(transport->Send(NodeInfoGet({1, 8, 8}, 2, std::chrono::milliseconds(20))).ok());
  const auto arrivals = inbox.WaitFor(2);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(arrivals.size(), 2u);
  const auto& first = std::get<mad::IncomingMad>(arrivals[0]);
  EXPECT_EQ(first.kind, mad::IncomingMad::Kind::kTimedOut);
  EXPECT_EQ(DecodeSmp(first.payload).tid, TransactionId(2));
  EXPECT_EQ(DecodeSmp(std::get<mad::IncomingMad>(arrivals[1]).payload).tid, TransactionId(1));
  EXPECT_GE(took, std::chrono::milliseconds(60));
}

TEST_F(TransportTest, RefusedSendsAreReportedAsFailed) {
  mad::OutgoingMad stub = NodeInfoGet({1}, 1, std::chrono::seconds(20));
  stub.agent = mad::Agent::kPerf;
  ASSERT_TRUE(transport->Send(stub).ok());
  const auto arrivals = inbox.WaitFor(1);
  ASSERT_EQ(arrivals.size(), 1u);
  const auto& mad = std::get<mad::IncomingMad>(arrivals[0]);
  EXPECT_EQ(mad.kind, mad::IncomingMad::Kind::kSendFailed);
  EXPECT_EQ(mad.payload, stub.payload);
}

TEST_F(TransportTest, ControlInjectsFaults) {
  Control& control = *transport;
  EXPECT_EQ(control.ListNodes().size(), (*topology)->node_count());
  EXPECT_EQ(control.ListCables().size(), 16u);
  ASSERT_TRUE(control.Unlink("node0001 mlx5_0", PortNum(1)).ok());
  auto arrivals = inbox.WaitFor(1);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(std::get<mad::LocalPortEvent>(arrivals[0]).kind, mad::LocalPortEvent::Kind::kPortDown);
  EXPECT_EQ(control.Unlink("node0001 mlx5_0", PortNum(1)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(control.Unlink("node0001 mlx5_0", PortNum(2)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(control.Unlink("nobody", PortNum(1)).code(), absl::StatusCode::kNotFound);
  for (const SimCable& cable : control.ListCables()) {
    const bool pulled = cable.a.node == "node0001 mlx5_0" || cable.b.node == "node0001 mlx5_0";
    EXPECT_EQ(cable.plugged, !pulled);
    EXPECT_EQ(cable.up, !pulled);
  }
  ASSERT_TRUE(control.Link("node0001 mlx5_0", PortNum(1)).ok());
  ASSERT_TRUE(transport->Send(NodeInfoGet({1}, 3, std::chrono::seconds(20))).ok());
  arrivals = inbox.WaitFor(2);
  ASSERT_EQ(arrivals.size(), 2u);
  EXPECT_EQ(std::get<mad::IncomingMad>(arrivals[1]).kind, mad::IncomingMad::Kind::kReceived);
}

TEST_F(TransportTest, DeliversNothingAfterStop) {
  ASSERT_TRUE(transport->Send(NodeInfoGet({1, 8, 8}, 1, std::chrono::milliseconds(1))).ok());
  transport->Stop();
  const size_t heard = inbox.WaitFor(0).size();
  ASSERT_TRUE(transport->Unlink("node0001 mlx5_0", PortNum(1)).ok());
  EXPECT_EQ(inbox.WaitFor(0).size(), heard);
  EXPECT_TRUE(transport->Start(inbox.sink()).ok());
  EXPECT_EQ(inbox.WaitFor(heard + 1).size() > heard, true);
}

// Time of the whole process: as before when the test ends.
class ClockTest : public TransportTest {
 protected:
  void TearDown() override { ProcessClock::SetRate(1); }
};

TEST_F(ClockTest, TimeoutsFollowTheClockRate) {
  ASSERT_TRUE(transport->SetClockRate(1000).ok());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(transport->Send(NodeInfoGet({7}, 1, std::chrono::seconds(60))).ok());
  const auto arrivals = inbox.WaitFor(1);
  ASSERT_EQ(arrivals.size(), 1u);
  const auto* mad = std::get_if<mad::IncomingMad>(&arrivals[0]);
  ASSERT_NE(mad, nullptr);
  EXPECT_EQ(mad->kind, mad::IncomingMad::Kind::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
}

TEST_F(ClockTest, TimeNeverJumpsAndWaitsAreShorter) {
  const Instant before = ProcessClock::Now();
  ASSERT_TRUE(transport->SetClockRate(500).ok());
  const Instant at = ProcessClock::Now();
  const auto steady = std::chrono::steady_clock::now();
  EXPECT_GE(at, before);
  EXPECT_LT(at - before, std::chrono::minutes(30));
  EXPECT_EQ(ProcessClock::rate(), 500);
  const auto wait = ProcessClock::ToSteady(at + std::chrono::hours(1)) - steady;
  EXPECT_GT(wait, std::chrono::seconds(6));
  EXPECT_LT(wait, std::chrono::seconds(8));
  EXPECT_EQ(ProcessClock::ToSteady(kNever), std::chrono::steady_clock::time_point::max());
  const Instant last = ProcessClock::Now();
  ASSERT_TRUE(transport->SetClockRate(1).ok());
  EXPECT_GE(ProcessClock::Now(), last);
}

TEST_F(ClockTest, OtherRatesAreRefused) {
  for (double rate : {0.0, -1.0, 0.5, 1001.0, std::nan("")}) {
    EXPECT_EQ(transport->SetClockRate(rate).code(), absl::StatusCode::kInvalidArgument) << rate;
  }
}

TEST_F(TransportTest, ErrorsAndOptionsReachTheDevices) {
  PortErrors errors;
  errors.counts = {{Counter::kRcvErrors, 5}};
  EXPECT_TRUE(transport->SetErrors("su1-rail0-leaf", PortNum(2), errors).ok());
  EXPECT_EQ(transport->SetErrors("su1-rail0-leaf", PortNum(99), errors).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(transport->SetErrors("nowhere", PortNum(1), errors).code(),
            absl::StatusCode::kNotFound);
  errors.rates = BitErrorRates{.raw = 2};
  EXPECT_EQ(transport->SetErrors("su1-rail0-leaf", PortNum(2), errors).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(transport->SetPerformance("su1-rail0-leaf", PerformanceOptions()).ok());
  EXPECT_TRUE(transport->SetPerformance("", PerformanceOptions()).ok());
  EXPECT_EQ(transport->SetPerformance("nowhere", PerformanceOptions()).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fabricd::sim
