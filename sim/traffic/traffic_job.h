// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/traffic/patterns.h"

namespace fabricd::sim {

// A job: its hosts, in the order of their ranks, each with all of its ports. The first port of each
// host sends to first ports only, the second to second ports: one pattern for each rail.
struct TrafficJob {
  std::string name;
  TrafficPattern pattern = TrafficPattern::kRing;
  std::vector<std::string> hosts;  // At least two, each once.
  double load = 1;             // Part of its rate that a port sends at most; above 0, at most 1.
  std::optional<size_t> rail;  // Only the ports of this one, from 0; nullopt: all.
};

// What it does now.
struct TrafficReport {
  TrafficJob job;
  size_t flows = 0;
  size_t unrouted = 0;  // Flows without a path, by the tables and links as they are.
  double gigabits = 0;  // Of all flows together.
  double slowest = 0;   // Gb/s of the slowest flow that has a path; 0: none has.
};

}  // namespace fabricd::sim
