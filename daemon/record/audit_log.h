// SPDX-License-Identifier: Apache-2.0
// AuditLog: records each attempted change with its requester and result. It writes to the log at
// once and to SQLite a moment later, so that no caller waits for the disk. Nodes that share a store
// have one log: each has the records of the others a moment later (store/etcd/shared_history.h).
//
//   gRPC threads ── pending (bounded) ──► store thread ── SQLite
//
// Bounds: Limits::pending records wait. Further ones are only in the log, and one record has their
// number. SQLite keeps Limits::keep records, none older than Limits::max_age. Records that are
// pending when the process is killed are only in the log.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>

#include "daemon/base/record_queue.h"
#include "store/store.h"

namespace fabricd::daemon {

class AuditLog {
 public:
  struct Limits {
    size_t keep = 100'000;
    std::chrono::hours max_age{365 * 24};
    size_t pending = 4096;
  };

  // `node`: name of this one, for the records. `store` and the listings' history must outlive the
  // log and the last job of their threads.
  AuditLog(std::string node, store::Store& store, PostToStore post, Listings listings,
           Limits limits)
      : node_(std::move(node)),
        store_(store),
        post_(post),
        listings_(std::move(listings)),
        limits_(limits),
        queue_(limits.pending, std::move(post),
               [this](auto records, size_t lost) { Write(std::move(records), lost); }),
        keeper_("audit log", limits.max_age) {}

  // Any thread. Adds the time and the node.
  void Append(store::AuditRecord record);

  // Any thread. The store has taken records of other nodes: keeps to the limits. False: the store
  // is busy; call again.
  [[nodiscard]] bool CatchUp();

  // Any thread. `done` is called on the listings' thread, or at once with kUnavailable if a queue
  // is full. The result includes all records appended before.
  using Listed = std::function<void(absl::StatusOr<std::vector<store::AuditRecord>>)>;
  void List(store::AuditQuery query, Listed done);

 private:
  void Write(std::vector<store::AuditRecord> records, size_t lost);  // On the store thread.

  const std::string node_;
  store::Store& store_;
  const PostToStore post_;
  const Listings listings_;
  const Limits limits_;
  RecordQueue<store::AuditRecord> queue_;
  RecordKeeper keeper_;
};

}  // namespace fabricd::daemon
