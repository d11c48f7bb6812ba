// SPDX-License-Identifier: Apache-2.0
// AssessingSource: the verdicts of policy::Assessor with its defaults, by evidence that telemetry
// makes of each view. Only verdicts that name a culprit count as concluded: SUSPECT, VICTIM and
// UNKNOWN inform, and lead to no action.
#pragma once

#include <vector>

#include "policy/verdict/assessor.h"
#include "sim/verdicts/verdict_source.h"
#include "telemetry/evidence/congestion.h"

namespace fabricd::sim {

class AssessingSource : public VerdictSource {
 public:
  AssessingSource() : assessor_({}) {}
  void OnTables(const fabric::FabricSnapshot& snapshot, const routing::RoutingPlan& plan) override;
  std::vector<Concluded> Look(const telemetry::TelemetryView& view, Instant now) override;

 private:
  // Of the last OnTables(): used only in the Look() that follows it.
  const fabric::FabricSnapshot* snapshot_ = nullptr;
  const routing::RoutingPlan* plan_ = nullptr;
  policy::Assessor assessor_;
};

}  // namespace fabricd::sim
