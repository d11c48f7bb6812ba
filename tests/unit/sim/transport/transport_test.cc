// SPDX-License-Identifier: Apache-2.0
#include "sim/transport/sim_transport.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

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

TEST_F(TransportTest, SitsWhereItIsTold) {
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

TEST_F(TransportTest, RefusedSendsComeBackAsFailed) {
  mad::OutgoingMad stub = NodeInfoGet({1}, 1, std::chrono::seconds(20));
  stub.agent = mad::Agent::kPerf;
  ASSERT_TRUE(transport->Send(stub).ok());
  const auto arrivals = inbox.WaitFor(1);
  ASSERT_EQ(arrivals.size(), 1u);
  const auto& mad = std::get<mad::IncomingMad>(arrivals[0]);
  EXPECT_EQ(mad.kind, mad::IncomingMad::Kind::kSendFailed);
  EXPECT_EQ(mad.payload, stub.payload);
}

TEST_F(TransportTest, FaultsComeThroughControl) {
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

TEST_F(TransportTest, IsSilentAfterStop) {
  ASSERT_TRUE(transport->Send(NodeInfoGet({1, 8, 8}, 1, std::chrono::milliseconds(1))).ok());
  transport->Stop();
  const size_t heard = inbox.WaitFor(0).size();
  ASSERT_TRUE(transport->Unlink("node0001 mlx5_0", PortNum(1)).ok());
  EXPECT_EQ(inbox.WaitFor(0).size(), heard);
  EXPECT_TRUE(transport->Start(inbox.sink()).ok());
  EXPECT_EQ(inbox.WaitFor(heard + 1).size() > heard, true);
}

}  // namespace
}  // namespace fabricd::sim
