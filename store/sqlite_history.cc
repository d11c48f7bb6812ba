// SPDX-License-Identifier: Apache-2.0
// The read-only connection of OpenSqliteHistory().
#include <memory>
#include <string>
#include <utility>

#include <sqlite3.h>

#include "common/status.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_error.h"
#include "store/sqlite_events.h"
#include "store/sqlite_store.h"

namespace fabricd::store {
namespace {

class SqliteHistory final : public History {
 public:
  explicit SqliteHistory(std::string path) : path_(std::move(path)) {}
  ~SqliteHistory() override { sqlite3_close(db_); }
  SqliteHistory(const SqliteHistory&) = delete;
  SqliteHistory& operator=(const SqliteHistory&) = delete;

  absl::Status Open() {
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    const int error = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
    FABRICD_RETURN_IF_ERROR(SqliteStatus(db_, path_, error));
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_busy_timeout(db_, 2000);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventQuery& query) override {
    std::vector<EventRecord> records;
    FABRICD_RETURN_IF_ERROR(Read([&] { return SelectEvents(db_, query, &records); }));
    return records;
  }
  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override {
    std::vector<AuditRecord> records;
    FABRICD_RETURN_IF_ERROR(Read([&] { return SelectAudit(db_, query, &records); }));
    return records;
  }

 private:
  // One state of the database for all of a listing's statements: a trim goes on meanwhile.
  template <typename Body>
  absl::Status Read(Body body) {
    FABRICD_RETURN_IF_ERROR(Execute("BEGIN"));
    const absl::Status status = SqliteStatus(db_, path_, body());
    const absl::Status ended = Execute("COMMIT");
    return status.ok() ? ended : status;
  }
  absl::Status Execute(const char* sql) {
    return SqliteStatus(db_, path_, sqlite3_exec(db_, sql, nullptr, nullptr, nullptr));
  }

  const std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<History>> OpenSqliteHistory(const std::string& state_dir) {
  auto history = std::make_unique<SqliteHistory>(state_dir + "/fabricd.db");
  FABRICD_RETURN_IF_ERROR(history->Open());
  return history;
}

}  // namespace fabricd::store
