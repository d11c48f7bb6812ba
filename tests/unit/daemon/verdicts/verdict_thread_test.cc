// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/verdict_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "store/memory_store.h"
#include "tests/unit/daemon/verdicts/verdict_fabric.h"

namespace fabricd::daemon {
namespace {

using ::testing::HasSubstr;

class VerdictThreadTest : public ::testing::Test {
 protected:
  VerdictThreadTest() {
    fabric_.Flap(1);
    options_.interval = std::chrono::milliseconds(20);
    VerdictLinks links;
    links.telemetry = [this] { return fabric_.Inputs().telemetry; };
    links.fabric = [this] { return fabric_.Inputs().fabric; };
    links.post_hold = [](HoldCommand, HoldDone done) { done(absl::OkStatus(), nullptr); };
    links.append_events = [this](std::vector<fabric::FabricEvent> events, Instant) {
      events_ += static_cast<int>(events.size());
    };
    links.on_store = [this](std::function<void(store::Store&)> job) {
      if (is_full_) return false;
      ++writes_;
      job(store_);
      return true;
    };
    thread_ = std::make_unique<VerdictThread>(options_, patterns_, names_, policy::StoredVerdicts(),
                                              std::move(links));
  }
  void WaitForVerdict() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (thread_->view()->Find(fabric_.Leaf(2)) == nullptr &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_NE(thread_->view()->Find(fabric_.Leaf(2)), nullptr);
  }
  using Answer = std::pair<absl::Status, std::shared_ptr<const query::VerdictRecord>>;
  std::future<Answer> Do(VerdictCommand command) {
    auto promise = std::make_shared<std::promise<Answer>>();
    thread_->Do(std::move(command), [promise](absl::Status status, auto record) {
      promise->set_value({std::move(status), std::move(record)});
    });
    return promise->get_future();
  }
  VerdictCommand Acknowledge() const {
    return {VerdictCommand::Kind::kAcknowledge, fabric_.Leaf(2), "ops", "seen", {}};
  }

  VerdictFabric fabric_;
  VerdictOptions options_;
  const fabric::HostPatterns patterns_;
  const fabric::NodeNameMap names_;
  store::MemoryStore store_;
  std::atomic<bool> is_full_ = false;  // The store takes no job.
  std::atomic<int> writes_ = 0;
  std::atomic<int> events_ = 0;
  std::unique_ptr<VerdictThread> thread_;
};

TEST_F(VerdictThreadTest, AnAnswerIsGivenWhenTheRemarkIsDurable) {
  thread_->Start();
  WaitForVerdict();
  const auto [status, record] = Do(Acknowledge()).get();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(record->response.acknowledged->by, "ops");
  thread_->Stop();
  const auto rows = store_.LoadRows();
  const auto stored = policy::LoadVerdicts(*rows);
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->responses.links.size(), 1u);
  EXPECT_EQ(stored->responses.links[0].acknowledged->reason, "seen");
  EXPECT_GE(events_, 2);
}

TEST_F(VerdictThreadTest, ACommandIsRefusedWhileTheQueueOfTheStoreIsFull) {
  thread_->Start();
  WaitForVerdict();
  is_full_ = true;
  EXPECT_THAT(std::string(Do(Acknowledge()).get().first.message()), HasSubstr("queue is full"));
  is_full_ = false;
  EXPECT_TRUE(Do(Acknowledge()).get().first.ok());
}

TEST_F(VerdictThreadTest, NothingIsStoredWithoutAChange) {
  thread_->Start();
  WaitForVerdict();
  ASSERT_TRUE(Do(Acknowledge()).get().first.ok());
  const int writes = writes_;
  const uint64_t number = thread_->view()->number;
  while (thread_->view()->number < number + 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(writes_, writes);
}

TEST_F(VerdictThreadTest, QuestionsAreRefusedOnceItStops) {
  thread_->Start();
  thread_->Stop();
  EXPECT_EQ(Do(Acknowledge()).get().first.code(), absl::StatusCode::kUnavailable);
}

TEST_F(VerdictThreadTest, QuestionsThatWaitAreRefusedWhenItStops) {
  auto waiting = Do(Acknowledge());  // It has not been started.
  thread_->Stop();
  EXPECT_EQ(waiting.get().first.code(), absl::StatusCode::kUnavailable);
}

TEST_F(VerdictThreadTest, OneQuestionTooManyIsRefused) {
  std::vector<std::future<Answer>> waiting;
  for (size_t i = 0; i < VerdictInbox::kMaxQuestions; ++i) waiting.push_back(Do(Acknowledge()));
  EXPECT_EQ(Do(Acknowledge()).get().first.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fabricd::daemon
