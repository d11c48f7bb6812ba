// SPDX-License-Identifier: Apache-2.0
// RecordedTables: what the master has recorded of forwarding tables, in the state that several
// nodes share: a digest of each table that switches were confirmed to hold, and the changes before
// and since. With it a node that has read the tables itself, or has computed the same ones, knows
// which blocks it need not read when it takes over.
//
// Rows of the table `switch_tables`:
//
//   digests/N      lines "GUID DIGEST", up to kSwitchesOfRow of them
//   base           number of the last change that the digests include
//   changes/SLOT   of each change its number, then lines "GUID BLOCKS ENTRIES": see TableChange
//
// And `tables/window`: the learned window, in SMPs; and `tables/0`, empty: a release that knows
// only the table `tables` overwrites or deletes it as master, and then the rest is old.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/stored_row.h"
#include "routing/plan/row.h"
#include "sweep/interface/switch_tables.h"

namespace fabricd::shell {

// Of the entries up to the last route.
uint64_t DigestOf(const routing::Row& row);

// What one run of the master writes. It may be superseded before it has written all of it.
struct TableChange {
  struct Entry {
    uint16_t lid = 0;
    uint8_t before = 0, after = 0;  // Egress port.
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct OfSwitch {
    std::vector<uint16_t> blocks;  // Written, whatever their entries are.
    std::vector<Entry> entries;    // That differ from the plan before.
    friend bool operator==(const OfSwitch&, const OfSwitch&) = default;
  };
  std::map<Guid, OfSwitch> switches;  // By NodeGUID.
  friend bool operator==(const TableChange&, const TableChange&) = default;
};

struct RecordedTables {
  static constexpr size_t kSlots = 64;
  static constexpr size_t kSwitchesOfRow = 4096;
  // Of a record: as many as a subnet's unicast LIDs could name.
  static constexpr size_t kDigestRows = 0xC000 / kSwitchesOfRow;
  static RowKey DigestKey(size_t row);
  static RowKey BaseKey();
  static RowKey ChangesKey(size_t slot);
  static RowKey WindowKey();
  static RowKey MarkKey();

  absl::flat_hash_map<Guid, uint64_t> digests;  // By NodeGUID. Empty: no record stands.
  uint64_t base = 0;
  std::map<uint64_t, TableChange> changes;  // By number, from 1.
  bool is_marked = false;                   // `tables/0` is there, and empty.
  std::optional<uint32_t> window;           // SMPs that the fabric bears at once.

  // All that was written since the digests were made is among the changes.
  bool IsComplete() const;
};

std::string ChangeText(uint64_t number, const TableChange& change);
// Removes all of these.
RowChanges WithdrawnTables();

// DATA_LOSS: they are not what TableRecord writes. Rows of other parts are ignored.
absl::StatusOr<RecordedTables> LoadTables(const StoredRows& rows);
// The tables of `known` that the record of `predecessor` (a port) confirms, as of the digests, with
// the blocks that were written since as unread. A computed row counts where the row that was read
// is not confirmed, or none was read. Blocks in which these two differ are unread too, unless
// another SM was master at the time of the reading: the predecessor may have changed them since, or
// the switch may have lost what was confirmed. Returns null if no table is confirmed, or if all of
// them exceed kMostVouchedBytes, since the flight recorder stores them.
std::shared_ptr<const sweep::SwitchTables> Vouched(const sweep::ReaderTables& known,
                                                   const RecordedTables& record, Guid predecessor);
inline constexpr size_t kMostVouchedBytes = size_t{48} << 20;

}  // namespace fabricd::shell
