// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/assessing_source.h"

#include <string>

#include "fabric/hosts.h"
#include "telemetry/evidence/evidence_maker.h"

namespace fabricd::sim {

std::vector<Concluded> AssessingSource::Look(const telemetry::TelemetryView& view, Instant now) {
  std::vector<Concluded> concluded;
  if (view.snapshot == nullptr) return concluded;
  const fabric::HostTable hosts = fabric::FindHosts(*view.snapshot, fabric::HostPatterns());
  const std::vector<policy::LinkEvidence> links = telemetry::MakeEvidence(view, &hosts);
  const std::vector<policy::Assessment> assessed = assessor_.Assess(links, now);
  for (size_t i = 0; i < links.size(); ++i) {
    const policy::Standing& standing = assessed[i].standing;
    const bool stands = standing.stage == policy::Stage::kBad && policy::IsBad(standing.verdict);
    if (!stands || assessed[i].forbids_action) continue;
    const policy::Attribution& of = assessed[i].verdict.attribution;
    const policy::EndEvidence& end = of.side == policy::Side::kB ? links[i].b : links[i].a;
    concluded.push_back({end.node, end.port, std::string(policy::VerdictName(standing.verdict)),
                         std::string(policy::CulpritName(of.culprit))});
  }
  return concluded;
}

}  // namespace fabricd::sim
