// SPDX-License-Identifier: Apache-2.0
// RunningApp: the whole daemon on a simulated fabric in real time, brought up; it ends with the
// test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/config.h"
#include "daemon/app.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {

inline constexpr auto kPatience = std::chrono::seconds(120);

class RunningApp : public testing::Test {
 protected:
  // `listen`: where the API is served, if anywhere.
  void Run(const std::string& topology, const std::vector<std::string>& listen = {},
           const RunOptions& options = {}) {
    config::Config config;
    config.fabric = "sim:" + topology;
    config.state_dir = state_.path();
    config.listen = listen;
    auto made = App::Create(config, options);
    ASSERT_TRUE(made.ok()) << made.status();
    app = *std::move(made);
    runner_ = std::thread([this] { app->Run(); });
    const auto end = std::chrono::steady_clock::now() + kPatience;
    // Its readers poll too: there is nothing in-process that tells of a view.
    while (!app->view()->subnet_up && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(app->view()->subnet_up);
  }
  void End() {
    if (!runner_.joinable()) return;
    app->Stop();
    runner_.join();
  }
  void TearDown() override { End(); }

  store::TempDir state_;
  std::unique_ptr<App> app;
  std::thread runner_;
};

}  // namespace fabricd::daemon
