// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/max_min.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace fabricd::sim {
namespace {

struct FairChannel {
  double free = 0;              // Of its capacity, behind the flows that have their rate.
  uint32_t waiting = 0;         // Flows that have none yet.
  std::vector<uint32_t> flows;  // All that use it.
  double share() const { return std::max(0.0, free) / waiting; }
};

}  // namespace

// Repeatedly the channel that has the least for each of its flows gives them that. A channel's
// share never falls below that of a channel before it, so that what waits in the heap is its share
// at some time before, or its present one.
std::vector<FairFlow> MaxMinFair(std::span<const double> capacities,
                                 std::span<const std::vector<uint32_t>> flows) {
  std::vector<FairChannel> channels(capacities.size());
  for (size_t i = 0; i < capacities.size(); ++i) channels[i].free = capacities[i];
  for (size_t i = 0; i < flows.size(); ++i) {
    for (uint32_t channel : flows[i]) {
      channels[channel].flows.push_back(static_cast<uint32_t>(i));
      ++channels[channel].waiting;
    }
  }
  using Entry = std::pair<double, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  for (size_t i = 0; i < channels.size(); ++i) {
    if (channels[i].waiting > 0) heap.emplace(channels[i].share(), static_cast<uint32_t>(i));
  }
  std::vector<FairFlow> fair(flows.size());
  std::vector<char> has_rate(flows.size(), 0);
  while (!heap.empty()) {
    const auto [share, index] = heap.top();
    heap.pop();
    FairChannel& channel = channels[index];
    if (channel.waiting == 0) continue;
    if (channel.share() > share) {
      heap.emplace(channel.share(), index);
      continue;
    }
    for (uint32_t flow : channel.flows) {
      if (std::exchange(has_rate[flow], 1) != 0) continue;
      const std::vector<uint32_t>& used = flows[flow];
      fair[flow].rate = share;
      fair[flow].bottleneck =
          static_cast<uint32_t>(std::find(used.begin(), used.end(), index) - used.begin());
      for (uint32_t other : used) {
        channels[other].free -= share;
        --channels[other].waiting;
      }
    }
  }
  return fair;
}

}  // namespace fabricd::sim
