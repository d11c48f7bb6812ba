// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_snapshot.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/status.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

using testing::HasSubstr;

Contents MakeContents() {
  Contents contents;
  contents.lids = {{Guid(0x10), Lid(4), 2, 77}};
  policy::Hold hold;
  hold.id = 3;
  hold.reason = "a\nb";
  contents.holds = {{hold}, 8};
  contents.rows = {{{"service", "1"}, std::string("\0\xFF", 2)}};
  return contents;
}

TEST(SqliteSnapshot, ReadsBackTheSameContents) {
  const TempDir directory;
  const std::string path = directory.path() + "/backup.db";
  std::ofstream(path) << "an older file";
  ASSERT_TRUE(WriteSnapshot(MakeContents(), "here", path).ok());
  const auto read = ReadSnapshot(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Flatten(*read), Flatten(MakeContents()));
  // One file, and nothing else.
  const std::filesystem::directory_iterator files(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(SqliteSnapshot, ReadsADatabaseThatIsInUse) {
  const TempDir directory;
  const auto store = OpenSqliteStore(directory.path());
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(WriteChanges(**store, Difference({}, Flatten(MakeContents()))).ok());
  const auto read = ReadSnapshot(directory.path() + "/fabricd.db");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Flatten(*read), Flatten(MakeContents()));
  EXPECT_TRUE((*store)->PutMeta("a", "b").ok());
}

TEST(SqliteSnapshot, NamesTheFileThatCannotBeUsed) {
  const TempDir directory;
  const std::string path = directory.path() + "/backup.db";
  EXPECT_EQ(ReadSnapshot(path).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(path) << std::string(8192, 'x');
  EXPECT_EQ(ReadSnapshot(path).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(WriteSnapshot(MakeContents(), "here", path).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const auto newer = ReadSnapshot(path).status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(newer), testing::StartsWith(path + ": schema version 99 is newer"));
  EXPECT_EQ(WriteSnapshot(MakeContents(), "here", directory.path() + "/none/x").code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fabricd::store
