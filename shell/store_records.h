// SPDX-License-Identifier: Apache-2.0
// StoreRecords: writes the durable records of the core to any Store.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "shell/ports.h"
#include "store/store.h"

namespace fabricd::shell {

class StoreRecords final : public Records {
 public:
  // `store` must outlive this. `wall_seconds`: seconds since 1970, recorded as the time a port was
  // last seen.
  StoreRecords(store::Store& store, std::function<int64_t()> wall_seconds)
      : store_(store), wall_seconds_(std::move(wall_seconds)) {}

  absl::Status Write(const sweep::PersistLids& lids) override {
    std::vector<fabric::LidRecord> records = lids.records;
    const int64_t seen = wall_seconds_();
    for (fabric::LidRecord& record : records) record.last_seen = seen;
    return store_.PutLids(records);
  }
  absl::Status Write(const sweep::PersistHolds& holds) override {
    return store_.ChangeHolds(holds.put, holds.remove);
  }
  absl::Status Write(const sweep::PersistPartitions& partitions) override {
    return store_.ChangeRows(partitions.rows);
  }
  absl::Status Write(const sweep::PersistTakeover& takeover) override {
    return store_.ChangeRows(takeover.rows);
  }
  sweep::MastershipClaimed Claim() override {
    const auto claim = store_.Claim();
    if (!claim.ok()) return {claim.status()};
    return {absl::OkStatus(), claim->continues};
  }

 private:
  store::Store& store_;
  const std::function<int64_t()> wall_seconds_;
};

}  // namespace fabricd::shell
