// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/report_maker.h"

#include <fmt/format.h>

namespace fabricd::sweep {

void ReportMaker::Begin(SweepKind kind, Instant now, const mad::EngineStatistics& statistics) {
  kind_ = kind;
  start_ = now;
  before_ = statistics;
}

SweepReport ReportMaker::Finish(Instant now, const mad::EngineStatistics& statistics) const {
  SweepReport report;
  report.kind = kind_;
  report.duration_ms = std::chrono::duration<double, std::milli>(now - start_).count();
  auto add = [&](std::string_view verb, wire::AttributeId id, const mad::MethodStatistics& after,
                 const mad::MethodStatistics& before) {
    const uint64_t sent = after.sent - before.sent;
    report.timeouts += after.timeouts - before.timeouts;
    if (sent == 0) return;
    report.smps_sent += sent;
    if (verb == "Set") report.sets_sent += sent;
    report.smps_by_attribute[fmt::format("{} {}", verb, wire::AttributeName(id))] = sent;
  };
  for (const auto& [id, counts] : statistics.attributes) {
    const auto found = before_.attributes.find(id);
    const mad::EngineStatistics::Attribute none;
    const auto& before = found == before_.attributes.end() ? none : found->second;
    add("Get", id, counts.get, before.get);
    add("Set", id, counts.set, before.set);
  }
  return report;
}

}  // namespace fabricd::sweep
