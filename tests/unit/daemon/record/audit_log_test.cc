// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/audit_log.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;

class AuditLogTest : public testing::Test {
 protected:
  void Append(const std::string& caller) {
    store::AuditRecord record;
    record.caller = caller;
    record.method = "fabric.v1.AdminService/StartSweep";
    record.code = "OK";
    log_.Append(record);
  }
  void RunJobs() {
    while (!jobs_.empty()) {
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      job();
    }
  }
  std::vector<std::string> Callers() {
    std::vector<std::string> callers;
    log_.List({}, [&](absl::StatusOr<std::vector<store::AuditRecord>> records) {
      ASSERT_TRUE(records.ok()) << records.status();
      for (const auto& record : *records) callers.push_back(record.caller);
    });
    RunJobs();
    return callers;
  }

  store::MemoryStore store_;
  std::deque<std::function<void()>> jobs_;
  bool full_ = false;
  bool listings_full_ = false;
  AuditLog log_{"head1",
                store_,
                [this](std::function<void()> job) {
                  if (!full_) jobs_.push_back(std::move(job));
                  return !full_;
                },
                {store_,
                 [this](std::function<void()> job) {
                   if (!listings_full_) jobs_.push_back(std::move(job));
                   return !listings_full_;
                 }},
                {.keep = 1500, .pending = 3}};
};

TEST_F(AuditLogTest, RecordsOfOtherNodesAreBoundedToo) {
  for (uint64_t number = 1; number <= 1600; ++number) {
    store::AuditRecord record;
    record.time_ms = WallNowMs();
    record.instance = "other";
    record.origin = number;
    ASSERT_TRUE(store_.MergeHistory({}, {record}).ok());
  }
  EXPECT_TRUE(log_.CatchUp());
  EXPECT_EQ(Callers().size(), 1500u);
}

TEST_F(AuditLogTest, ListsRecordsAppendedBefore) {
  Append("a");
  Append("b");
  EXPECT_EQ(jobs_.size(), 1u);  // One write for both.
  EXPECT_THAT(Callers(), ElementsAre("a", "b"));
}

TEST_F(AuditLogTest, RecordsOfAFullQueueAreWrittenLater) {
  full_ = true;
  Append("a");
  bool refused = false;
  log_.List({}, [&](const auto& records) { refused = !records.ok(); });
  EXPECT_TRUE(refused);
  full_ = false;
  EXPECT_THAT(Callers(), ElementsAre("a"));
}

TEST_F(AuditLogTest, AListingTooManyIsRefusedAndWritesGoOn) {
  listings_full_ = true;
  Append("a");
  bool refused = false;
  log_.List({}, [&](const auto& records) { refused = !records.ok(); });
  RunJobs();
  EXPECT_TRUE(refused);
  listings_full_ = false;
  EXPECT_THAT(Callers(), ElementsAre("a"));
}

TEST_F(AuditLogTest, LostRecordsAreCounted) {
  for (int i = 0; i < 5; ++i) Append("a");
  EXPECT_THAT(Callers(), ElementsAre("a", "a", "a", "fabricd"));
  EXPECT_EQ(store_.ListAudit({})->back().message,
            "2 records came faster than they could be written");
}

TEST_F(AuditLogTest, OldRecordsGo) {
  for (int i = 0; i < 3000; ++i) {
    Append("a");
    RunJobs();
  }
  EXPECT_LE(Callers().size(), 2500u);
  EXPECT_GE(Callers().size(), 1500u);
}

}  // namespace
}  // namespace fabricd::daemon
