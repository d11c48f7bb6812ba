// SPDX-License-Identifier: Apache-2.0
// AuditLog: who wanted to change what, and what came of it: in the log at once, in SQLite a moment
// later, so that no caller waits for the disk.
//
//   gRPC threads ── pending (bounded) ──► store thread ── SQLite
//
// Bounds: Limits::pending records wait; more are in the log only, and one record says how many.
// SQLite keeps Limits::keep records, none older than Limits::max_age. What is pending when the
// process is killed is in the log only.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include <absl/status/statusor.h>

#include "store/store.h"

namespace fabricd::daemon {

class AuditLog {
 public:
  struct Limits {
    size_t keep = 100'000;
    std::chrono::hours max_age{365 * 24};
    size_t pending = 4096;
  };
  // Runs a job on the store thread. False: it will not be run.
  using Post = std::function<bool(std::function<void()>)>;

  // `store` outlives the log, and the store thread's last job.
  AuditLog(store::Store& store, Post post, Limits limits)
      : store_(store), post_(std::move(post)), limits_(limits) {}

  // Any thread. The time is filled in.
  void Append(store::AuditRecord record);

  // Any thread. `done` is called on the store thread, or at once with kUnavailable when the store's
  // queue is full; what was appended before is in the answer.
  using Listed = std::function<void(absl::StatusOr<std::vector<store::AuditRecord>>)>;
  void List(store::AuditQuery query, Listed done);

 private:
  static constexpr size_t kTrimEvery = 1000;
  void Flush();

  store::Store& store_;
  const Post post_;
  const Limits limits_;

  // Of the store thread.
  size_t since_trim_ = kTrimEvery;  // Trim at the first chance.
  bool failing_ = false;

  std::mutex mutex_;
  std::vector<store::AuditRecord> pending_;
  size_t lost_ = 0;
  bool scheduled_ = false;
};

}  // namespace fabricd::daemon
