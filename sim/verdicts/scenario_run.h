// SPDX-License-Identifier: Apache-2.0
// RunScenario: one seed of a scenario. fabricd's Core brings a simulated fabric up, a collector
// polls it in virtual time, the causes happen, and a VerdictSource looks at what the collector
// knows once in each interval. One topology, scenario and seed give one run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"
#include "sim/verdicts/cause_injector.h"
#include "sim/verdicts/scenario.h"
#include "sim/verdicts/verdict_source.h"

namespace fabricd::sim {

// From the first look that had it to the first that had it no more.
struct VerdictSpan {
  Concluded what;
  PortRef port;      // In the simulated fabric.
  std::string name;  // "node0001 mlx5_0/1"
  Instant since;
  std::optional<Instant> until;  // Nullopt: it stood at the end.
};

// The same of what many links have in common, and of hosts that would be cordoned.
struct FindingSpan {
  CommonCauseFound what;
  Instant since;
  std::optional<Instant> until;
};
struct HoldSpan {
  HeldHost what;
  Instant since;
  std::optional<Instant> until;
};

struct ScenarioResult {
  uint64_t seed = 0;
  Duration interval{};
  Instant begin, end;              // Of the scenario: `begin` is when the subnet was up.
  std::vector<Injected> causes;    // In the order of the scenario.
  std::vector<VerdictSpan> spans;  // By `since`, then by port and verdict.
  std::vector<FindingSpan> findings;
  std::vector<HoldSpan> holds;
  size_t hosts = 0;
};

// kNotFound: a place that the fabric does not have. kFailedPrecondition: the subnet did not come
// up.
absl::StatusOr<ScenarioResult> RunScenario(const fabric::FabricSnapshot& topology,
                                           const Scenario& scenario, uint64_t seed,
                                           VerdictSource& source);

// Whether the verdict may be about the cause: it accuses one of its ends, and was not there before
// it began.
bool IsAbout(const VerdictSpan& span, const Injected& cause);

}  // namespace fabricd::sim
