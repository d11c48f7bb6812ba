// SPDX-License-Identifier: Apache-2.0
// What fabricd must remember over restarts. The interface is pure: sqlite_store.h keeps it on disk,
// memory_store.h in memory for the simulator. One thread at a time (the store thread, DESIGN §3).
// A write that returned OK survives a crash of the process and of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"

namespace fabricd::store {

// The LIDs base_lid .. base_lid + 2^lmc - 1 belong to a port (IBA vol 1 §3.5.10, §7.11.1).
struct LidRecord {
  Guid port_guid;
  Lid base_lid;
  uint8_t lmc = 0;        // 0-7
  int64_t last_seen = 0;  // Seconds since 1970 when the port was last part of the fabric.
  friend bool operator==(const LidRecord&, const LidRecord&) = default;
};

class Store {
 public:
  virtual ~Store() = default;

  // All assignments, by port GUID. DATA_LOSS when what is kept breaks the rules of CheckLids.
  virtual absl::StatusOr<std::vector<LidRecord>> LoadLids() = 0;
  // Writes all records or none; a port that is already known gets the new values. INVALID_ARGUMENT
  // for a record that is no valid assignment, ALREADY_EXISTS when two ports would share a LID
  // afterwards (remove the one that has lost it first).
  virtual absl::Status PutLids(const std::vector<LidRecord>& records) = 0;
  // Forgets ports, all or none; unknown ones are no error.
  virtual absl::Status RemoveLids(const std::vector<Guid>& port_guids) = 0;

  // Single named values, for example the sweep generation's epoch.
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
