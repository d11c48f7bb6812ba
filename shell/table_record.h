// SPDX-License-Identifier: Apache-2.0
// TableRecord: what the master has confirmed that the switches hold, as a digest of each forwarding
// table, in the state that several nodes share. A standby that has read a table with the same
// digest need not read it again when it takes over.
//
// The record stands while nothing is being written to devices: it is taken back when a sweep or a
// change begins, and made again a second after the subnet is up and idle. Both are written beside
// the work of the core, which never waits for them. So a master that can reach the fabric and not
// etcd, and dies within the lease of its epoch after a change, leaves a record that is too old for
// the switches of that change; the audit of tables finds those (docs/HA.md).
//
//   row tables/window   learned window, in SMPs
//   row tables/N        lines "GUID DIGEST", up to kOfRow switches each
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "common/time.h"
#include "store/store.h"
#include "sweep/interface/switch_tables.h"
#include "sweep/interface/view.h"

namespace fabricd::shell {

// Of the entries up to the last route.
uint64_t DigestOf(const routing::Row& row);

struct RecordedTables {
  absl::flat_hash_map<Guid, uint64_t> digests;  // By NodeGUID. Empty: no record stands.
  std::optional<uint32_t> window;               // SMPs that the fabric bears at once.
};

// DATA_LOSS: they are not what TableRecord writes. Rows of other parts are ignored.
absl::StatusOr<RecordedTables> LoadTables(const StoredRows& rows);
// Those of `read` that the record confirms. Null: none, or they are more than kMostVouchedBytes:
// the flight recorder has to keep what a core starts with.
std::shared_ptr<const sweep::SwitchTables> Vouched(const sweep::SwitchTables& read,
                                                   const RecordedTables& record);
inline constexpr size_t kMostVouchedBytes = size_t{48} << 20;

class TableRecord {
 public:
  // Runs a durable write on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  static constexpr size_t kOfRow = 4096;
  static constexpr Duration kCalm = std::chrono::seconds(1);

  explicit TableRecord(Post post) : post_(std::move(post)) {}

  // The core's thread; call after each of its turns. `window`: in SMPs.
  void Look(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window, Instant now);

 private:
  enum class Known : uint8_t { kNothing, kNoRecord, kRecord };
  using Plan = std::shared_ptr<const routing::RoutingPlan>;
  // Digests of the last record, on the store's thread: most rows of the next one are the same.
  struct Cache;

  bool Write(std::function<RowChanges()> changes);
  void TakeBack();
  void Make(const sweep::FabricView& view, uint32_t window);

  const Post post_;
  Known known_ = Known::kNothing;
  Plan recorded_;
  Plan calm_plan_;      // Of the last view in which nothing was being written.
  Instant calm_since_;  // Since then.
  std::shared_ptr<Cache> cache_;
  // The store has refused a write: what stands there is not known. Set on the store's thread.
  std::shared_ptr<std::atomic<bool>> has_failed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace fabricd::shell
