// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_holds.h"

#include <sstream>

#include <fmt/format.h>

#include "store/hold_text.h"
#include "store/sqlite_statement.h"

namespace fabricd::store {
namespace {

using policy::Hold;

// False: no write of ours leaves such a row.
bool ReadHold(const Statement& row, Hold& hold) {
  hold.id = static_cast<uint64_t>(row.Number(0));
  hold.target.name = row.Text(4);
  hold.owner = row.Text(8);
  hold.reason = row.Text(9);
  hold.created = row.Number(10);
  if (row.Number(11) != 0) hold.expires = row.Number(11);
  hold.request_id = row.Text(12);
  if (row.Number(13) != 0) hold.acknowledged = row.Number(13);
  hold.forced = row.Number(14) != 0;
  hold.lifted = row.Number(15) != 0;
  if (row.Number(16) != 0) hold.ended = row.Number(16);
  hold.fingerprint = static_cast<uint64_t>(row.Number(17));
  hold.delete_request_id = row.Text(18);
  std::istringstream behind(row.Text(19));
  for (std::string name; std::getline(behind, name, '\n');) hold.target.behind.push_back(name);
  return hold.id != 0 && ParseCodes(row.Number(1), row.Number(2), row.Number(3), hold) &&
         ParseGuids(row.Text(5), hold.target.nodes) && ParsePorts(row.Text(6), hold.target.ports) &&
         ParsePorts(row.Text(7), hold.target.facing);
}

int InsertHold(Statement& put, const Hold& hold) {
  put.Bind(static_cast<int64_t>(hold.id)).Bind(static_cast<int64_t>(hold.kind));
  put.Bind(static_cast<int64_t>(hold.mode)).Bind(static_cast<int64_t>(hold.target.kind));
  put.Bind(hold.target.name).Bind(GuidsText(hold.target.nodes)).Bind(PortsText(hold.target.ports));
  put.Bind(PortsText(hold.target.facing)).Bind(hold.owner).Bind(hold.reason).Bind(hold.created);
  put.Bind(hold.expires.value_or(0)).Bind(hold.request_id).Bind(hold.acknowledged.value_or(0));
  put.Bind(int64_t{hold.forced}).Bind(int64_t{hold.lifted}).Bind(hold.ended.value_or(0));
  put.Bind(static_cast<int64_t>(hold.fingerprint)).Bind(hold.delete_request_id);
  return put.Bind(fmt::format("{}", fmt::join(hold.target.behind, "\n"))).Run();
}

}  // namespace

const char* const kHoldTables =
    "CREATE TABLE holds ("
    "  id           INTEGER PRIMARY KEY,"
    "  kind         INTEGER NOT NULL,"  // 1 cordon, 2 drain, 3 isolate, 4 disable.
    "  mode         INTEGER NOT NULL,"  // 0 hard, 1 soft.
    "  target_kind  INTEGER NOT NULL,"  // 1 host, 2 HCA, 3 switch, 4 port, 5 link.
    "  target_name  TEXT NOT NULL,"
    "  nodes        TEXT NOT NULL,"
    "  ports        TEXT NOT NULL,"
    "  facing       TEXT NOT NULL,"
    "  owner        TEXT NOT NULL,"
    "  reason       TEXT NOT NULL,"
    "  created_ms   INTEGER NOT NULL,"
    "  expires_ms   INTEGER NOT NULL,"  // 0: never.
    "  request_id   TEXT NOT NULL,"
    "  acknowledged_ms INTEGER NOT NULL,"  // 0: not yet.
    "  forced       INTEGER NOT NULL,"
    "  lifted       INTEGER NOT NULL"  // 1: deleted, its ports still to be enabled.
    ") STRICT;"
    "CREATE TABLE hold_ids (highest INTEGER NOT NULL) STRICT;"
    "INSERT INTO hold_ids VALUES (0);";

const char* const kEndedHolds =
    "ALTER TABLE holds ADD COLUMN ended_ms INTEGER NOT NULL DEFAULT 0;"  // 0: it is not over.
    "ALTER TABLE holds ADD COLUMN fingerprint INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE holds ADD COLUMN delete_request_id TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE holds ADD COLUMN behind TEXT NOT NULL DEFAULT '';";  // A line each.

int ChangeHoldRows(sqlite3* db, const std::vector<Hold>& put, const std::vector<uint64_t>& remove) {
  Statement insert(
      db,
      "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
      " ?, ?, ?, ?)");
  Statement raise(db, "UPDATE hold_ids SET highest = max(highest, ?)");
  Statement erase(db, "DELETE FROM holds WHERE id = ?");
  for (const Hold& hold : put) {
    if (const int error = InsertHold(insert, hold)) return error;
    if (const int error = raise.Bind(static_cast<int64_t>(hold.id)).Run()) return error;
  }
  for (const uint64_t id : remove)
    if (const int error = erase.Bind(static_cast<int64_t>(id)).Run()) return error;
  return SQLITE_OK;
}

int SelectHolds(sqlite3* db, policy::StoredHolds* holds, std::string* fault) {
  Statement rows(db,
                 "SELECT id, kind, mode, target_kind, target_name, nodes, ports, facing, owner,"
                 " reason, created_ms, expires_ms, request_id, acknowledged_ms, forced, lifted,"
                 " ended_ms, fingerprint, delete_request_id, behind"
                 " FROM holds ORDER BY id");
  while (rows.Step()) {
    Hold& hold = holds->holds.emplace_back();
    if (ReadHold(rows, hold)) continue;
    *fault = fmt::format("holds: the row of id {} is no hold", rows.Number(0));
    return SQLITE_OK;
  }
  if (rows.error() != SQLITE_OK) return rows.error();
  Statement highest(db, "SELECT highest FROM hold_ids");
  if (highest.Step())
    holds->highest_id = static_cast<uint64_t>(highest.Number(0));
  else if (highest.error() == SQLITE_OK)
    *fault = "hold_ids is empty";
  return highest.error();
}

}  // namespace fabricd::store
