// SPDX-License-Identifier: Apache-2.0
// The whole daemon in real time: what its threads and queues do to each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "tests/sim/running_app.h"

namespace fabricd::daemon {
namespace {

class AppTest : public RunningApp {
 protected:
  void SetUp() override { Run("superpod:sus=1,hosts=2,rails=2,radix=8"); }
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
  std::promise<void> begun, released;
  app->events().List({}, [&](const auto&) {
    begun.set_value();
    released.get_future().wait();
  });
  begun.get_future().wait();
  bool refused = false;
  while (!refused)
    app->events().List({.types = {"LinkDown"}},
                       [&](const auto& page) { refused = refused || !page.ok(); });
  const absl::Status held = MakeHold();
  EXPECT_TRUE(held.ok()) << held;
  released.set_value();
}

}  // namespace
}  // namespace fabricd::daemon
