// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::shell {

// A store that says what a test wants, and keeps named values alone.
class SayingStore final : public store::etcd::SharedStore {
 public:
  std::optional<store::etcd::EpochOwner> owner;
  bool contending = false, beside = false, kept = false;
  std::string why, own;
  std::vector<store::etcd::Node> all_nodes;

  int64_t number = 7;

  int64_t epoch() const override { return number; }
  std::string why_reopen() const override { return why; }
  std::optional<store::etcd::EpochOwner> other_owner() const override { return owner; }
  bool contends() const override { return contending; }
  bool is_beside_master() const override { return beside; }
  bool has_owner_kept_epoch() const override { return kept; }
  void SetStatement(store::etcd::NodeStatement) override {}
  std::vector<store::etcd::Node> nodes() const override { return all_nodes; }
  const std::string& instance() const override { return own; }
  absl::Status Confirm() override { return absl::OkStatus(); }
  uint64_t histories_taken() const override { return 0; }
  void Turn() override {}

  absl::StatusOr<std::vector<store::LidRecord>> LoadLids() override { return No(); }
  absl::Status PutLids(const std::vector<store::LidRecord>&) override { return No(); }
  absl::Status RemoveLids(const std::vector<Guid>&) override { return No(); }
  absl::StatusOr<policy::StoredHolds> LoadHolds() override { return No(); }
  absl::Status ChangeHolds(const std::vector<policy::Hold>&,
                           const std::vector<uint64_t>&) override {
    return No();
  }
  absl::Status AppendEvents(const std::vector<store::EventRecord>&) override { return No(); }
  absl::Status TrimEvents(size_t, int64_t) override { return No(); }
  absl::StatusOr<std::vector<store::EventRecord>> ListEvents(const store::EventQuery&) override {
    return No();
  }
  absl::Status MergeHistory(const std::vector<store::EventRecord>&,
                            const std::vector<store::AuditRecord>&) override {
    return No();
  }
  absl::Status AppendAudit(const std::vector<store::AuditRecord>&) override { return No(); }
  absl::Status TrimAudit(size_t, int64_t) override { return No(); }
  absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(const store::AuditQuery&) override {
    return No();
  }
  absl::StatusOr<StoredRows> LoadRows() override { return No(); }
  absl::Status ChangeRows(const RowChanges&) override { return No(); }
  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    const auto found = named_.find(key);
    return found == named_.end() ? std::nullopt : std::optional(found->second);
  }
  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    named_[key] = value;
    return absl::OkStatus();
  }

 private:
  static absl::Status No() { return Unavailable("nothing is kept"); }

  std::map<std::string, std::string> named_;
};

}  // namespace fabricd::shell
