// SPDX-License-Identifier: Apache-2.0
// The audit log of every Store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/unit/store/store_kinds.h"

namespace fabricd::store {
namespace {

using testing::ElementsAre;

class AuditTest : public StoreContract {
 protected:
  static AuditRecord Record(const std::string& caller, const std::string& method, int64_t time) {
    return {0,    time,      caller, "operator",     "fabric.v1.AdminService/" + method,
            "{}", "because", "OK",   "it's \"fine\""};
  }
  std::vector<uint64_t> Numbers(const AuditQuery& query) {
    std::vector<uint64_t> numbers;
    const auto records = store_->ListAudit(query);
    EXPECT_TRUE(records.ok()) << records.status();
    for (const AuditRecord& record : *records) numbers.push_back(record.number);
    return numbers;
  }
};

TEST_P(AuditTest, KeepsAndFinds) {
  AuditRecord first = Record("user:a", "StartSweep", 10);
  ASSERT_TRUE(store_->AppendAudit({first, Record("user:b", "Sweep", 20)}).ok());
  ASSERT_TRUE(store_->AppendAudit({Record("user:a", "ReloadConfig", 30)}).ok());
  first.number = 1;
  EXPECT_EQ(store_->ListAudit({})->front(), first);
  EXPECT_THAT(Numbers({}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Numbers({.before = 3}), ElementsAre(1, 2));
  EXPECT_THAT(Numbers({.since_ms = 20}), ElementsAre(2, 3));
  EXPECT_THAT(Numbers({.caller = "user:a"}), ElementsAre(1, 3));
  EXPECT_THAT(Numbers({.method = "Sweep"}), ElementsAre(2));
  EXPECT_THAT(Numbers({.limit = 2}), ElementsAre(2, 3));
}

TEST_P(AuditTest, KeepsRecordsOfOtherNodesOnce) {
  AuditRecord there = Record("user:b", "Sweep", 20);
  there.node = "head2";
  there.instance = "b";
  there.origin = 1;
  ASSERT_TRUE(store_->AppendAudit({Record("user:a", "Sweep", 10)}).ok());
  ASSERT_TRUE(store_->MergeHistory({}, {there}).ok());
  ASSERT_TRUE(store_->MergeHistory({}, {there}).ok());
  ASSERT_TRUE(store_->AppendAudit({Record("user:a", "Sweep", 30)}).ok());
  EXPECT_EQ(Numbers({}).size(), 3u);
  const auto records = *store_->ListAudit({.own = true, .after = 1, .limit = 1});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].time_ms, 30);
  EXPECT_EQ(Numbers({.own = true, .after = 0}).size(), 2u);
  const auto all = *store_->ListAudit({});
  EXPECT_EQ(all[1].node, "head2");
  EXPECT_EQ(all[1].instance, "b");
  EXPECT_EQ(all[1].origin, 1u);
}

TEST_P(AuditTest, ForgetsTheOldest) {
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(store_->AppendAudit({Record("a", "b", i)}).ok());
  ASSERT_TRUE(store_->TrimAudit(3, 0).ok());
  EXPECT_THAT(Numbers({}), ElementsAre(3, 4, 5));
  ASSERT_TRUE(store_->TrimAudit(3, 100).ok());
  EXPECT_THAT(Numbers({}), ElementsAre());
  ASSERT_TRUE(store_->AppendAudit({Record("a", "b", 6)}).ok());
  EXPECT_THAT(Numbers({}), ElementsAre(6));  // No number is given twice.
}

INSTANTIATE_TEST_SUITE_P(Stores, AuditTest, testing::ValuesIn(StoreKinds()), NameOfKind);

}  // namespace
}  // namespace fabricd::store
