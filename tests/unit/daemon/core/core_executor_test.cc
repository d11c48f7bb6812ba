// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/core_executor.h"

#include <future>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using shell::Queue;

class CoreExecutorTest : public ::testing::Test {
 protected:
  ~CoreExecutorTest() override { Release(); }

  // Occupies the thread of the queue until Release().
  void Occupy(Queue queue) {
    const auto begun = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(executor_.Post(queue, [this, begun] {
      begun->set_value();
      released_.wait();
    }));
    begun->get_future().wait();
  }
  void Release() {
    if (release_) release_->set_value();
    release_.reset();
  }

  StoreThread store_;
  CoreExecutor executor_{store_};
  std::optional<std::promise<void>> release_{std::in_place};
  std::shared_future<void> released_ = release_->get_future().share();
};

class CoreExecutorQueueTest : public CoreExecutorTest,
                              public ::testing::WithParamInterface<Queue> {};

TEST_P(CoreExecutorQueueTest, AQueueThatIsOccupiedHoldsUpNoOther) {
  Occupy(GetParam());
  for (const Queue queue : {Queue::kStore, Queue::kUrgent, Queue::kCompute}) {
    if (queue == GetParam()) continue;
    const auto done = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(executor_.Post(queue, [done] { done->set_value(); }));
    done->get_future().wait();
  }
}

TEST_P(CoreExecutorQueueTest, AFullQueueRefusesJobs) {
  Occupy(GetParam());
  for (size_t i = 0; i < shell::CapacityOf(GetParam()); ++i)
    EXPECT_TRUE(executor_.Post(GetParam(), [] {})) << i;
  EXPECT_FALSE(executor_.Post(GetParam(), [] {}));
}
INSTANTIATE_TEST_SUITE_P(AllQueues, CoreExecutorQueueTest,
                         ::testing::Values(Queue::kStore, Queue::kUrgent, Queue::kCompute));

TEST_F(CoreExecutorTest, WaitingComputationsAreNotBegunAfterCancel) {
  bool was_run = false;
  Occupy(Queue::kUrgent);
  ASSERT_TRUE(executor_.Post(Queue::kUrgent, [&] { was_run = true; }));
  executor_.Cancel();
  Release();
  executor_.Stop();
  EXPECT_FALSE(was_run);
  EXPECT_FALSE(executor_.Post(Queue::kCompute, [] {}));
}

TEST_F(CoreExecutorTest, WaitingWritesAreDoneAfterCancel) {
  bool was_written = false;
  Occupy(Queue::kStore);
  ASSERT_TRUE(executor_.Post(Queue::kStore, [&] { was_written = true; }));
  executor_.Stop();
  Release();
  store_.Stop();
  EXPECT_TRUE(was_written);
}

}  // namespace
}  // namespace fabricd::daemon
