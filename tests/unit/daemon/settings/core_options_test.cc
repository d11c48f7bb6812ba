// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/core_options.h"

#include <gtest/gtest.h>

#include "config/config.h"
#include "mad/transaction_engine.h"

namespace fabricd::daemon {
namespace {

// The engine accepts every window that the configuration allows.
TEST(CoreOptionsTest, AnyWindowWillDo) {
  for (const uint32_t window : {1u, 4u, 7u, 8u, 1024u}) {
    config::Config config;
    config.smp.window = config.smp.window_initial = window;
    const auto options = ToCoreOptions(config);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(mad::TransactionEngine(options->smp).statistics().window, window);
  }
}

TEST(CoreOptionsTest, TheWindowsAreTheEngines) {
  config::Config config;
  config.smp = {.window = 99, .window_initial = 11, .window_patient = 3, .window_per_device = 7};
  const auto options = ToCoreOptions(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->smp.window_max, 99u);
  EXPECT_EQ(options->smp.window_initial, 11u);
  EXPECT_EQ(options->smp.window_patient, 3u);
  EXPECT_EQ(options->smp.device_limit, 7u);
}

}  // namespace
}  // namespace fabricd::daemon
