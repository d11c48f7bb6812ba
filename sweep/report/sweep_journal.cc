// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/sweep_journal.h"

#include <fmt/format.h>

namespace fabricd::sweep {
namespace {

// Only of kinds that are logged.
std::string_view NameOf(SweepKind kind) {
  if (kind == SweepKind::kHeavy) return "heavy sweep";
  return kind == SweepKind::kTargeted ? "change" : "settling";
}

}  // namespace

void SweepJournal::EmitEvent(fabric::FabricEvent event) {
  Log(event.severity == fabric::Severity::kInfo ? LogLevel::kInfo : LogLevel::kWarning,
      fmt::format("{}: {}: {}", event.type, event.subject, event.message));
  effects_.events.push_back(std::move(event));
}

SweepReport SweepJournal::EndSweep(SweepKind kind, const fabric::FabricSnapshot& snapshot,
                                   const ProblemList& problems, Instant now) {
  SweepReport report = report_.Finish(now, engine_.statistics());
  if (kind == SweepKind::kLight) return report;
  for (const Problem& problem : problems.List())
    Log(LogLevel::kWarning, fmt::format("{}: {}: {}", ProblemKindName(problem.kind),
                                        SubjectText(problem.subject, snapshot), problem.message));
  Log(LogLevel::kInfo,
      fmt::format("{} ended: {} nodes, {} switches, {:.1f} ms, {} SMPs ({} Sets, {} time-outs)",
                  NameOf(kind), snapshot.node_count(), snapshot.switch_count(), report.duration_ms,
                  report.smps_sent, report.sets_sent, report.timeouts));
  return report;
}

void SweepJournal::OnOrder(const routing::PushPlan& push, Instant now) {
  if (auto event = reroute_.OnOrder(push, now)) EmitEvent(*std::move(event));
}

void SweepJournal::EndReroute(const Programmer& programmer, bool superseded, Instant now) {
  if (auto event = reroute_.Finish(programmer, superseded, now, engine_.statistics()))
    EmitEvent(*std::move(event));
}

}  // namespace fabricd::sweep
