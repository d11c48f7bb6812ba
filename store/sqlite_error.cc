// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_error.h"

#include "common/status.h"

namespace fabricd::store {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error & 0xFF) {
    case SQLITE_CONSTRAINT: return absl::StatusCode::kAlreadyExists;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:  // A table or a column that should be there is not.
      return absl::StatusCode::kDataLoss;
    default: return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status SqliteStatus(sqlite3* db, const std::string& path, int error) {
  return error == SQLITE_OK ? absl::OkStatus() : SqliteFailure(db, path, error);
}

absl::Status SqliteFailure(sqlite3* db, const std::string& path, int error) {
  const char* detail = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(error);
  return MakeStatus(CodeOf(error), "{}: {}", path, detail);
}

}  // namespace fabricd::store
