// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include "common/number_text.h"
#include "common/status.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_error.h"
#include "store/sqlite_events.h"
#include "store/sqlite_holds.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_statement.h"

namespace fabricd::store {
namespace {

// "fabD" in SQLite's header: another program's database is told apart from an empty one.
constexpr int kApplicationId = 0x66616244;

// The write-ahead log is written back every 4 MiB (SQLite's own 1,000 pages); a transaction that
// made it larger leaves no more than this on disk.
constexpr char kBoundLog[] = "PRAGMA journal_size_limit=8388608";

// Step n brings a database of user_version n to n + 1. Never change one that was released.
// GUIDs are text so that an operator's sqlite3 shows them as everything else does.
const std::array<const char*, 9> kMigrations = {
    "CREATE TABLE lids ("
    "  port_guid TEXT PRIMARY KEY,"
    "  base_lid  INTEGER NOT NULL,"
    "  lmc       INTEGER NOT NULL,"
    "  last_seen INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX lids_by_base ON lids (base_lid);"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
    kEventTables,
    kHoldTables,
    kRowTables,
    kAuditTable,
    kEndedHolds,
    kEventPeers,
    kEventInstances,
    kAuditNodes};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Held as long as the descriptor lives; the kernel releases it when the process dies.
absl::StatusOr<Descriptor> Lock(const std::string& state_dir) {
  const std::string path = state_dir + "/fabricd.lock";
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (file.get() < 0) return Unavailable("{}: {}", path, std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Unavailable("{}: {}", path, std::strerror(errno));
    char pid[16] = {};
    if (pread(file.get(), pid, sizeof pid - 1, 0) < 0) pid[0] = '\0';
    return MakeStatus(absl::StatusCode::kAborted, "{}: another fabricd{} uses this directory", path,
                      pid[0] ? fmt::format(" (pid {})", std::string_view(pid)) : "");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(file.get(), 0) != 0 ||
      pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Unavailable("{}: {}", path, std::strerror(errno));
  }
  return file;
}

// The name of the database survives a crash only once its directory is on disk too.
absl::Status SyncDirectory(const std::string& path) {
  const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || fsync(directory.get()) != 0) {
    return Unavailable("{}: {}", path, std::strerror(errno));
  }
  return absl::OkStatus();
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  ~SqliteStore() override { sqlite3_close(db_); }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  absl::Status Open() {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (const int error = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr)) return Fail(error);
    sqlite3_extended_result_codes(db_, 1);
    // Somebody's sqlite3 shell may hold the file for a moment.
    sqlite3_busy_timeout(db_, 2000);
    absl::StatusOr<int64_t> version = Pragma("user_version");
    if (!version.ok()) return version.status();
    FABRICD_RETURN_IF_ERROR(CheckOwner(*version));
    FABRICD_RETURN_IF_ERROR(UseWriteAheadLog());
    FABRICD_RETURN_IF_ERROR(Use(Sync::kFull));
    FABRICD_RETURN_IF_ERROR(Execute(kBoundLog));
    FABRICD_RETURN_IF_ERROR(CheckIntegrity());
    return Migrate(*version);
  }

  absl::StatusOr<std::vector<LidRecord>> LoadLids() override {
    std::vector<LidRecord> records;
    Statement rows(db_, "SELECT port_guid, base_lid, lmc, last_seen FROM lids ORDER BY port_guid");
    while (rows.Step()) {
      absl::StatusOr<LidRecord> record = RecordOf(rows);
      if (!record.ok()) return record.status();
      records.push_back(*record);
    }
    if (rows.error() != SQLITE_OK) return Fail(rows.error());
    // No write of ours leaves such records, and two ports with one LID would break the fabric.
    std::vector<LidRecord> sorted = records;
    if (const absl::Status rules = CheckLids(sorted); !rules.ok()) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: lids: {}", path_, Message(rules));
    }
    return records;
  }

  absl::Status PutLids(const std::vector<LidRecord>& records) override {
    return Transaction([&]() -> absl::Status {
      Statement put(db_, "INSERT OR REPLACE INTO lids VALUES (?, ?, ?, ?)");
      for (const LidRecord& record : records) {
        FABRICD_RETURN_IF_ERROR(CheckLid(record));
        put.Bind(fmt::format("{}", record.port_guid)).Bind(record.base_lid.value());
        if (const int error = put.Bind(record.lmc).Bind(record.last_seen).Run()) return Fail(error);
      }
      Statement below(db_,
                      "SELECT port_guid, base_lid, lmc, last_seen FROM lids "
                      "WHERE base_lid <= ? AND port_guid != ? ORDER BY base_lid DESC LIMIT 1");
      for (const LidRecord& record : records) {
        FABRICD_RETURN_IF_ERROR(CheckNeighbour(record, below));
      }
      return absl::OkStatus();
    });
  }

  absl::Status RemoveLids(const std::vector<Guid>& port_guids) override {
    return Transaction([&]() -> absl::Status {
      Statement remove(db_, "DELETE FROM lids WHERE port_guid = ?");
      for (const Guid guid : port_guids) {
        if (const int error = remove.Bind(fmt::format("{}", guid)).Run()) return Fail(error);
      }
      return absl::OkStatus();
    });
  }

  absl::StatusOr<policy::StoredHolds> LoadHolds() override {
    policy::StoredHolds stored;
    std::string fault;
    FABRICD_RETURN_IF_ERROR(Checked(SelectHolds(db_, &stored, &fault)));
    if (fault.empty()) return stored;
    return MakeStatus(absl::StatusCode::kDataLoss, "{}: {}", path_, fault);
  }

  absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                           const std::vector<uint64_t>& remove) override {
    for (const policy::Hold& hold : put)
      if (hold.id == 0) return InvalidArgument("a hold without an id");
    return Transaction([&] { return Checked(ChangeHoldRows(db_, put, remove)); });
  }

  absl::StatusOr<StoredRows> LoadRows() override {
    StoredRows rows;
    FABRICD_RETURN_IF_ERROR(Checked(SelectStoredRows(db_, &rows)));
    return rows;
  }

  absl::Status ChangeRows(const RowChanges& changes) override {
    return Transaction([&] { return Checked(ChangeStoredRows(db_, changes)); });
  }

  absl::Status AppendEvents(const std::vector<EventRecord>& records) override {
    return LightTransaction([&] { return Checked(InsertEvents(db_, records)); });
  }

  absl::Status MergeHistory(const std::vector<EventRecord>& events,
                            const std::vector<AuditRecord>& audit) override {
    return LightTransaction([&]() -> absl::Status {
      FABRICD_RETURN_IF_ERROR(Checked(MergeEvents(db_, events)));
      return Checked(InsertAudit(db_, audit));
    });
  }

  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventQuery& query) override {
    std::vector<EventRecord> records;
    FABRICD_RETURN_IF_ERROR(Checked(SelectEvents(db_, query, &records)));
    return records;
  }

  absl::Status TrimEvents(size_t keep, int64_t since_ms) override {
    return Transaction([&] { return Checked(DeleteEvents(db_, keep, since_ms)); });
  }

  absl::Status AppendAudit(const std::vector<AuditRecord>& records) override {
    return LightTransaction([&]() -> absl::Status {
      if (!has_skipped_audit_) FABRICD_RETURN_IF_ERROR(Checked(SkipAuditNumbers(db_)));
      FABRICD_RETURN_IF_ERROR(Checked(InsertAudit(db_, records)));
      has_skipped_audit_ = true;
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override {
    std::vector<AuditRecord> records;
    FABRICD_RETURN_IF_ERROR(Checked(SelectAudit(db_, query, &records)));
    return records;
  }

  absl::Status TrimAudit(size_t keep, int64_t since_ms) override {
    return Transaction([&] { return Checked(DeleteAudit(db_, keep, since_ms)); });
  }

  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    Statement row(db_, "SELECT value FROM meta WHERE key = ?");
    if (row.Bind(key).Step()) return std::optional<std::string>(row.Text(0));
    if (row.error() != SQLITE_OK) return Fail(row.error());
    return std::optional<std::string>();
  }

  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    return Transaction([&] {
      Statement put(db_, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
      return Checked(put.Bind(key).Bind(value).Run());
    });
  }

 private:
  absl::Status Fail(int error) const { return SqliteFailure(db_, path_, error); }
  absl::Status Checked(int error) const { return SqliteStatus(db_, path_, error); }

  absl::Status Execute(const char* sql) {
    return Checked(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr));
  }

  absl::StatusOr<int64_t> Pragma(const char* name) {
    Statement row(db_, fmt::format("PRAGMA {}", name).c_str());
    if (!row.Step()) return Fail(row.error());
    return row.Number(0);
  }

  // Whether the file is ours, and not from the future.
  absl::Status CheckOwner(int64_t version) {
    absl::StatusOr<int64_t> owner = Pragma("application_id");
    if (!owner.ok()) return owner.status();
    if (*owner != kApplicationId) {
      Statement tables(db_, "SELECT count(*) FROM sqlite_schema");
      if (!tables.Step()) return Fail(tables.error());
      if (*owner != 0 || version != 0 || tables.Number(0) != 0) {
        return MakeStatus(absl::StatusCode::kDataLoss, "{}: no database of fabricd", path_);
      }
    }
    if (version < 0) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: schema version {}", path_, version);
    }
    if (version > static_cast<int64_t>(kMigrations.size())) {
      return FailedPrecondition("{}: schema version {} is newer than this fabricd, which knows {}",
                                path_, version, kMigrations.size());
    }
    return absl::OkStatus();
  }

  // A file system without shared memory keeps the old mode and says so only here.
  absl::Status UseWriteAheadLog() {
    Statement row(db_, "PRAGMA journal_mode=WAL");
    if (!row.Step()) return Fail(row.error());
    if (row.Text(0) == "wal") return absl::OkStatus();
    return Unavailable("{}: journal mode {} instead of WAL", path_, row.Text(0));
  }

  // Wrong pages would come to light in the middle of a sweep otherwise. The file is small.
  absl::Status CheckIntegrity() {
    Statement row(db_, "PRAGMA quick_check(1)");
    if (!row.Step()) return Fail(row.error());
    if (row.Text(0) == "ok") return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kDataLoss, "{}: {}", path_, row.Text(0));
  }

  absl::Status Migrate(int64_t version) {
    if (version == static_cast<int64_t>(kMigrations.size())) return absl::OkStatus();
    return Transaction([&]() -> absl::Status {
      for (size_t step = static_cast<size_t>(version); step < kMigrations.size(); ++step) {
        FABRICD_RETURN_IF_ERROR(Execute(kMigrations[step]));
      }
      FABRICD_RETURN_IF_ERROR(
          Execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
      return Execute(fmt::format("PRAGMA user_version={}", kMigrations.size()).c_str());
    });
  }

  absl::StatusOr<LidRecord> RecordOf(const Statement& row) const {
    const std::string text = row.Text(0);
    const auto guid = text.size() == 18 && HasHexPrefix(text) ? ParseHex(text) : std::nullopt;
    const int64_t lid = row.Number(1), lmc = row.Number(2);
    if (!guid || lid < 0 || lid > 0xFFFF || lmc < 0 || lmc > 7) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "{}: lids: port_guid '{}', base_lid {}, lmc {}", path_, text, lid, lmc);
    }
    return LidRecord{Guid(*guid), Lid(static_cast<uint16_t>(lid)), static_cast<uint8_t>(lmc),
                     row.Number(3)};
  }

  // What was on disk before shares no LID, so a new record that does shares one with the port whose
  // base is the next one below its last LID, or that one in turn is new and shares one.
  absl::Status CheckNeighbour(const LidRecord& record, Statement& below) const {
    const int64_t last = record.base_lid.value() + (1 << record.lmc) - 1;
    absl::Status status;
    if (below.Bind(last).Bind(fmt::format("{}", record.port_guid)).Step()) {
      absl::StatusOr<LidRecord> neighbour = RecordOf(below);
      if (!neighbour.ok()) return neighbour.status();
      std::vector<LidRecord> both = {record, *neighbour};
      status = CheckLids(both);
    }
    if (const int error = below.Reset()) return Fail(error);
    return status;
  }

  // How far a COMMIT goes before it returns. kFull: the write-ahead log is on disk. kNormal: it may
  // be lost with the machine; a flush for each event would make what must not be lost wait.
  enum class Sync : uint8_t { kNone, kNormal, kFull };

  // SQLite keeps a level until it is told another one, so each transaction asks for its own: that
  // of a durable write does not depend on how the one before it ended.
  absl::Status Use(Sync level) {
    if (sync_ == level) return absl::OkStatus();
    sync_ = Sync::kNone;
    FABRICD_RETURN_IF_ERROR(
        Execute(level == Sync::kFull ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    // SQLite says OK to what it does not do.
    absl::StatusOr<int64_t> in_force = Pragma("synchronous");
    if (!in_force.ok()) return in_force.status();
    if (*in_force != (level == Sync::kFull ? 2 : 1))
      return Unavailable("{}: synchronous={} stays in force", path_, *in_force);
    sync_ = level;
    return absl::OkStatus();
  }

  template <typename Body>
  absl::Status Transaction(Body body, Sync level = Sync::kFull) {
    FABRICD_RETURN_IF_ERROR(Use(level));
    FABRICD_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
    absl::Status status = body();
    if (status.ok()) status = Execute("COMMIT");
    if (!status.ok() && sqlite3_get_autocommit(db_) == 0) {
      // Should this fail too, the next BEGIN does, and says so.
      sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    return status;
  }

  template <typename Body>
  absl::Status LightTransaction(Body body) {
    return Transaction(std::move(body), Sync::kNormal);
  }

  const std::string path_;
  const Descriptor lock_;
  sqlite3* db_ = nullptr;
  Sync sync_ = Sync::kNone;         // What is in force, where that is known.
  bool has_skipped_audit_ = false;  // SkipAuditNumbers(), in this life.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& state_dir,
                                                       std::vector<std::string>* warnings) {
  if (mkdir(state_dir.c_str(), 0750) != 0 && errno != EEXIST) {
    return Unavailable("{}: {}", state_dir, std::strerror(errno));
  }
  absl::StatusOr<Descriptor> lock = Lock(state_dir);
  if (!lock.ok()) return lock.status();
  const std::string path = state_dir + "/fabricd.db";
  struct stat file {};
  if (warnings != nullptr && stat(path.c_str(), &file) == 0 && file.st_size == 0) {
    warnings->push_back(fmt::format(
        "{} was there, but empty: it starts as new, and LIDs, holds and partitions that "
        "were stored are not known",
        path));
  }
  auto store = std::make_unique<SqliteStore>(path, *std::move(lock));
  FABRICD_RETURN_IF_ERROR(store->Open());
  FABRICD_RETURN_IF_ERROR(SyncDirectory(state_dir));
  return store;
}

}  // namespace fabricd::store
