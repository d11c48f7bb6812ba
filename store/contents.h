// SPDX-License-Identifier: Apache-2.0
// Contents: everything that must survive a management node: LIDs, holds and the rows of parts, and
// the same as flat rows, keys and values of text: what etcd keeps, and what copies and migrations
// compare. History (events, audit) and named values belong to one instance and are not in it. Pure.
//
//   lid/GUID          "BASE_LID LMC LAST_SEEN"
//   hold/ID           HoldText()
//   hold_highest      the highest id that was ever given
//   row/TABLE/KEY     the row as its part encodes it
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "store/store.h"

namespace fabricd::store {

struct Contents {
  std::vector<LidRecord> lids;
  policy::StoredHolds holds;
  StoredRows rows;

  bool empty() const { return lids.empty() && holds.highest_id == 0 && rows.empty(); }
};
// "12 LIDs, 3 holds, 40 rows"
std::string CountText(const Contents& contents);

using FlatRows = std::map<std::string, std::string>;
// nullopt: the row is deleted.
using FlatChanges = std::map<std::string, std::optional<std::string>>;

FlatRows Flatten(const Contents& contents);
std::string LidKey(Guid port_guid);
std::string LidText(const LidRecord& record);
std::string HoldKey(uint64_t id);
inline constexpr char kHoldHighestKey[] = "hold_highest";
std::string RowKeyText(const RowKey& key);

// Reads flat rows back. Every fault in them is added to `faults` with the key that it is about;
// what is faulty is left out. No faults: the contents keep all rules of a Store.
Contents Unflatten(const FlatRows& rows, std::vector<std::string>& faults);
// DATA_LOSS with the first faults, after `where`.
absl::StatusOr<Contents> Unflatten(const FlatRows& rows, const std::string& where);

// What leads from one to the other.
FlatChanges Difference(const FlatRows& before, const FlatRows& after);
void Apply(const FlatChanges& changes, FlatRows& rows);

absl::StatusOr<Contents> ReadContents(Store& store);
// Each kind in one transaction of the store's, in an order that no rule of it refuses.
absl::Status WriteChanges(Store& store, const FlatChanges& changes);

}  // namespace fabricd::store
