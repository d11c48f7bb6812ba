// SPDX-License-Identifier: Apache-2.0
// The Store on disk: SQLite in WAL mode with synchronous=FULL, one writer. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "store/store.h"

namespace fabricd::store {

// Opens DIR/fabricd.db, creating the directory's database when there is none, and holds
// DIR/fabricd.lock until the Store is destroyed. An existing file is never replaced:
//   ABORTED              another process holds the lock (its pid is named)
//   FAILED_PRECONDITION  the database was written by a newer fabricd
//   DATA_LOSS            the file is damaged or no database of fabricd
//   UNAVAILABLE          the directory or the file cannot be opened or written
// `warnings`, unless null: what an operator should know of a database that was opened all the same.
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(
    const std::string& state_dir, std::vector<std::string>* warnings = nullptr);

// A second, read-only connection to an open Store's database, for one other thread at a time, so
// that a listing holds up no write. Sees what was written before each call. To be destroyed before
// the Store.
absl::StatusOr<std::unique_ptr<History>> OpenSqliteHistory(const std::string& state_dir);

}  // namespace fabricd::store
