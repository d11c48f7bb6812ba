// SPDX-License-Identifier: Apache-2.0
// Internal: the part of a shared store that each node has for itself, in its local store: named
// values, a copy of what is in etcd, and events and the audit log, with what other nodes have
// recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "store/contents.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/shared_history.h"
#include "store/etcd/shared_rows.h"

namespace fabricd::store::etcd {

struct LocalCopy {
  std::string mark;  // CopyMark(); empty: there is no copy.
  Contents contents;
};
// FAILED_PRECONDITION: the local store has state of its own, which etcd would hide.
absl::StatusOr<LocalCopy> ReadLocalCopy(Store& local);
// Makes `local` the copy of `rows`, which are what etcd has below `prefix` after the write
// `sequence`. `before`: what the copy has.
absl::Status WriteLocalCopy(Store& local, const FlatRows& before, const FlatRows& rows,
                            const std::string& prefix, const std::string& sequence);

// etcd does not answer, or is full: then it gives no lease and takes no write.
bool IsAway(const absl::Status& status);

// The one of this state directory, made with it.
absl::StatusOr<std::string> InstanceOf(Store& local);

class NodePart : public SharedStore {
 public:
  NodePart(std::unique_ptr<Client> client, std::unique_ptr<Store> local, std::string instance,
           const EtcdStoreOptions& options)
      : client_(std::move(client)),
        local_(std::move(local)),
        instance_(std::move(instance)),
        clock_(options.clock),
        presence_(*client_, SharedRows::NodeKey(options.prefix, instance_), options.lease,
                  options.clock),
        history_(*client_, *local_, local_mutex_, options.prefix, instance_) {}

  void SetStatement(NodeStatement statement) override { presence_.Set(std::move(statement)); }
  std::vector<Node> nodes() const override {
    MutexLock lock(nodes_mutex_);
    return nodes_;
  }
  const std::string& instance() const override { return instance_; }
  std::chrono::nanoseconds since_answer() const override {
    MutexLock lock(nodes_mutex_);
    return clock_() - answered_;
  }

  uint64_t histories_taken() const override { return history_.taken(); }

  absl::Status AppendEvents(const std::vector<EventRecord>& records) override {
    return Record([&] { return local_->AppendEvents(records); });
  }
  absl::Status TrimEvents(size_t keep, int64_t since_ms) override {
    MutexLock lock(local_mutex_);
    return local_->TrimEvents(keep, since_ms);
  }
  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventQuery& query) override {
    MutexLock lock(local_mutex_);
    return local_->ListEvents(query);
  }
  absl::Status MergeHistory(const std::vector<EventRecord>& events,
                            const std::vector<AuditRecord>& audit) override {
    MutexLock lock(local_mutex_);
    return local_->MergeHistory(events, audit);
  }
  absl::Status AppendAudit(const std::vector<AuditRecord>& records) override {
    return Record([&] { return local_->AppendAudit(records); });
  }
  absl::Status TrimAudit(size_t keep, int64_t since_ms) override {
    MutexLock lock(local_mutex_);
    return local_->TrimAudit(keep, since_ms);
  }
  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override {
    MutexLock lock(local_mutex_);
    return local_->ListAudit(query);
  }
  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    MutexLock lock(local_mutex_);
    return local_->GetMeta(key);
  }
  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    MutexLock lock(local_mutex_);
    return local_->PutMeta(key, value);
  }

 protected:
  // Of the calls that give back what this node has, together. None is sent where etcd does not
  // answer.
  void LimitFarewell(std::chrono::milliseconds time) {
    client_->Limit(is_reached_ ? time : std::chrono::milliseconds::zero());
  }
  // As etcd has answered now.
  void ShowNodes(std::vector<Node> nodes) {
    MutexLock lock(nodes_mutex_);
    nodes_ = std::move(nodes);
    answered_ = clock_();
  }

  // A node without a copy does not start without etcd, so it does not start without the history
  // either. With a copy it is one of a release that shared none, and starts in any case.
  absl::Status JoinHistory(const LocalCopy& copy);

  // Part of it, so that the turns go on: they keep the lease alive.
  void SendHistory(const EtcdStoreOptions& options) {
    const std::chrono::nanoseconds lease = options.lease;
    history_.Send([&options, end = options.clock() + lease / 4] { return options.clock() < end; });
  }

  // There is something to be sent.
  virtual void OnRecorded() {}

  const std::unique_ptr<Client> client_;
  Mutex local_mutex_;
  const std::unique_ptr<Store> local_;
  const std::string instance_;
  const BootClock clock_;
  std::atomic<bool> is_reached_ = true;  // etcd has answered when it was last asked.
  // Both of Open(), then of the store's thread.
  Presence presence_;
  SharedHistory history_;

 private:
  template <typename Body>
  absl::Status Record(Body body) {
    {
      MutexLock lock(local_mutex_);
      FABRICD_RETURN_IF_ERROR(body());
    }
    history_.OnRecorded();
    OnRecorded();
    return absl::OkStatus();
  }

  mutable Mutex nodes_mutex_;
  std::vector<Node> nodes_ FABRICD_GUARDED_BY(nodes_mutex_);
  std::chrono::nanoseconds answered_ FABRICD_GUARDED_BY(nodes_mutex_) = clock_();
};

}  // namespace fabricd::store::etcd
