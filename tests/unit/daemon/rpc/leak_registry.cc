// SPDX-License-Identifier: Apache-2.0
// The servers of rpc_test start thousands of threads. LeakSanitizer's table of threads never gives
// an entry back, and moves when it is full; threads that allocate while it moves read unmapped
// memory (gcc 12: ThreadRegistry::GetThreadLocked takes no lock). So the table grows while there is
// one thread, to more entries than are needed.
#include <pthread.h>

#include <gtest/gtest.h>

namespace {

constexpr int kRegistryThreads = 8300;  // Capacities are powers of two: there is room for 16384.

class LeakRegistry : public ::testing::Environment {
  void SetUp() override {
    for (int i = 0; i < kRegistryThreads; ++i) {
      pthread_t thread;
      ASSERT_EQ(pthread_create(
                    &thread, nullptr, [](void* none) { return none; }, nullptr),
                0);
      ASSERT_EQ(pthread_join(thread, nullptr), 0);
    }
  }
};

const auto* const registered = ::testing::AddGlobalTestEnvironment(new LeakRegistry);

}  // namespace
