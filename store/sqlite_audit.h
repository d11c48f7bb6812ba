// SPDX-License-Identifier: Apache-2.0
// The table of the audit log. Each function returns SQLite's result code.
#pragma once

#include <vector>

#include <sqlite3.h>

#include "store/store.h"

namespace fabricd::store {

extern const char* const kAuditTable;
// A later step.
extern const char* const kAuditNodes;

// Leaves out those of other nodes that are there.
int InsertAudit(sqlite3* db, const std::vector<AuditRecord>& records);
// A power failure may have taken the last records, whose numbers other nodes may have: leaves out
// some numbers. For each start.
int SkipAuditNumbers(sqlite3* db);
int SelectAudit(sqlite3* db, const AuditQuery& query, std::vector<AuditRecord>* records);
int DeleteAudit(sqlite3* db, size_t keep, int64_t since_ms);

}  // namespace fabricd::store
