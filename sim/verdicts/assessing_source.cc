// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/assessing_source.h"

#include <string>

#include "fabric/hosts.h"
#include "telemetry/evidence/evidence_maker.h"

namespace fabricd::sim {

void AssessingSource::OnTables(const fabric::FabricSnapshot& snapshot,
                               const routing::RoutingPlan& plan) {
  snapshot_ = &snapshot;
  plan_ = &plan;
}

std::vector<Concluded> AssessingSource::Look(const telemetry::TelemetryView& view, Instant now) {
  std::vector<Concluded> concluded;
  if (view.snapshot == nullptr) return concluded;
  std::vector<policy::CongestionTree> trees;
  // A plan is of the snapshot that it was published with.
  if (plan_ != nullptr && view.snapshot.get() == snapshot_)
    trees = telemetry::TreesOf(telemetry::FindCongestion(view, *snapshot_, *plan_), *snapshot_);
  const fabric::HostTable hosts = fabric::FindHosts(*view.snapshot, fabric::HostPatterns());
  const auto visit = [&](policy::Assessor::EachLink each) {
    telemetry::VisitEvidence(view, &hosts, each);
  };
  for (const policy::Assessment& each : assessor_.Assess(visit, now, trees)) {
    const policy::Standing& standing = each.standing;
    const bool stands = standing.stage == policy::Stage::kBad && policy::IsBad(standing.verdict);
    if (!stands || each.forbids_action) continue;
    const policy::Accusation& accused = standing.accusation;
    const policy::HeldPort& end = accused.end == policy::HeldPort() ? each.link.a : accused.end;
    concluded.push_back({end.node, end.port, std::string(policy::VerdictName(standing.verdict)),
                         std::string(policy::CulpritName(accused.culprit))});
  }
  return concluded;
}

}  // namespace fabricd::sim
