// SPDX-License-Identifier: Apache-2.0
// LocalDisk: the store of a node's state directory as one life of its process has it open. What is
// written stays in `disk` over lives; a process that has been killed writes nothing more. Each
// write takes time, in which the process may be stopped or killed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "sim/store/virtual_threads.h"
#include "store/memory_store.h"

namespace fabricd::sim {

class LocalDisk final : public store::Store {
 public:
  // Both outlive this.
  LocalDisk(VirtualThreads& world, store::MemoryStore& disk) : world_(world), disk_(disk) {}

  absl::StatusOr<std::vector<store::LidRecord>> LoadLids() override { return disk_.LoadLids(); }
  absl::Status PutLids(const std::vector<store::LidRecord>& records) override {
    return Write([&] { return disk_.PutLids(records); });
  }
  absl::Status RemoveLids(const std::vector<Guid>& port_guids) override {
    return Write([&] { return disk_.RemoveLids(port_guids); });
  }
  absl::StatusOr<policy::StoredHolds> LoadHolds() override { return disk_.LoadHolds(); }
  absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                           const std::vector<uint64_t>& remove) override {
    return Write([&] { return disk_.ChangeHolds(put, remove); });
  }
  absl::Status AppendEvents(const std::vector<store::EventRecord>& records) override {
    return Write([&] { return disk_.AppendEvents(records); });
  }
  absl::Status TrimEvents(size_t keep, int64_t since_ms) override {
    return Write([&] { return disk_.TrimEvents(keep, since_ms); });
  }
  absl::Status MergeHistory(const std::vector<store::EventRecord>& events,
                            const std::vector<store::AuditRecord>& audit) override {
    return Write([&] { return disk_.MergeHistory(events, audit); });
  }
  absl::StatusOr<std::vector<store::EventRecord>> ListEvents(
      const store::EventQuery& query) override {
    return disk_.ListEvents(query);
  }
  absl::Status AppendAudit(const std::vector<store::AuditRecord>& records) override {
    return Write([&] { return disk_.AppendAudit(records); });
  }
  absl::Status TrimAudit(size_t keep, int64_t since_ms) override {
    return Write([&] { return disk_.TrimAudit(keep, since_ms); });
  }
  absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(
      const store::AuditQuery& query) override {
    return disk_.ListAudit(query);
  }
  absl::StatusOr<StoredRows> LoadRows() override { return disk_.LoadRows(); }
  absl::Status ChangeRows(const RowChanges& changes) override {
    return Write([&] { return disk_.ChangeRows(changes); });
  }
  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    return disk_.GetMeta(key);
  }
  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    return Write([&] { return disk_.PutMeta(key, value); });
  }

 private:
  template <typename Do>
  absl::Status Write(Do write) {
    VirtualThreads::Thread& thread = world_.current();
    thread.Sleep(std::chrono::milliseconds(2));
    if (thread.is_killed()) return Unavailable("killed");
    return write();
  }

  VirtualThreads& world_;
  store::MemoryStore& disk_;
};

}  // namespace fabricd::sim
