// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_audit.h"

#include <algorithm>
#include <limits>
#include <string>

#include "store/sqlite_statement.h"

namespace fabricd::store {

// AUTOINCREMENT: a number is never given again, also when the last records were deleted.
const char* const kAuditTable =
    "CREATE TABLE audit ("
    "  number  INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  time_ms INTEGER NOT NULL,"
    "  caller  TEXT NOT NULL,"
    "  role    TEXT NOT NULL,"
    "  method  TEXT NOT NULL,"
    "  request TEXT NOT NULL,"
    "  reason  TEXT NOT NULL,"
    "  code    TEXT NOT NULL,"
    "  message TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX audit_by_time ON audit (time_ms);";

const char* const kAuditNodes =
    "ALTER TABLE audit ADD COLUMN node TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE audit ADD COLUMN instance TEXT NOT NULL DEFAULT '';"  // Empty: this node.
    "ALTER TABLE audit ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;"
    "CREATE UNIQUE INDEX audit_by_origin ON audit (instance, origin) WHERE instance != '';";

int InsertAudit(sqlite3* db, const std::vector<AuditRecord>& records) {
  Statement put(db,
                "INSERT INTO audit (time_ms, caller, role, method, request, reason, code, message,"
                " node, instance, origin) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (instance, origin) WHERE instance != '' DO NOTHING");
  for (const AuditRecord& record : records) {
    put.Bind(record.time_ms).Bind(record.caller).Bind(record.role).Bind(record.method);
    put.Bind(record.request).Bind(record.reason).Bind(record.code).Bind(record.message);
    put.Bind(record.node).Bind(record.instance);
    if (const int error = put.Bind(static_cast<int64_t>(record.origin)).Run()) return error;
  }
  return SQLITE_OK;
}

int SkipAuditNumbers(sqlite3* db) {
  return sqlite3_exec(db, "UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'audit'",
                      nullptr, nullptr, nullptr);
}

int SelectAudit(sqlite3* db, const AuditQuery& query, std::vector<AuditRecord>* records) {
  std::string sql =
      "SELECT number, time_ms, caller, role, method, request, reason, code, message, node,"
      " instance, origin FROM audit WHERE number < ? AND number > ? AND time_ms >= ?";
  const bool first_ones = query.after.has_value();
  if (query.own) sql += " AND instance = ''";
  if (!query.caller.empty()) sql += " AND caller = ?";
  if (!query.method.empty()) sql += " AND substr(method, -length(?) - 1) = '/' || ?";
  sql += first_ones ? " ORDER BY number LIMIT ?" : " ORDER BY number DESC LIMIT ?";
  Statement rows(db, sql.c_str());
  rows.Bind(query.before == 0 ? std::numeric_limits<int64_t>::max()
                              : static_cast<int64_t>(query.before));
  rows.Bind(static_cast<int64_t>(query.after.value_or(0))).Bind(query.since_ms);
  if (!query.caller.empty()) rows.Bind(query.caller);
  if (!query.method.empty()) rows.Bind(query.method).Bind(query.method);
  rows.Bind(query.limit == 0 ? int64_t{-1} : static_cast<int64_t>(query.limit));
  while (rows.Step()) {
    AuditRecord& record = records->emplace_back();
    record.number = static_cast<uint64_t>(rows.Number(0));
    record.time_ms = rows.Number(1);
    record.caller = rows.Text(2);
    record.role = rows.Text(3);
    record.method = rows.Text(4);
    record.request = rows.Text(5);
    record.reason = rows.Text(6);
    record.code = rows.Text(7);
    record.message = rows.Text(8);
    record.node = rows.Text(9);
    record.instance = rows.Text(10);
    record.origin = static_cast<uint64_t>(rows.Number(11));
  }
  if (!first_ones) std::reverse(records->begin(), records->end());
  return rows.error();
}

int DeleteAudit(sqlite3* db, size_t keep, int64_t since_ms) {
  Statement remove(db,
                   "DELETE FROM audit WHERE time_ms < ? OR number <="
                   " (SELECT max(number) FROM audit) - ?");
  return remove.Bind(since_ms).Bind(static_cast<int64_t>(keep)).Run();
}

}  // namespace fabricd::store
