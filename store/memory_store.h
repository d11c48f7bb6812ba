// SPDX-License-Identifier: Apache-2.0
// The Store in memory, for the simulator and for tests: the same rules, nothing durable beyond the
// object. One thread at a time. Keep the object while the code under test "restarts".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "store/store.h"

namespace fabricd::store {

class MemoryStore final : public Store {
 public:
  absl::StatusOr<std::vector<LidRecord>> LoadLids() override {
    std::vector<LidRecord> records;
    for (const auto& [guid, record] : lids_) records.push_back(record);
    return records;
  }
  absl::Status PutLids(const std::vector<LidRecord>& records) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    std::map<Guid, LidRecord> merged = lids_;
    for (const LidRecord& record : records) merged[record.port_guid] = record;
    std::vector<LidRecord> all;
    for (const auto& [guid, record] : merged) all.push_back(record);
    FABRICD_RETURN_IF_ERROR(CheckLids(all));
    lids_ = std::move(merged);
    return absl::OkStatus();
  }
  absl::Status RemoveLids(const std::vector<Guid>& port_guids) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    for (Guid guid : port_guids) lids_.erase(guid);
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<std::string>> GetMeta(const std::string& key) override {
    const auto found = meta_.find(key);
    if (found == meta_.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  absl::Status PutMeta(const std::string& key, const std::string& value) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    meta_[key] = value;
    return absl::OkStatus();
  }

  // Until it is set back to OK, every write fails with `error` and changes nothing: a full disk.
  void FailWrites(absl::Status error) { write_error_ = std::move(error); }

 private:
  std::map<Guid, LidRecord> lids_;
  std::map<std::string, std::string> meta_;
  absl::Status write_error_;
};

}  // namespace fabricd::store
