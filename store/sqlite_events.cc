// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_events.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "common/number_text.h"
#include "store/sqlite_statement.h"

namespace fabricd::store {
namespace {

using fabric::FabricEvent;
using fabric::Reroute;

constexpr int kDone = SQLITE_OK;

int64_t ToNs(Duration duration) { return duration.count(); }

int InsertFacts(Statement& put, const EventRecord& record) {
  int64_t position = 0;
  for (const auto& [key, value] : record.event.facts) {
    put.Bind(static_cast<int64_t>(record.number)).Bind(position++);
    if (const int error = put.Bind(key).Bind(value).Run()) return error;
  }
  return kDone;
}

int InsertReroute(Statement& put, const EventRecord& record) {
  const Reroute& cost = *record.event.reroute;
  put.Bind(static_cast<int64_t>(record.number)).Bind(cost.cause).Bind(cost.engine);
  put.Bind(record.begun_ms).Bind(ToNs(cost.surveyed)).Bind(ToNs(cost.planned));
  put.Bind(ToNs(cost.applied)).Bind(static_cast<int64_t>(cost.smps_sent));
  put.Bind(cost.blocks_written).Bind(cost.switches_written).Bind(cost.destinations_changed);
  return put.Bind(cost.writes_failed).Bind(cost.waves).Bind(cost.superseded).Run();
}

// "?, ?, ?"
std::string Places(size_t count) {
  std::string places;
  for (size_t i = 0; i < count; ++i) places += i == 0 ? "?" : ", ?";
  return places;
}

EventRecord EventOf(const Statement& row) {
  EventRecord record;
  record.number = static_cast<uint64_t>(row.Number(0));
  record.time_ms = row.Number(1);
  record.event.type = row.Text(2);
  record.event.severity = static_cast<fabric::Severity>(
      std::clamp<int64_t>(row.Number(3), 0, static_cast<int64_t>(fabric::Severity::kError)));
  record.event.subject = row.Text(4);
  record.event.node = Guid(ParseHex(row.Text(5)).value_or(0));
  record.event.port = PortNum(static_cast<uint8_t>(row.Number(6)));
  record.event.message = row.Text(7);
  record.event.peer = Guid(ParseHex(row.Text(8)).value_or(0));
  record.event.peer_port = PortNum(static_cast<uint8_t>(row.Number(9)));
  record.instance = row.Text(10);
  return record;
}

Reroute RerouteOf(const Statement& row) {
  Reroute cost;
  cost.cause = row.Text(0);
  cost.engine = row.Text(1);
  cost.surveyed = Duration(row.Number(3));
  cost.planned = Duration(row.Number(4));
  cost.applied = Duration(row.Number(5));
  cost.smps_sent = static_cast<uint64_t>(row.Number(6));
  cost.blocks_written = static_cast<uint32_t>(row.Number(7));
  cost.switches_written = static_cast<uint32_t>(row.Number(8));
  cost.destinations_changed = static_cast<uint32_t>(row.Number(9));
  cost.writes_failed = static_cast<uint32_t>(row.Number(10));
  cost.waves = static_cast<uint32_t>(row.Number(11));
  cost.superseded = row.Number(12) != 0;
  return cost;
}

int AddDetails(sqlite3* db, std::vector<EventRecord>& records) {
  Statement facts(db, "SELECT key, value FROM event_facts WHERE number = ? ORDER BY position");
  Statement reroutes(db,
                     "SELECT cause, engine, begun_ms, surveyed_ns, planned_ns, applied_ns,"
                     " smps_sent, blocks_written, switches_written, destinations_changed,"
                     " writes_failed, waves, superseded FROM reroutes WHERE number = ?");
  for (EventRecord& record : records) {
    facts.Bind(static_cast<int64_t>(record.number));
    while (facts.Step()) record.event.facts.emplace_back(facts.Text(0), facts.Text(1));
    if (const int error = facts.Reset()) return error;
    if (reroutes.Bind(static_cast<int64_t>(record.number)).Step()) {
      record.event.reroute = RerouteOf(reroutes);
      record.begun_ms = reroutes.Number(2);
    }
    if (const int error = reroutes.Reset()) return error;
  }
  return kDone;
}

// fabric::EventSubjects::Has() in SQL.
std::string WhereAbout(const fabric::EventSubjects& about) {
  std::vector<std::string> any;
  for (const char* column : {"node_guid", "peer_guid"})
    if (!about.nodes.empty())
      any.push_back(fmt::format("{} IN ({})", column, Places(about.nodes.size())));
  for (size_t i = 0; i < about.names.size(); ++i)
    any.push_back("instr('↔ ' || subject || '/', ?) > 0 OR instr('↔ ' || subject || ' ', ?) > 0");
  return any.empty() ? "" : fmt::format(" AND ({})", fmt::join(any, " OR "));
}

}  // namespace

const char* const kEventPeers =
    "ALTER TABLE events ADD COLUMN peer_guid TEXT NOT NULL DEFAULT '';"  // Empty: no link.
    "ALTER TABLE events ADD COLUMN peer_port INTEGER NOT NULL DEFAULT 0;";

const char* const kEventInstances =
    "ALTER TABLE events ADD COLUMN instance TEXT NOT NULL DEFAULT '';";  // Empty: this node.

const char* const kEventTables =
    "CREATE TABLE events ("
    "  number    INTEGER PRIMARY KEY,"
    "  time_ms   INTEGER NOT NULL,"
    "  type      TEXT NOT NULL,"
    "  severity  INTEGER NOT NULL,"  // 0 information, 1 warning, 2 error.
    "  subject   TEXT NOT NULL,"
    "  node_guid TEXT NOT NULL,"
    "  port      INTEGER NOT NULL,"
    "  message   TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX events_by_time ON events (time_ms);"
    "CREATE TABLE event_facts ("
    "  number   INTEGER NOT NULL,"
    "  position INTEGER NOT NULL,"
    "  key      TEXT NOT NULL,"
    "  value    TEXT NOT NULL,"
    "  PRIMARY KEY (number, position)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE reroutes ("
    "  number               INTEGER PRIMARY KEY,"
    "  cause                TEXT NOT NULL,"
    "  engine               TEXT NOT NULL,"
    "  begun_ms             INTEGER NOT NULL,"
    "  surveyed_ns          INTEGER NOT NULL,"
    "  planned_ns           INTEGER NOT NULL,"
    "  applied_ns           INTEGER NOT NULL,"
    "  smps_sent            INTEGER NOT NULL,"
    "  blocks_written       INTEGER NOT NULL,"
    "  switches_written     INTEGER NOT NULL,"
    "  destinations_changed INTEGER NOT NULL,"
    "  writes_failed        INTEGER NOT NULL,"
    "  waves                INTEGER NOT NULL,"
    "  superseded           INTEGER NOT NULL"
    ") STRICT;";

int InsertEvents(sqlite3* db, const std::vector<EventRecord>& records) {
  Statement event(db, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement fact(db, "INSERT INTO event_facts VALUES (?, ?, ?, ?)");
  Statement reroute(db, "INSERT INTO reroutes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const EventRecord& record : records) {
    event.Bind(static_cast<int64_t>(record.number)).Bind(record.time_ms);
    event.Bind(record.event.type).Bind(static_cast<int64_t>(record.event.severity));
    event.Bind(record.event.subject).Bind(fmt::format("{}", record.event.node));
    event.Bind(record.event.port.value()).Bind(record.event.message);
    event.Bind(record.event.peer ? fmt::format("{}", record.event.peer) : std::string());
    event.Bind(record.event.peer_port.value());
    if (const int error = event.Bind(record.instance).Run()) return error;
    if (const int error = InsertFacts(fact, record)) return error;
    if (!record.event.reroute) continue;
    if (const int error = InsertReroute(reroute, record)) return error;
  }
  return kDone;
}

int MergeEvents(sqlite3* db, const std::vector<EventRecord>& records) {
  Statement known(db, "SELECT 1 FROM events WHERE number = ?");
  std::vector<EventRecord> missing;
  for (const EventRecord& record : records) {
    if (!known.Bind(static_cast<int64_t>(record.number)).Step()) missing.push_back(record);
    if (const int error = known.Reset()) return error;
  }
  return InsertEvents(db, missing);
}

int SelectEvents(sqlite3* db, const EventQuery& query, std::vector<EventRecord>* records) {
  std::string sql =
      "SELECT number, time_ms, type, severity, subject, node_guid, port, message, peer_guid,"
      " peer_port, instance FROM events"
      " WHERE number > ? AND number <= ? AND time_ms >= ? AND severity >= ?";
  if (!query.types.empty()) sql += fmt::format(" AND type IN ({})", Places(query.types.size()));
  if (query.own) sql += " AND instance = ''";
  sql += WhereAbout(query.about);
  sql += fmt::format(" ORDER BY number {} LIMIT ?", query.latest ? "DESC" : "ASC");
  Statement rows(db, sql.c_str());
  rows.Bind(static_cast<int64_t>(query.after)).Bind(static_cast<int64_t>(query.up_to));
  rows.Bind(query.since_ms);
  rows.Bind(static_cast<int64_t>(query.min_severity));
  for (const std::string& type : query.types) rows.Bind(type);
  for (int end = 0; end < 2; ++end)
    for (const Guid guid : query.about.nodes) rows.Bind(fmt::format("{}", guid));
  for (const std::string& name : query.about.names)
    rows.Bind("↔ " + name + "/").Bind("↔ " + name + " ");
  rows.Bind(query.limit == 0 ? int64_t{-1} : static_cast<int64_t>(query.limit));
  while (rows.Step()) records->push_back(EventOf(rows));
  if (rows.error() != SQLITE_OK) return rows.error();
  if (query.latest) std::reverse(records->begin(), records->end());
  return AddDetails(db, *records);
}

int DeleteEvents(sqlite3* db, size_t keep, int64_t since_ms) {
  // The first number that stays.
  Statement first(db,
                  "SELECT max(coalesce((SELECT number FROM events ORDER BY number DESC"
                  "                     LIMIT 1 OFFSET ?), 0),"
                  "           coalesce((SELECT min(number) FROM events WHERE time_ms >= ?),"
                  "                    (SELECT max(number) FROM events)), 0)");
  first.Bind(static_cast<int64_t>(std::max<size_t>(keep, 1)) - 1).Bind(since_ms);
  if (!first.Step()) return first.error();
  const int64_t number = first.Number(0);
  for (const char* table : {"events", "event_facts", "reroutes"}) {
    Statement remove(db, fmt::format("DELETE FROM {} WHERE number < ?", table).c_str());
    if (const int error = remove.Bind(number).Run()) return error;
  }
  return kDone;
}

}  // namespace fabricd::store
