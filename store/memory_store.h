// SPDX-License-Identifier: Apache-2.0
// The Store in memory, for the simulator and for tests: the same rules, nothing durable beyond the
// object. One thread at a time. Keep the object while the code under test "restarts".
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "store/store.h"

namespace fabricd::store {

class MemoryStore : public Store {
 public:
  absl::StatusOr<Claimed> Claim() override { return claim_; }
  // What Claim() answers; OK at first.
  void set_claim(absl::StatusOr<Claimed> claim) { claim_ = std::move(claim); }
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
  absl::Status AppendEvents(const std::vector<EventRecord>& records) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    std::map<uint64_t, EventRecord> merged = events_;
    for (const EventRecord& record : records) {
      EventRecord kept = record;
      kept.event.at = Instant();
      if (kept.event.reroute) kept.event.reroute->begun = Instant();
      if (!merged.emplace(record.number, std::move(kept)).second) {
        return MakeStatus(absl::StatusCode::kAlreadyExists, "event {}", record.number);
      }
    }
    events_ = std::move(merged);
    return absl::OkStatus();
  }
  absl::Status MergeHistory(const std::vector<EventRecord>& events,
                            const std::vector<AuditRecord>& audit) override {
    std::vector<EventRecord> missing = events;
    std::erase_if(missing, [&](const auto& record) { return events_.contains(record.number); });
    FABRICD_RETURN_IF_ERROR(AppendEvents(missing));
    return AppendAudit(audit);
  }
  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventQuery& query) override {
    std::vector<EventRecord> records;
    for (const auto& [number, record] : events_) {
      if (Matches(query, record)) records.push_back(record);
    }
    if (query.limit == 0 || records.size() <= query.limit) return records;
    const auto excess = static_cast<ptrdiff_t>(records.size() - query.limit);
    if (query.latest) {
      records.erase(records.begin(), records.begin() + excess);
    } else {
      records.erase(records.end() - excess, records.end());
    }
    return records;
  }
  EventNumbering event_numbering() const override { return numbering_; }
  void set_event_numbering(EventNumbering numbering) { numbering_ = numbering; }
  absl::Status TrimEvents(size_t keep, int64_t since_ms) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    while (events_.size() > 1 &&
           (events_.size() > keep || events_.begin()->second.time_ms < since_ms)) {
      events_.erase(events_.begin());
    }
    return absl::OkStatus();
  }
  absl::Status AppendAudit(const std::vector<AuditRecord>& records) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    for (const AuditRecord& record : records) {
      const bool known = std::any_of(audit_.begin(), audit_.end(), [&](const AuditRecord& other) {
        return other.instance == record.instance && other.origin == record.origin;
      });
      if (known && !record.instance.empty()) continue;
      audit_.push_back(record);
      audit_.back().number = ++last_audit_;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override {
    std::vector<AuditRecord> records;
    for (const AuditRecord& record : audit_) {
      const bool wanted = (query.before == 0 || record.number < query.before) &&
                          (!query.after || record.number > *query.after) &&
                          (!query.own || record.instance.empty()) &&
                          record.time_ms >= query.since_ms &&
                          (query.caller.empty() || record.caller == query.caller) &&
                          (query.method.empty() || record.method.ends_with("/" + query.method));
      if (wanted) records.push_back(record);
    }
    if (query.limit == 0 || records.size() <= query.limit) return records;
    if (query.after)
      records.resize(query.limit);
    else
      records.erase(records.begin(), records.end() - static_cast<ptrdiff_t>(query.limit));
    return records;
  }
  absl::Status TrimAudit(size_t keep, int64_t since_ms) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    std::erase_if(audit_, [&](const AuditRecord& record) {
      return record.time_ms < since_ms || record.number + keep <= last_audit_;
    });
    return absl::OkStatus();
  }
  absl::StatusOr<StoredRows> LoadRows() override { return rows_; }
  absl::Status ChangeRows(const RowChanges& changes) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    for (const auto& [key, value] : changes) {
      if (value)
        rows_[key] = *value;
      else
        rows_.erase(key);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<policy::StoredHolds> LoadHolds() override {
    policy::StoredHolds stored{{}, highest_hold_};
    for (const auto& [id, hold] : holds_) stored.holds.push_back(hold);
    return stored;
  }
  absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                           const std::vector<uint64_t>& remove) override {
    FABRICD_RETURN_IF_ERROR(write_error_);
    for (const policy::Hold& hold : put)
      if (hold.id == 0) return InvalidArgument("a hold without an id");
    for (const policy::Hold& hold : put) {
      holds_[hold.id] = hold;
      highest_hold_ = std::max(highest_hold_, hold.id);
    }
    for (uint64_t id : remove) holds_.erase(id);
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
  static bool Matches(const EventQuery& query, const EventRecord& record) {
    const auto among = [](const auto& wanted, const auto& value) {
      return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    };
    return record.number > query.after && record.number <= query.up_to &&
           (!query.own || record.instance.empty()) && record.time_ms >= query.since_ms &&
           record.event.severity >= query.min_severity && among(query.types, record.event.type) &&
           query.about.Has(record.event);
  }

  std::map<Guid, LidRecord> lids_;
  std::map<uint64_t, EventRecord> events_;
  EventNumbering numbering_;
  std::map<uint64_t, policy::Hold> holds_;
  uint64_t highest_hold_ = 0;
  StoredRows rows_;
  std::map<std::string, std::string> meta_;
  absl::StatusOr<Claimed> claim_ = Claimed();
  absl::Status write_error_;
  std::vector<AuditRecord> audit_;
  uint64_t last_audit_ = 0;
};

}  // namespace fabricd::store
