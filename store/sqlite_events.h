// SPDX-License-Identifier: Apache-2.0
// The tables of the event history, made so that an operator's sqlite3 reads them with ease: what is
// common to all events, their facts, and the costs of reroutes. Each function returns SQLite's
// result code.
#pragma once

#include <vector>

#include <sqlite3.h>

#include "store/store.h"

namespace fabricd::store {

extern const char* const kEventTables;
// A later step.
extern const char* const kEventPeers;
extern const char* const kEventInstances;

int InsertEvents(sqlite3* db, const std::vector<EventRecord>& records);
// Leaves out those whose number is there.
int MergeEvents(sqlite3* db, const std::vector<EventRecord>& records);
int SelectEvents(sqlite3* db, const EventQuery& query, std::vector<EventRecord>* records);
int DeleteEvents(sqlite3* db, size_t keep, int64_t since_ms);

}  // namespace fabricd::store
