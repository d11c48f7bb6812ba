// SPDX-License-Identifier: Apache-2.0
// VerdictSource: who concludes something of what telemetry has read. A verdict engine implements
// it; tests have a double.
#pragma once

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"
#include "telemetry/view.h"

namespace fabricd::sim {

// A verdict that stands.
struct Concluded {
  // The end that it accuses, or one end of the link that it is about. By GUID: NodeIndex means one
  // thing in the view and another in the simulated fabric.
  Guid node;
  PortNum port;
  std::string verdict;  // "NOISY_PHY", …
  std::string culprit;  // "CABLE", …; may be empty.
  friend auto operator<=>(const Concluded&, const Concluded&) = default;
};

class VerdictSource {
 public:
  virtual ~VerdictSource() = default;
  // The tables that fabricd has planned, of nodes of that fabric. Called before Look() where there
  // are some.
  virtual void OnTables(const fabric::FabricSnapshot& /*snapshot*/,
                        const routing::RoutingPlan& /*plan*/) {}
  // All verdicts that stand now. Called once in an interval of polling, with a new view.
  virtual std::vector<Concluded> Look(const telemetry::TelemetryView& view, Instant now) = 0;
};

}  // namespace fabricd::sim
