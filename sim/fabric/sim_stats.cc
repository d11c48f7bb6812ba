// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_stats.h"

namespace fabricd::sim {

uint64_t SimStats::sets() const {
  uint64_t sum = 0;
  for (const auto& [attribute, counts] : smps) sum += counts.sets;
  return sum;
}

uint64_t SimStats::gets() const {
  uint64_t sum = 0;
  for (const auto& [attribute, counts] : smps) sum += counts.gets;
  return sum;
}

}  // namespace fabricd::sim
