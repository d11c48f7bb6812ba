// SPDX-License-Identifier: Apache-2.0
// The tables of holds: one row for each, ports and GUIDs as text that operators read, and the
// highest id that was ever given. The functions on databases return SQLite's result code.
#pragma once

#include <cstdint>
#include <vector>

#include <sqlite3.h>

#include "store/store.h"

namespace fabricd::store {

extern const char* const kHoldTables;
// A later step.
extern const char* const kEndedHolds;

int ChangeHoldRows(sqlite3* db, const std::vector<policy::Hold>& put,
                   const std::vector<uint64_t>& remove);
// `fault` says what is wrong with a row that no write of ours leaves; else it stays empty.
int SelectHolds(sqlite3* db, policy::StoredHolds* holds, std::string* fault);

}  // namespace fabricd::store
