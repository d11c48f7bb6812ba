// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit_log.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Write(const store::AuditRecord& record) {
  const auto level = record.code == "OK" ? spdlog::level::info : spdlog::level::warn;
  spdlog::log(level, "audit: {} ({}) {} {}: {}{}{}", record.caller, record.role, record.method,
              record.code, record.request, record.message.empty() ? "" : ": ", record.message);
}

}  // namespace

void AuditLog::Append(store::AuditRecord record) {
  record.time_ms = NowMs();
  Write(record);
  {
    std::lock_guard lock(mutex_);
    if (pending_.size() >= limits_.pending) {
      ++lost_;
      return;
    }
    pending_.push_back(std::move(record));
    if (scheduled_) return;
    scheduled_ = true;
  }
  if (post_([this] { Flush(); })) return;
  std::lock_guard lock(mutex_);
  scheduled_ = false;  // The next record, or the next listing, takes it along.
}

void AuditLog::Flush() {
  std::vector<store::AuditRecord> records;
  size_t lost = 0;
  {
    std::lock_guard lock(mutex_);
    records.swap(pending_);
    lost = std::exchange(lost_, 0);
    scheduled_ = false;
  }
  if (lost > 0) {
    store::AuditRecord& record = records.emplace_back();
    record.time_ms = NowMs();
    record.caller = "fabricd";
    record.code = "RESOURCE_EXHAUSTED";
    record.message = fmt::format("{} records came faster than they could be written", lost);
  }
  if (records.empty()) return;
  absl::Status status = store_.AppendAudit(records);
  since_trim_ += records.size();
  if (status.ok() && since_trim_ >= kTrimEvery) {
    since_trim_ = 0;
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(limits_.max_age);
    status = store_.TrimAudit(limits_.keep, NowMs() - age.count());
  }
  if (!status.ok() && !failing_) spdlog::error("audit log: {}", Message(status));
  failing_ = !status.ok();
}

void AuditLog::List(store::AuditQuery query, Listed done) {
  const auto shared = std::make_shared<Listed>(std::move(done));
  const bool posted = post_([this, query = std::move(query), shared] {
    Flush();
    (*shared)(store_.ListAudit(query));
  });
  if (!posted) (*shared)(Unavailable("the store's queue is full"));
}

}  // namespace fabricd::daemon
