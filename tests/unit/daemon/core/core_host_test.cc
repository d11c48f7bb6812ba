// SPDX-License-Identifier: Apache-2.0
// The core's thread with a simulated fabric in real time.
#include "daemon/core/core_host.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/smp.h"
#include "sim/fabric/topology.h"
#include "sim/transport/sim_transport.h"
#include "store/memory_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

// Hands answers to the inbox, and keeps the last view.
class Listener final : public shell::Listener {
 public:
  explicit Listener(Inbox& inbox) : inbox_(inbox) {}
  void OnLog(sweep::LogRecord) override {}
  void OnPublished(std::shared_ptr<const sweep::FabricView> view, std::vector<fabric::FabricEvent>,
                   Instant) override {
    if (view) last = std::move(view);
  }
  void OnFinished(sweep::FinishedCommand finished) override { ended.push_back(finished.command); }
  void OnAnswer(sweep::Answer answer) override { inbox_.PushAnswer(std::move(answer)); }

  std::shared_ptr<const sweep::FabricView> last = sweep::EmptyView();
  std::vector<uint64_t> ended;

 private:
  Inbox& inbox_;
};

class CoreHostTest : public ::testing::Test {
 protected:
  CoreHostTest() : transport_(Open()) {}
  ~CoreHostTest() override {
    inbox_.Close();
    transport_->Stop();
    store_thread_.Stop();
  }
  static std::unique_ptr<sim::SimTransport> Open() {
    const auto topology = sim::MakeTopology("superpod:sus=1,hosts=2,rails=2,radix=8");
    return *sim::SimTransport::Create(**topology, {});
  }
  void Make(std::unique_ptr<FlightRecorder> recorder = nullptr) {
    shell::CoreInputs inputs;
    inputs.local = transport_->local_port();
    host_ = std::make_unique<CoreHost>(
        inputs, CoreHost::Links{*transport_, store_, store_thread_, inbox_, listener_, fence_},
        std::move(recorder));
    ASSERT_TRUE(transport_
                    ->Start([this](std::span<mad::Incoming> burst) {
                      for (mad::Incoming& what : burst)
                        if (auto* mad = std::get_if<mad::IncomingMad>(&what))
                          inbox_.PushReply(std::move(*mad));
                    })
                    .ok());
  }
  // Runs the core's loop until `done`, for two minutes at most.
  template <typename Done>
  void RunUntil(Done done) {
    const auto end = Clock::now() + std::chrono::minutes(2);
    host_->Run([&](const sweep::Core&) { return !done() && Clock::now() < end; });
    EXPECT_TRUE(done());
  }

  store::MemoryStore store_;
  Inbox inbox_;
  Listener listener_{inbox_};
  std::unique_ptr<sim::SimTransport> transport_;
  StoreThread store_thread_;
  std::optional<shell::WriteFence::Witnesses> fence_;
  std::unique_ptr<CoreHost> host_;
};

TEST_F(CoreHostTest, BringsUpAFabricAndStoresItsLids) {
  Make();
  RunUntil([&] { return listener_.last->subnet_up; });
  transport_->Stop();
  host_->StopComputing();
  store_thread_.Stop();
  EXPECT_THAT(*store_.LoadLids(), Not(IsEmpty()));
}

TEST_F(CoreHostTest, FinishesCommands) {
  Make();
  ASSERT_TRUE(inbox_.PushCommand(sweep::SweepCommand{7, true}));
  RunUntil([&] { return !listener_.ended.empty(); });
  EXPECT_EQ(listener_.ended[0], 7u);
}

TEST_F(CoreHostTest, RecordsTheStepsOfTheCore) {
  const store::TempDir folder;
  auto recorder = FlightRecorder::Open(folder.path(), uint64_t{1} << 24, "test", 1);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  Make(*std::move(recorder));
  RunUntil([&] { return listener_.last->subnet_up; });
  host_->StopRecording();
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    bytes += entry.file_size();
  EXPECT_GT(bytes, 1000u);
}

TEST_F(CoreHostTest, SaysSoAfterItWasStopped) {
  shell::WriteFence::Time now = std::chrono::hours(1);
  int64_t epoch = 3;
  fence_ =
      shell::WriteFence::Witnesses{[&] { return now; }, [&] { return epoch; }, [] { return true; }};
  Make();
  bool was_up = false;
  RunUntil([&] {
    if (listener_.last->subnet_up && !was_up) {
      was_up = true;
      now += std::chrono::seconds(20);
      epoch = 0;
    }
    return host_->pause().has_value();
  });
  EXPECT_TRUE(was_up);
  EXPECT_EQ(host_->pause(), std::chrono::seconds(20));
}

// Counts what is sent.
class Counter final : public mad::Transport {
 public:
  absl::Status Start(Sink) override { return absl::OkStatus(); }
  void Stop() override {}
  absl::Status Send(const mad::OutgoingMad&) override {
    ++sent;
    return absl::OkStatus();
  }
  absl::Status SetIsSm(bool) override { return absl::OkStatus(); }
  mad::LocalPort local_port() const override { return {}; }

  int sent = 0;
};

mad::OutgoingMad SmpOf(wire::Method method) {
  wire::Smp smp;
  smp.method = method;
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kSmpLid;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

TEST(TransportNetwork, AClosedFenceStopsSetsOfSmpsAlone) {
  shell::WriteFence::Time now = std::chrono::hours(1);
  shell::WriteFence fence{{[&] { return now; }, [] { return 0; }, [] { return false; }}};
  Counter transport;
  TransportNetwork network(transport, &fence);
  fence.BeginTurn();
  EXPECT_TRUE(network.Send(SmpOf(wire::Method::kSet)).ok());
  now += std::chrono::seconds(2);
  EXPECT_EQ(network.Send(SmpOf(wire::Method::kSet)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(transport.sent, 1);
  EXPECT_TRUE(network.Send(SmpOf(wire::Method::kGet)).ok());
  TransportNetwork unfenced(transport, nullptr);
  EXPECT_TRUE(unfenced.Send(SmpOf(wire::Method::kSet)).ok());
  EXPECT_EQ(transport.sent, 3);
}

}  // namespace
}  // namespace fabricd::daemon
