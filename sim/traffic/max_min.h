// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates: no flow can be faster without making one slower that is no faster than it
// (Bertsekas and Gallager, Data Networks, §6.5.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fabricd::sim {

struct FairFlow {
  double rate = 0;
  // Index in the flow's own list: the channel that is saturated and lets it have no more.
  uint32_t bottleneck = 0;
};

// `capacities`: of each channel, in any unit. `flows`: for each the channels that it uses, as
// indices of those, each once, at least one. Returns the rate of each flow, in the same unit.
// REQUIRES: capacities are finite and not below 0.
std::vector<FairFlow> MaxMinFair(std::span<const double> capacities,
                                 std::span<const std::vector<uint32_t>> flows);

}  // namespace fabricd::sim
