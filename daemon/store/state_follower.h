// SPDX-License-Identifier: Apache-2.0
// StateFollower: keeps what a waiting node shows of the shared state up to date (docs/HA.md, "The
// waiting node"). After each write of the master it reads the local copy again, and tells each part
// what differs from before: the core of holds and partitions, Subnet Administration of what clients
// have left, and who keeps verdicts. It also tells when the fabric has to be read again
// (shell::StaleReading).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/stored_row.h"
#include "policy/verdict/verdict_rows.h"
#include "shell/stale_reading.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"
#include "sweep/interface/events.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

class StateFollower {
 public:
  // Runs a job on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  struct Tell {
    std::function<void(sweep::StoredStateChanged)> core;
    std::function<void(StoredRows)> clients;  // Their rows alone.
    std::function<void(policy::StoredVerdicts)> verdicts;
    std::function<void()> reading_is_stale;
  };

  // `tell` is called on the store's thread. The jobs use this.
  StateFollower(Post post, Tell tell) : post_(std::move(post)), tell_(std::move(tell)) {}

  // Call after each turn, on the core's thread. `shared` null: the store is of this node alone.
  void Look(const store::etcd::SharedStore* shared, const sweep::FabricView& view);

 private:
  void Read(store::Store& store, const sweep::ReaderTables& known, Guid master);

  const Post post_;
  const Tell tell_;
  struct Parts {
    sweep::StoredStateChanged core;
    StoredRows clients;
    policy::StoredVerdicts verdicts;
  };
  static absl::StatusOr<Parts> Load(store::Store& store, StoredRows rows);

  uint64_t seen_ = 0;  // SharedStore::refreshes()
  std::shared_ptr<const sweep::ReaderTables::Rows> seen_reading_;
  // Of the store's thread.
  std::optional<Parts> given_;
  shell::StaleReading stale_reading_;
};

}  // namespace fabricd::daemon
