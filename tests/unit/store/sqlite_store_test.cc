// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/status.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

using testing::HasSubstr;

constexpr int kBatch = 64;

std::unique_ptr<Store> MustOpen(const std::string& dir) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(dir);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Sql(const std::string& dir, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir + "/fabricd.db").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

// Opening must fail with a message that names the file, and leave its bytes as they are.
void ExpectRefused(const std::string& dir, absl::StatusCode code, const std::string& message) {
  const std::string path = dir + "/fabricd.db";
  const std::string before = ReadAll(path);
  const absl::Status status = OpenSqliteStore(dir).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(Message(status), HasSubstr(path));
  EXPECT_THAT(Message(status), HasSubstr(message));
  EXPECT_EQ(ReadAll(path), before);
}

std::vector<LidRecord> Batch(int number) {
  std::vector<LidRecord> records;
  for (int i = 0; i < kBatch; ++i) {
    const int lid = 1 + number * kBatch + i;
    records.push_back(LidRecord{Guid(0x1000u + static_cast<unsigned>(lid)),
                                Lid(static_cast<uint16_t>(lid)), 0, number});
  }
  return records;
}

// Runs `body` in a child process and gives it one end of a pipe; returns pid and the other end.
struct Child {
  pid_t pid;
  int pipe;
};
Child StartChild(const std::function<void(int)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, -1};
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

TEST(SqliteStore, RemembersOverReopening) {
  TempDir dir;
  {
    const auto store = MustOpen(dir.path());
    ASSERT_TRUE(store->PutLids(Batch(0)).ok());
    ASSERT_TRUE(store->PutMeta("epoch", "7").ok());
  }
  const auto store = MustOpen(dir.path());
  EXPECT_EQ(*store->LoadLids(), Batch(0));
  EXPECT_EQ(*store->GetMeta("epoch"), "7");
}

TEST(SqliteStore, MakesTheDirectory) {
  TempDir dir;
  EXPECT_NE(MustOpen(dir.path() + "/state"), nullptr);
  const absl::Status status = OpenSqliteStore(dir.path() + "/a/b").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr(dir.path() + "/a/b: No such file"));
}

TEST(SqliteStore, WritesThatReturnedOkSurviveKill) {
  TempDir dir;
  const Child child = StartChild([&](int out) {
    absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(dir.path());
    for (int number = 0; store.ok() && number < 500; ++number) {
      if (!(*store)->PutLids(Batch(number)).ok()) break;
      if (write(out, "x", 1) != 1) break;
    }
    pause();
  });
  ASSERT_GT(child.pid, 0);
  // Killed in the midst of a later batch.
  constexpr int kDurable = 20;
  char byte;
  for (int i = 0; i < kDurable; ++i) ASSERT_EQ(read(child.pipe, &byte, 1), 1);
  kill(child.pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  int durable = kDurable;
  while (read(child.pipe, &byte, 1) == 1) ++durable;
  close(child.pipe);

  const auto store = MustOpen(dir.path());
  ASSERT_NE(store, nullptr);
  const std::vector<LidRecord> lids = *store->LoadLids();
  EXPECT_EQ(lids.size() % kBatch, 0u) << "a batch is all or nothing";
  const int batches = static_cast<int>(lids.size()) / kBatch;
  EXPECT_GE(batches, durable);
  std::vector<LidRecord> expected;
  for (int number = 0; number < batches; ++number) {
    for (const LidRecord& record : Batch(number)) expected.push_back(record);
  }
  EXPECT_EQ(lids, expected);
}

TEST(SqliteStore, ASecondProcessIsRefusedWithThePidOfTheFirst) {
  TempDir dir;
  const Child child = StartChild([&](int out) {
    absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(dir.path());
    if (store.ok() && write(out, "x", 1) == 1) pause();
  });
  ASSERT_GT(child.pid, 0);
  char byte;
  ASSERT_EQ(read(child.pipe, &byte, 1), 1);
  const absl::Status status = OpenSqliteStore(dir.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Message(status),
            fmt::format("{}/fabricd.lock: another fabricd (pid {}) uses this directory", dir.path(),
                        child.pid));
  kill(child.pid, SIGKILL);
  ASSERT_EQ(waitpid(child.pid, nullptr, 0), child.pid);
  close(child.pipe);
  // The lock dies with its process, whatever the file says.
  EXPECT_NE(MustOpen(dir.path()), nullptr);
}

TEST(SqliteStore, ASecondStoreInOneProcessIsRefusedToo) {
  TempDir dir;
  auto store = MustOpen(dir.path());
  EXPECT_EQ(OpenSqliteStore(dir.path()).status().code(), absl::StatusCode::kAborted);
  store.reset();
  EXPECT_NE(MustOpen(dir.path()), nullptr);
}

TEST(SqliteStore, IsInWalModeWithFullSync) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  ASSERT_TRUE(store->PutLids(Batch(0)).ok());
  // The mode is in the file: 2 in both version bytes of the header (SQLite file format §1.3.3).
  const std::string header = ReadAll(dir.path() + "/fabricd.db");
  ASSERT_GT(header.size(), 20u);
  EXPECT_EQ(header[18], 2);
  EXPECT_EQ(header[19], 2);
  EXPECT_FALSE(ReadAll(dir.path() + "/fabricd.db-wal").empty());
}

TEST(SqliteStore, RefusesAFileThatIsNoDatabase) {
  TempDir dir;
  std::ofstream(dir.path() + "/fabricd.db") << std::string(8192, 'x');
  ExpectRefused(dir.path(), absl::StatusCode::kDataLoss, "file is not a database");
}

TEST(SqliteStore, RefusesAnothersDatabase) {
  TempDir dir;
  Sql(dir.path(), "CREATE TABLE recipes (name TEXT)");
  ExpectRefused(dir.path(), absl::StatusCode::kDataLoss, "no database of fabricd");
}

TEST(SqliteStore, RefusesANewerSchema) {
  TempDir dir;
  MustOpen(dir.path()).reset();
  Sql(dir.path(), "PRAGMA user_version=99");
  ExpectRefused(dir.path(), absl::StatusCode::kFailedPrecondition,
                "schema version 99 is newer than this fabricd, which knows 9");
}

TEST(SqliteStore, RefusesADamagedFile) {
  TempDir dir;
  {
    const auto store = MustOpen(dir.path());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->PutLids(Batch(i)).ok());
  }
  std::string bytes = ReadAll(dir.path() + "/fabricd.db");
  ASSERT_GT(bytes.size(), 16384u);
  std::fill(bytes.begin() + 4096, bytes.begin() + 12288, '\x5A');
  std::ofstream(dir.path() + "/fabricd.db", std::ios::binary) << bytes;
  ExpectRefused(dir.path(), absl::StatusCode::kDataLoss, "");
}

TEST(SqliteStore, RefusesRecordsThatNoWriteLeaves) {
  TempDir dir;
  MustOpen(dir.path()).reset();
  Sql(dir.path(),
      "INSERT INTO lids VALUES ('0x0000000000000001', 4, 2, 0), ('0x0000000000000002', 7, 0, 0)");
  {
    const auto store = MustOpen(dir.path());
    const absl::Status status = store->LoadLids().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Message(status), testing::EndsWith("0x0000000000000002 would share LID 7"));
  }
  Sql(dir.path(), "PRAGMA user_version=-1");
  ExpectRefused(dir.path(), absl::StatusCode::kDataLoss, "schema version -1");
}

TEST(SqliteStore, AMissingTableOrAWrongValueIsAnErrorNotAnEmptyFabric) {
  TempDir dir;
  MustOpen(dir.path()).reset();
  Sql(dir.path(), "INSERT INTO lids VALUES ('0xzz', 1, 0, 0)");
  {
    const auto store = MustOpen(dir.path());
    const absl::Status status = store->LoadLids().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Message(status),
              dir.path() + "/fabricd.db: lids: port_guid '0xzz', base_lid 1, lmc 0");
  }
  Sql(dir.path(), "DROP TABLE lids");
  const auto store = MustOpen(dir.path());
  EXPECT_EQ(store->LoadLids().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(store->PutLids(Batch(0))), HasSubstr("no such table: lids"));
  // The failed transaction is over: the next one begins.
  EXPECT_TRUE(store->PutMeta("a", "b").ok());
}

TEST(SqliteHistoryTest, ReadsRecordsOfTheWriterAndWritesNone) {
  const TempDir dir;
  EXPECT_FALSE(OpenSqliteHistory(dir.path()).ok());  // It makes no database.
  const auto store = MustOpen(dir.path());
  auto history = OpenSqliteHistory(dir.path());
  ASSERT_TRUE(history.ok()) << history.status();
  EventRecord event;
  event.number = 4;
  event.event.type = "LinkDown";
  event.event.facts = {{"cause", "trap"}};
  ASSERT_TRUE(store->AppendEvents({event}).ok());
  AuditRecord record;
  record.caller = "ops";
  ASSERT_TRUE(store->AppendAudit({record}).ok());
  const auto events = (*history)->ListEvents({});
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(events->front().event.facts, event.event.facts);
  const auto records = (*history)->ListAudit({});
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->front().caller, "ops");
}

TEST(SqliteStoreTest, AnEmptyFileStartsAsNewWithAWarning) {
  const TempDir dir;
  std::vector<std::string> warnings;
  ASSERT_TRUE(OpenSqliteStore(dir.path(), &warnings).ok());
  EXPECT_TRUE(warnings.empty());  // None was there.
  ASSERT_TRUE(OpenSqliteStore(dir.path(), &warnings).ok());
  EXPECT_TRUE(warnings.empty());  // A good one was.
  std::ofstream(dir.path() + "/fabricd.db", std::ios::trunc);
  for (const char* rest : {"-wal", "-shm"}) unlink((dir.path() + "/fabricd.db" + rest).c_str());
  ASSERT_TRUE(OpenSqliteStore(dir.path(), &warnings).ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("fabricd.db was there, but empty"));
}

// What reaches the disk is counted below SQLite: a default VFS that passes all on.
struct Syncs {
  static inline sqlite3_vfs* below = nullptr;
  static inline int of_log = 0;  // Flushes of write-ahead logs.
  static inline const sqlite3_io_methods* passed_on = nullptr;
  static inline sqlite3_io_methods counting = {};

  static int Sync(sqlite3_file* file, int flags) {
    ++of_log;
    return passed_on->xSync(file, flags);
  }
  static int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    const int error = below->xOpen(below, name, file, flags, out);
    if (error != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return error;
    passed_on = file->pMethods;
    counting = *passed_on;
    counting.xSync = Sync;
    file->pMethods = &counting;
    return error;
  }
};

class SyncTest : public testing::Test {
 protected:
  void SetUp() override {
    Syncs::below = sqlite3_vfs_find(nullptr);
    vfs_ = *Syncs::below;
    vfs_.zName = "counting";
    vfs_.xOpen = Syncs::Open;
    ASSERT_EQ(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1), SQLITE_OK);
    store_ = MustOpen(dir_.path());
  }
  void TearDown() override {
    store_.reset();
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(Syncs::below, 1);
  }
  absl::Status AppendEvent() {
    EventRecord event;
    event.number = ++last_event_;
    return store_->AppendEvents({event});
  }

  TempDir dir_;
  sqlite3_vfs vfs_{};
  std::unique_ptr<Store> store_;
  uint64_t last_event_ = 0;
};

TEST_F(SyncTest, EveryDurableWriteIsOnDiskBeforeItReturns) {
  policy::Hold hold;
  hold.id = 1;
  const std::vector<std::function<absl::Status()>> writes = {
      [&] { return store_->PutLids(Batch(1)); },
      [&] { return store_->RemoveLids({Batch(1)[0].port_guid}); },
      [&] { return store_->ChangeHolds({hold}, {}); },
      [&] {
        return store_->ChangeRows({{{"sa", "key"}, "value"}});
      },
      [&] { return store_->PutMeta("key", "value"); }};
  for (size_t i = 0; i < writes.size(); ++i) {
    ASSERT_TRUE(AppendEvent().ok());
    int before = Syncs::of_log;
    ASSERT_TRUE(AppendEvent().ok());
    EXPECT_EQ(Syncs::of_log, before) << "an event was flushed by itself";
    // Also right after an event whose write failed.
    if (i % 2 == 0) {
      EventRecord known;
      known.number = 1;
      EXPECT_FALSE(store_->AppendEvents({known}).ok());
    }
    before = Syncs::of_log;
    ASSERT_TRUE(writes[i]().ok()) << i;
    EXPECT_GT(Syncs::of_log, before) << "write " << i << " was not flushed";
  }
}

TEST_F(SyncTest, TheWriteAheadLogShrinksAfterALargeWrite) {
  EventRecord event;
  event.event.message = std::string(1 << 20, 'x');
  std::vector<EventRecord> many;
  for (int i = 0; i < 20; ++i) {
    event.number = ++last_event_;
    many.push_back(event);
  }
  const auto log_bytes = [&] {
    struct stat file {};
    return stat((dir_.path() + "/fabricd.db-wal").c_str(), &file) == 0 ? file.st_size : 0;
  };
  ASSERT_TRUE(store_->AppendEvents(many).ok());
  EXPECT_GT(log_bytes(), 20 << 20);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendEvent().ok());
  EXPECT_LE(log_bytes(), 8 << 20);
}

}  // namespace
}  // namespace fabricd::store
