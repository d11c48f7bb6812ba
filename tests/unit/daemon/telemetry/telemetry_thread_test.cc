// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/telemetry_thread.h"

#include <ctime>
#include <future>

#include <gmock/gmock.h>

#include "common/status.h"
#include "fabric/snapshot_builder.h"

namespace fabricd::daemon {
namespace {

using ::testing::HasSubstr;
using Answer = std::future<absl::Status>;

// Takes nothing, for good.
class RefusingTransport : public mad::Transport {
 public:
  absl::Status Start(Sink) override { return absl::OkStatus(); }
  void Stop() override {}
  absl::Status Send(const mad::OutgoingMad&) override { return Unavailable("not this class"); }
  absl::Status AgentStatus(mad::Agent) const override { return Unavailable("not this class"); }
  absl::Status SetIsSm(bool) override { return absl::OkStatus(); }
  mad::LocalPort local_port() const override { return {}; }
};

// An HCA with a port that is up.
std::shared_ptr<const fabric::FabricSnapshot> Hca() {
  fabric::SnapshotBuilder builder;
  wire::NodeInfo info;
  info.node_type = wire::NodeType::kChannelAdapter;
  info.num_ports = 1;
  info.node_guid = Guid(1);
  info.port_guid = Guid(2);
  info.local_port = PortNum(1);
  const NodeIndex node = builder.PutNode(info);
  wire::PortInfo port;
  port.lid = Lid(1);
  port.port_state = wire::PortState::kActive;
  builder.SetPortInfo({node, PortNum(1)}, port);
  return builder.Build();
}

Answer Poll(TelemetryThread& thread) {
  auto promise = std::make_shared<std::promise<absl::Status>>();
  Answer answer = promise->get_future();
  thread.PollNow([promise](const absl::Status& status) { promise->set_value(status); });
  return answer;
}

class TelemetryThreadTest : public ::testing::Test {
 protected:
  void Start(const telemetry::Options& options, telemetry::State state) {
    thread_ = std::make_unique<TelemetryThread>(options, transport_, [](const auto&) {});
    thread_->OnFabric({Hca(), state});
    thread_->Start();
  }

  RefusingTransport transport_;
  std::unique_ptr<TelemetryThread> thread_;
};

TEST_F(TelemetryThreadTest, APassEndsWhenTheTransportRefusesAllSends) {
  Start({}, telemetry::State::kPolling);
  Answer answer = Poll(*thread_);
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_TRUE(answer.get().ok());
}

// Seconds of all threads.
double CpuTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST_F(TelemetryThreadTest, UsesLittleCpuWithoutPolling) {
  Start({}, telemetry::State::kStandby);
  const double before = CpuTime();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LT(CpuTime() - before, 0.5);
}

TEST_F(TelemetryThreadTest, APassIsRefusedWithoutPolling) {
  Start({}, telemetry::State::kStandby);
  EXPECT_THAT(Message(Poll(*thread_).get()), HasSubstr("telemetry is STANDBY"));
  Start({.enabled = false}, telemetry::State::kPolling);
  EXPECT_THAT(Message(Poll(*thread_).get()), HasSubstr("telemetry is OFF"));
}

}  // namespace
}  // namespace fabricd::daemon
