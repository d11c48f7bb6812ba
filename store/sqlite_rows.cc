// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_rows.h"

#include "store/sqlite_statement.h"

namespace fabricd::store {

const char* const kRowTables =
    "CREATE TABLE rows ("
    "  part  TEXT NOT NULL,"
    "  key   TEXT NOT NULL,"
    "  value BLOB NOT NULL,"
    "  PRIMARY KEY (part, key)"
    ") STRICT, WITHOUT ROWID;";

int ChangeStoredRows(sqlite3* db, const RowChanges& changes) {
  Statement put(db, "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)");
  Statement erase(db, "DELETE FROM rows WHERE part = ? AND key = ?");
  for (const auto& [key, value] : changes) {
    const int error = value ? put.Bind(key.table).Bind(key.key).BindBytes(*value).Run()
                            : erase.Bind(key.table).Bind(key.key).Run();
    if (error != SQLITE_OK) return error;
  }
  return SQLITE_OK;
}

int SelectStoredRows(sqlite3* db, StoredRows* rows) {
  Statement all(db, "SELECT part, key, value FROM rows");
  while (all.Step()) (*rows)[{all.Text(0), all.Text(1)}] = all.Bytes(2);
  return all.error();
}

}  // namespace fabricd::store
