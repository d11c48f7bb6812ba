// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/audit_log.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

void WriteToLog(const store::AuditRecord& record) {
  const auto level = record.code == "OK" ? spdlog::level::info : spdlog::level::warn;
  spdlog::log(level, "audit: {} ({}) {} {}: {}{}{}", record.caller, record.role, record.method,
              record.code, record.request, record.message.empty() ? "" : ": ", record.message);
}

}  // namespace

void AuditLog::Append(store::AuditRecord record) {
  record.time_ms = WallNowMs();
  record.node = node_;
  WriteToLog(record);
  queue_.Add({std::move(record)});
}

void AuditLog::Write(std::vector<store::AuditRecord> records, size_t lost) {
  if (lost > 0) {
    store::AuditRecord& record = records.emplace_back();
    record.time_ms = WallNowMs();
    record.node = node_;
    record.caller = "fabricd";
    record.code = "RESOURCE_EXHAUSTED";
    record.message = fmt::format("{} records came faster than they could be written", lost);
  }
  keeper_.Keep(
      records.size(), [&] { return store_.AppendAudit(records); },
      [&](int64_t before) { return store_.TrimAudit(limits_.keep, before); });
}

bool AuditLog::CatchUp() {
  return post_([this] {
    keeper_.KeepOthers([&](int64_t before) { return store_.TrimAudit(limits_.keep, before); });
  });
}

void AuditLog::List(store::AuditQuery query, Listed done) {
  const auto shared = std::make_shared<Listed>(std::move(done));
  const auto refuse = [shared] {
    (*shared)(Unavailable("too many listings wait, or fabricd is stopping"));
  };
  const bool posted = post_([this, query = std::move(query), shared, refuse] {
    queue_.Flush();
    if (!listings_.post([this, query, shared] { (*shared)(listings_.history.ListAudit(query)); }))
      refuse();
  });
  if (!posted) refuse();
}

}  // namespace fabricd::daemon
