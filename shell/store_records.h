// SPDX-License-Identifier: Apache-2.0
// StoreRecords: what the core wants durable, written to a Store, whichever it is.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>

#include "shell/ports.h"
#include "store/store.h"

namespace fabricd::shell {

// The LIDs made durable earlier, as the core takes them.
inline absl::StatusOr<std::vector<sweep::LidRecord>> LoadLids(store::Store& store) {
  const auto stored = store.LoadLids();
  if (!stored.ok()) return stored.status();
  std::vector<sweep::LidRecord> records;
  records.reserve(stored->size());
  for (const store::LidRecord& record : *stored)
    records.push_back({record.port_guid, record.base_lid, record.lmc});
  return records;
}

class StoreRecords final : public Records {
 public:
  // `store` outlives this. `wall_seconds`: since 1970, for when ports were last seen.
  StoreRecords(store::Store& store, std::function<int64_t()> wall_seconds)
      : store_(store), wall_seconds_(std::move(wall_seconds)) {}

  absl::Status Write(const sweep::PersistLids& lids) override {
    std::vector<store::LidRecord> records;
    records.reserve(lids.records.size());
    const int64_t seen = wall_seconds_();
    for (const sweep::LidRecord& record : lids.records)
      records.push_back({record.port_guid, record.base, record.lmc, seen});
    return store_.PutLids(records);
  }
  absl::Status Write(const sweep::PersistHolds& holds) override {
    return store_.ChangeHolds(holds.put, holds.remove);
  }
  absl::Status Write(const sweep::PersistPartitions& partitions) override {
    return store_.ChangeRows(partitions.rows);
  }

 private:
  store::Store& store_;
  const std::function<int64_t()> wall_seconds_;
};

}  // namespace fabricd::shell
