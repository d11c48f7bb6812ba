// SPDX-License-Identifier: Apache-2.0
// StateFollower: keeps what a waiting node shows of the shared state up to date (docs/HA.md, "The
// waiting node"). After each write of the master it reads the local copy again, and gives the core
// holds and partitions that differ from those before.
#pragma once

#include <functional>
#include <optional>

#include "store/etcd/etcd_store.h"
#include "store/store.h"
#include "sweep/interface/events.h"

namespace fabricd::daemon {

class StateFollower {
 public:
  // Runs a job on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  using Tell = std::function<void(sweep::StoredStateChanged)>;

  // `tell` is called on the store's thread. The jobs use this.
  StateFollower(Post post, Tell tell) : post_(std::move(post)), tell_(std::move(tell)) {}

  // Call after each turn, on the core's thread. `shared` null: the store is of this node alone.
  void Look(const store::etcd::SharedStore* shared);

 private:
  void Read(store::Store& store);

  const Post post_;
  const Tell tell_;
  uint64_t seen_ = 0;                               // SharedStore::refreshes()
  std::optional<sweep::StoredStateChanged> given_;  // Of the store's thread.
};

}  // namespace fabricd::daemon
