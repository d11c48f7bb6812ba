// SPDX-License-Identifier: Apache-2.0
// The table of rows that parts encode themselves (common/stored_row.h). Part of sqlite_store.
#pragma once

#include <sqlite3.h>

#include "common/stored_row.h"

namespace fabricd::store {

extern const char* const kRowTables;

// These return an SQLite code; the caller has the transaction.
int ChangeStoredRows(sqlite3* db, const RowChanges& changes);
int SelectStoredRows(sqlite3* db, StoredRows* rows);

}  // namespace fabricd::store
