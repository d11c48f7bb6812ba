// SPDX-License-Identifier: Apache-2.0
// How the tables of a plan serve one job: its own collective operations between its own hosts, in
// the words of quality.h, on all rails at once and rail by rail. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routing/plan/parallel.h"
#include "routing/quality/quality.h"

namespace fabricd::routing {

struct JobPattern {
  std::string name;              // "ring", "recursive-doubling", "all-to-all".
  std::optional<uint32_t> rail;  // None: all rails at once.
  // Over the patterns of the family; `worst` is its power of two or shift, 0 of a ring.
  Congestion congestion;
  // The first link with the most flows in the worst pattern, by its sending port; none: no link
  // between switches is used.
  PortRef worst_link;
};

struct JobPatterns {
  std::vector<JobPattern> patterns;  // All rails first.
  // Ports of these hosts that are no end ports of the graph. Sorted.
  std::vector<PortRef> left_out;
};

// `hosts` by rank; their units do not count. Of the options, those that bound the work.
JobPatterns MeasureJob(const SwitchGraph& graph, const RoutingPlan& plan, const RailedHosts& hosts,
                       const QualityOptions& options, Parallel& parallel);

}  // namespace fabricd::routing
