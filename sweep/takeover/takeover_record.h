// SPDX-License-Identifier: Apache-2.0
// sweep/takeover: what this SM would change of a fabric that another SM has managed, and whether it
// may.
//
// TakeoverRecord: what the store knows of earlier mastership: from which ports this SM has managed
// the subnet, and with which settings; and which reports were accepted. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/stored_row.h"

namespace fabricd::sweep {

struct TakeoverRecord {
  static constexpr size_t kMost = 8;             // Of each list but `accepted`.
  static constexpr size_t kMostAccepted = 1000;  // As many as a report lists.

  // Each in the order in which they were added, the newest last.
  std::vector<Guid> sm_ports;
  std::vector<uint64_t> prefixes;
  std::vector<uint8_t> lmcs;
  std::vector<uint8_t> protect_bits;
  std::vector<std::string> accepted;  // Digests of single changes.
  // Of the options by which the tables are (routing::DigestOf). 0: unknown. kNotRouted: they were
  // another SM's, or by other options, and no sweep has succeeded since.
  static constexpr uint64_t kNotRouted = 1;
  uint64_t routing = 0;
  // When the last sweep as master had ended before another SM won the subnet by its priority, in
  // milliseconds since 1970. nullopt: this SM manages, or was made to give the subnet away.
  std::optional<uint64_t> outvoted;

  // This SM has been master with this store.
  bool WasMaster() const { return !sm_ports.empty(); }
  friend bool operator==(const TakeoverRecord&, const TakeoverRecord&) = default;
};

// Adds `value` as the newest, and drops the oldest if there are more than `most`.
template <typename T>
void NoteNewest(std::vector<T>& list, T value, size_t most = TakeoverRecord::kMost) {
  std::erase(list, value);
  list.push_back(value);
  if (list.size() > most) list.erase(list.begin());
}

// kDataLoss: they are not the output of TakeoverRows(). Rows of other parts are ignored.
absl::StatusOr<TakeoverRecord> LoadTakeover(const StoredRows& rows);
RowChanges TakeoverRows(const TakeoverRecord& record);

}  // namespace fabricd::sweep
