// SPDX-License-Identifier: Apache-2.0
// EtcdModel: what an etcd 3.4 with its default configuration answers, as a state machine without
// time of its own, network or failures: keys with their history, transactions, leases, compaction,
// watches. The client contract (tests/unit/store/etcd/client_contract.h) is tried on it and on real
// etcds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/time.h"
#include "store/etcd/client.h"

namespace fabricd::sim {

// Of one revision.
using EtcdEvents = std::vector<store::etcd::WatchEvent>;

class EtcdModel {
 public:
  static constexpr uint64_t kCluster = 0x5EED;

  // Errors of these are etcd's own (client.h), and nothing was changed.
  absl::StatusOr<store::etcd::RangeResult> Range(const store::etcd::RangeRequest& request) const;
  absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value, int64_t lease);
  absl::StatusOr<int64_t> DeleteRange(const std::string& key, const std::string& range_end);
  absl::StatusOr<store::etcd::TransactionResult> Commit(
      const store::etcd::Transaction& transaction);
  absl::StatusOr<store::etcd::Lease> GrantLease(std::chrono::seconds ttl, Instant now);
  absl::StatusOr<std::chrono::seconds> KeepAlive(int64_t lease, Instant now);
  absl::Status RevokeLease(int64_t lease);

  // OUT_OF_RANGE: a revision that does not exist yet, or was compacted.
  absl::Status Compact(int64_t revision);
  // Ends the leases that are over at `now`.
  void Expire(Instant now);
  // As a new leader does: each lease has its whole time again.
  void RenewLeases(Instant now);
  // The database is larger than its quota: whatever makes it larger is refused.
  void SetFull(bool is_full) { is_full_ = is_full; }
  bool is_full() const { return is_full_; }

  int64_t revision() const { return revision_; }
  // Events of that revision and later ones can be read.
  int64_t compacted() const { return compacted_; }
  // By revision.
  const std::map<int64_t, EtcdEvents>& history() const { return history_; }
  // The newest value; null: there is none.
  const store::etcd::KeyValue* Find(const std::string& key) const;

 private:
  // `kv.version` 0: deleted there.
  using Versions = std::vector<store::etcd::KeyValue>;
  struct LeaseState {
    std::chrono::seconds ttl;
    Instant end;
    std::set<std::string> keys;
  };
  absl::Status CheckPut(const std::string& key, int64_t lease) const;
  absl::Status Check(const store::etcd::Transaction& transaction) const;
  bool Holds(const store::etcd::Comparison& comparison) const;
  std::vector<std::string> KeysIn(const std::string& key, const std::string& range_end) const;
  // Of the next revision.
  void PutNext(const std::string& key, const std::string& value, int64_t lease);
  void DeleteNext(const std::string& key);
  void Detach(const std::string& key);
  // Commits the changes as a new revision, if there are any.
  void End();

  std::map<std::string, Versions> keys_;
  std::map<int64_t, LeaseState> leases_;
  std::map<int64_t, EtcdEvents> history_;
  int64_t revision_ = 1;
  int64_t compacted_ = 0;
  int64_t last_lease_ = 0;
  bool is_full_ = false;
};

}  // namespace fabricd::sim
