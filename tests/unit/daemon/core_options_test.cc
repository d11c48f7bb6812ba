// SPDX-License-Identifier: Apache-2.0
#include "daemon/core_options.h"

#include <gtest/gtest.h>

#include "config/config.h"
#include "mad/transaction_engine.h"

namespace fabricd::daemon {
namespace {

// Every window that the configuration allows is one that the engine starts with.
TEST(CoreOptionsTest, AnyWindowWillDo) {
  for (const uint32_t window : {1u, 4u, 7u, 8u, 1024u}) {
    config::Config config;
    config.smp.window = config.smp.window_initial = window;
    const auto options = ToCoreOptions(config);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(mad::TransactionEngine(options->smp).statistics().window, window);
  }
}

}  // namespace
}  // namespace fabricd::daemon
