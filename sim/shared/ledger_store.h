// SPDX-License-Identifier: Apache-2.0
// LedgerStore: the shared store of one process, which tells the Ledger of each write: what a node
// writes, and how it is answered. On the process's store thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/store/store_node.h"
#include "store/contents.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::sim {

class LedgerStore final : public store::Store {
 public:
  // All outlive this.
  LedgerStore(StoreWorld& world, store::etcd::SharedStore& store, uint64_t process)
      : world_(world), store_(store), process_(process) {}

  absl::StatusOr<Claimed> Claim() override { return store_.Claim(); }
  absl::Status writable() const override { return store_.writable(); }
  absl::StatusOr<std::vector<store::LidRecord>> LoadLids() override { return store_.LoadLids(); }
  absl::Status PutLids(const std::vector<store::LidRecord>& records) override;
  absl::Status RemoveLids(const std::vector<Guid>& port_guids) override;
  absl::StatusOr<policy::StoredHolds> LoadHolds() override { return store_.LoadHolds(); }
  absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                           const std::vector<uint64_t>& remove) override;
  absl::StatusOr<StoredRows> LoadRows() override { return store_.LoadRows(); }
  absl::Status ChangeRows(const RowChanges& changes) override;

  // Of this node alone: nothing for the Ledger.
  absl::Status AppendEvents(const std::vector<store::EventRecord>& records) override {
    return store_.AppendEvents(records);
  }
  absl::Status TrimEvents(size_t keep, int64_t since_ms) override {
    return store_.TrimEvents(keep, since_ms);
  }
  absl::Status MergeHistory(const std::vector<store::EventRecord>& events,
                            const std::vector<store::AuditRecord>& audit) override {
    return store_.MergeHistory(events, audit);
  }
  store::EventNumbering event_numbering() const override { return store_.event_numbering(); }
  absl::StatusOr<std::vector<store::EventRecord>> ListEvents(
      const store::EventQuery& query) override {
    return store_.ListEvents(query);
  }
  absl::Status AppendAudit(const std::vector<store::AuditRecord>& records) override {
    return store_.AppendAudit(records);
  }
  absl::Status TrimAudit(size_t keep, int64_t since_ms) override {
    return store_.TrimAudit(keep, since_ms);
  }
  absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(
      const store::AuditQuery& query) override {
    return store_.ListAudit(query);
  }
  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    return store_.GetMeta(key);
  }
  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    return store_.PutMeta(key, value);
  }

 private:
  absl::Status Write(store::FlatChanges changes, const std::function<absl::Status()>& write);

  StoreWorld& world_;
  store::etcd::SharedStore& store_;
  const uint64_t process_;
};

}  // namespace fabricd::sim
