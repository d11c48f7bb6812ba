// SPDX-License-Identifier: Apache-2.0
// What fabricd must remember over restarts. The interface is pure: sqlite_store.h keeps it on disk,
// etcd/etcd_store.h in etcd for several nodes, memory_store.h in memory for the simulator. One
// thread at a time (the store thread, DESIGN §3).
// A write that returned OK survives a crash of the process and of the machine.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/stored_row.h"
#include "fabric/event.h"
#include "fabric/lid_record.h"
#include "policy/hold.h"

namespace fabricd::store {

using fabric::LidRecord;

// An event as history keeps it. The Instants in `event` mean nothing after a restart and are not
// kept: `time_ms` and `begun_ms` stand for them.
struct EventRecord {
  uint64_t number = 0;        // Grows from event to event, within one history.
  int64_t time_ms = 0;        // Since 1970, UTC.
  int64_t begun_ms = 0;       // Of event.reroute.
  std::string instance = {};  // Of the node that recorded it; empty: this one.
  fabric::FabricEvent event;
};

// Which events are wanted; what is left empty or 0 does not restrict.
struct EventQuery {
  uint64_t after = 0;                                    // Only numbers above this one,
  uint64_t up_to = std::numeric_limits<int64_t>::max();  // and up to this one.
  int64_t since_ms = 0;                                  // Only from then on.
  std::vector<std::string> types;
  fabric::EventSubjects about;
  fabric::Severity min_severity = fabric::Severity::kInfo;
  bool own = false;     // Only those that this node has recorded.
  size_t limit = 0;     // At most so many: the first ones,
  bool latest = false;  // or the last ones.
};

// A call that wanted to change something, and what it was answered.
struct AuditRecord {
  uint64_t number = 0;  // Given by the store; grows.
  int64_t time_ms = 0;  // Since 1970, UTC.
  std::string caller, role, method, request, reason, code, message;
  std::string node = {};      // Name of the node that was called.
  std::string instance = {};  // Of the node that recorded it; empty: this one.
  uint64_t origin = 0;        // Its number there; 0: this node has recorded it.
  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

// Which audit records are wanted; what is left empty or 0 does not restrict.
struct AuditQuery {
  uint64_t before = 0;  // Only numbers below this one.
  int64_t since_ms = 0;
  std::string caller;
  std::string method;  // Without its service.
  bool own = false;    // Only those that this node has recorded.
  // Only numbers above this one; `limit` is for the first ones then.
  std::optional<uint64_t> after = {};
  size_t limit = 0;  // At most so many: the last ones.
};

// What was recorded, to be listed.
class History {
 public:
  virtual ~History() = default;

  // By number.
  virtual absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventQuery& query) = 0;
  virtual absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) = 0;
};

// A named value of a store: names the history that its events are numbered in.
inline constexpr char kEventLogKey[] = "events.epoch";

// How this node numbers events, where several nodes record them (docs/HA.md).
struct EventNumbering {
  // Another node records events: this one shows them, and records none.
  bool follows = false;
  // Numbers of a history that nodes share are above this one; up to it, those of before, which each
  // node has for itself.
  uint64_t floor = 0;
  // No number below it from now on; 0: well above the last one.
  uint64_t begin = 0;
};

class Store : public History {
 public:
  struct Claimed {
    bool continues = false;  // sweep::MastershipClaimed
  };
  // This manager is about to become master: takes the right to write the state, where several share
  // it. An error: it must not become master.
  virtual absl::StatusOr<Claimed> Claim() { return Claimed(); }

  // Why durable writes are refused for now; OK: they are not. Any thread.
  virtual absl::Status writable() const { return absl::OkStatus(); }

  // All assignments, by port GUID. DATA_LOSS when what is kept breaks the rules of CheckLids.
  virtual absl::StatusOr<std::vector<LidRecord>> LoadLids() = 0;
  // Writes all records or none; a port that is already known gets the new values. INVALID_ARGUMENT
  // for a record that is no valid assignment, ALREADY_EXISTS when two ports would share a LID
  // afterwards (remove the one that has lost it first).
  virtual absl::Status PutLids(const std::vector<LidRecord>& records) = 0;
  // Forgets ports, all or none; unknown ones are no error.
  virtual absl::Status RemoveLids(const std::vector<Guid>& port_guids) = 0;

  virtual absl::StatusOr<policy::StoredHolds> LoadHolds() = 0;
  // Writes or replaces holds and takes ids out, all or none; an id that is not there is no error.
  // INVALID_ARGUMENT for a hold without an id.
  virtual absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                                   const std::vector<uint64_t>& remove) = 0;

  // Adds events, all or none. ALREADY_EXISTS for a number that was given before. Other than the
  // writes above it survives a crash of the process, not always of the machine.
  virtual absl::Status AppendEvents(const std::vector<EventRecord>& records) = 0;
  virtual EventNumbering event_numbering() const { return {}; }
  // Forgets all but the latest `keep` events, and of these the ones before `since_ms`; never the
  // very last, whose number must not be given again.
  virtual absl::Status TrimEvents(size_t keep, int64_t since_ms) = 0;

  // Adds records, all or none, and numbers them. As durable as AppendEvents().
  virtual absl::Status AppendAudit(const std::vector<AuditRecord>& records) = 0;
  // Forgets all but the latest `keep` records, and of these the ones before `since_ms`.
  virtual absl::Status TrimAudit(size_t keep, int64_t since_ms) = 0;

  // Adds what other nodes have recorded, all or none. What is there already stays as it is: events
  // by their number, audit records by `instance` and `origin`. As durable as AppendEvents().
  virtual absl::Status MergeHistory(const std::vector<EventRecord>& events,
                                    const std::vector<AuditRecord>& audit) = 0;

  // Rows of parts that encode their own state.
  virtual absl::StatusOr<StoredRows> LoadRows() = 0;
  // Writes, replaces and takes out rows, all or none; one to be taken out need not be there.
  virtual absl::Status ChangeRows(const RowChanges& changes) = 0;

  // Single named values of this instance, for example the epoch of its events. Where several nodes
  // share a store, each has its own.
  virtual absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) = 0;
  virtual absl::Status PutMeta(const std::string& key, const std::string& value) = 0;
};

// INVALID_ARGUMENT when a record is no assignment: no port, or LIDs that are not unicast or not
// aligned to the LMC.
absl::Status CheckLid(const LidRecord& record);

// The rules for all records together that both implementations keep: each valid, no LID twice.
// `records` in any order; sorted by base LID on return.
absl::Status CheckLids(std::vector<LidRecord>& records);

}  // namespace fabricd::store
