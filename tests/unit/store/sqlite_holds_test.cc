// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/status.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

using testing::HasSubstr;

TEST(SqliteHolds, ARowThatIsNoHoldIsDataLoss) {
  for (const char* spoil : {"UPDATE holds SET kind = 9", "UPDATE holds SET nodes = 'leaf1'",
                            "UPDATE holds SET ports = '0x7'", "UPDATE holds SET facing = '0x7/256'",
                            "DELETE FROM hold_ids"}) {
    TempDir dir;
    {
      auto store = OpenSqliteStore(dir.path());
      ASSERT_TRUE(store.ok());
      policy::Hold hold;
      hold.id = 1;
      ASSERT_TRUE((*store)->ChangeHolds({hold}, {}).ok());
    }
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((dir.path() + "/fabricd.db").c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, spoil, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    auto store = OpenSqliteStore(dir.path());
    ASSERT_TRUE(store.ok());
    EXPECT_EQ((*store)->LoadHolds().status().code(), absl::StatusCode::kDataLoss) << spoil;
    EXPECT_THAT(Message((*store)->LoadHolds().status()), HasSubstr("hold"));
  }
}

}  // namespace
}  // namespace fabricd::store
