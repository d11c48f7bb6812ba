// SPDX-License-Identifier: Apache-2.0
// SQLite's result codes as absl::Status, with the file and SQLite's own words.
#pragma once

#include <string>

#include <absl/status/status.h>
#include <sqlite3.h>

namespace fabricd::store {

// `error` of a call on `db`, which may be null; SQLITE_OK is OK. A broken constraint is
// ALREADY_EXISTS, a damaged file DATA_LOSS, all else UNAVAILABLE.
absl::Status SqliteStatus(sqlite3* db, const std::string& path, int error);
// The same where no error was found, yet something that must be there is not.
absl::Status SqliteFailure(sqlite3* db, const std::string& path, int error);

}  // namespace fabricd::store
