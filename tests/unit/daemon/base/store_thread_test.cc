// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/store_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;

class StoreThreadTest : public ::testing::Test {
 protected:
  // Until Release(), nothing that is posted is run.
  void Hold() {
    std::promise<void> begun;
    ASSERT_TRUE(store_.PostWrite([&] {
      begun.set_value();
      released_.get_future().wait();
    }));
    begun.get_future().wait();
  }
  void Release() { released_.set_value(); }
  StoreThread::Job Note(const std::string& name) {
    return [this, name] { done_.push_back(name); };
  }

  std::promise<void> released_;
  std::vector<std::string> done_;  // By the thread, and read after Stop().
  StoreThread store_;
};

TEST_F(StoreThreadTest, DurableWritesGoBeforeRecords) {
  Hold();
  ASSERT_TRUE(store_.PostRecords(Note("events")));
  ASSERT_TRUE(store_.PostRecords(Note("audit")));
  ASSERT_TRUE(store_.PostWrite(Note("lids")));
  ASSERT_TRUE(store_.PostWrite(Note("holds")));
  Release();
  store_.Stop();
  EXPECT_THAT(done_, ElementsAre("lids", "holds", "events", "audit"));
}

TEST_F(StoreThreadTest, AFullPriorityClassDoesNotBlockTheOther) {
  Hold();
  size_t records = 0, writes = 0;
  while (store_.PostRecords([] {})) ++records;
  EXPECT_EQ(records, StoreThread::kLane);
  while (store_.PostWrite([] {})) ++writes;
  EXPECT_EQ(writes, StoreThread::kLane);
  Release();
  store_.Stop();
  EXPECT_FALSE(store_.PostWrite([] {}));
}

}  // namespace
}  // namespace fabricd::daemon
