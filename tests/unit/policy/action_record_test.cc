// SPDX-License-Identifier: Apache-2.0
#include "policy/action_record.h"

#include <gtest/gtest.h>

namespace fabricd::policy {
namespace {

StoredRows RowsOf(const ActionRecord& record) {
  StoredRows rows;
  for (const auto& [key, value] : ActionRows(record)) {
    if (value) rows[key] = *value;
  }
  return rows;
}

TEST(ActionRecord, ComesBackFromItsRows) {
  ActionRecord record;
  const HeldPort leaf{Guid(0x02C9'0001'0000'0001), PortNum(3)}, spine{Guid(0x1), PortNum(254)};
  record.suppressed = {{leaf, spine, 3871.125, 1'800'000'000'000, 6}, {spine, leaf, 0.5, 0, 1}};
  record.releases = {{leaf, 1'800'000'000'000}, {spine, 1'800'000'000'001}};
  record.breaker_tripped = true;
  const auto loaded = LoadActions(RowsOf(record));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, record);
}

TEST(ActionRecord, AnEmptyOneHasNoRows) {
  EXPECT_TRUE(RowsOf({}).empty());
  EXPECT_EQ(ActionRows({}).size(), 3u) << "those of before are deleted";
  const auto loaded = LoadActions({{{"service", "x"}, "y"}});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, ActionRecord());
}

TEST(ActionRecord, DamagedRowsAreNamed) {
  for (const char* line :
       {"?", "0x1/1 0x2/1 3000 5", "0x1/1 0x2/1 3000 5 4 3", "0x1/1 0x2 3000 5 4",
        "0x1/1 0x2/1 nan 5 4", "0x1/1 0x2/1 -1 5 4", "0x1/1 0x2/1 3000 -5 4",
        "0x1/1 0x2/1 3000 9000000000000000000 4", "0x1/1 0x2/1 3000 5 4\n\n"}) {
    const auto loaded = LoadActions({{{"action", "suppressed"}, line}});
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << line;
  }
  for (const char* line : {"0x1/1", "0x1/1 x", "0x1/256 5"})
    EXPECT_FALSE(LoadActions({{{"action", "releases"}, line}}).ok()) << line;
}

}  // namespace
}  // namespace fabricd::policy
