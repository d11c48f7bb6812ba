// SPDX-License-Identifier: Apache-2.0
// The whole daemon in real time: what its threads and queues do to each other.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/running_app.h"

namespace fabricd::daemon {
namespace {

constexpr char kFabric[] = "superpod:sus=1,hosts=2,rails=2,radix=8";

class AppTest : public RunningApp {
 protected:
  absl::Status MakeHold() {
    policy::Hold hold;
    hold.kind = policy::HoldKind::kCordon;
    hold.owner = hold.reason = "test";
    hold.target.kind = policy::TargetKind::kHost;
    hold.target.name = "host";
    app->view()->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) hold.target.nodes = {node.guid()};
    });
    const auto answer = std::make_shared<std::promise<absl::Status>>();
    app->PostHold(sweep::CreateHold{0, hold},
                  [answer](const absl::Status& status, const auto&) { answer->set_value(status); });
    auto status = answer->get_future();
    if (status.wait_for(kPatience) != std::future_status::ready)
      return absl::DeadlineExceededError("no answer");
    return status.get();
  }
};

// A listing that takes long, and more behind it than may wait.
TEST_F(AppTest, ListingsHoldUpNoDurableWrite) {
  Run(kFabric);
  std::promise<void> begun, released;
  app->events().List({}, [&](const auto&) {
    begun.set_value();
    released.get_future().wait();
  });
  begun.get_future().wait();
  std::atomic<bool> refused = false;
  while (!refused)
    app->events().List({.types = {"LinkDown"}}, [&](const auto& page) {
      if (!page.ok()) refused = true;
    });
  const absl::Status held = MakeHold();
  EXPECT_TRUE(held.ok()) << held;
  released.set_value();
  End();  // The listings that wait still write to `refused`.
}

// A FIFO without a reader blocks the writer, like a disk that hangs.
TEST_F(AppTest, DumpsHoldUpNoSweep) {
  const store::TempDir dumps;
  const std::string pipe = dumps.path() + "/opensm.fdbs";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Run(kFabric, {}, {.dump_dir = dumps.path()});
  std::promise<absl::Status> answer;
  auto swept = answer.get_future();
  app->PostSweep(true, [&](const absl::Status& status) { answer.set_value(status); });
  EXPECT_EQ(swept.wait_for(kPatience), std::future_status::ready);
  // Opened for both, so that neither this nor the writer waits any longer.
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  std::atomic<bool> ended = false;
  std::thread stopper([&] {
    End();
    ended = true;
  });
  char bytes[65536];
  while (!ended)
    if (read(reader, bytes, sizeof bytes) < 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stopper.join();
  close(reader);
}

}  // namespace
}  // namespace fabricd::daemon
