// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/port_loads.h"

#include "sim/traffic/max_min.h"

namespace fabricd::sim {
namespace {

constexpr double kRounding = 1e-9;

}  // namespace

TrafficLoads LoadsOf(const std::vector<TrafficFlow>& flows) {
  absl::flat_hash_map<PortRef, uint32_t> index_of;
  absl::flat_hash_map<uint32_t, uint32_t> index_of_limit;
  std::vector<double> capacities;
  std::vector<std::vector<uint32_t>> used(flows.size());
  const auto add = [&](auto& indices, const auto& key, double capacity) {
    const auto [at, inserted] = indices.try_emplace(key, static_cast<uint32_t>(capacities.size()));
    if (inserted) capacities.push_back(capacity);
    return at->second;
  };
  for (size_t i = 0; i < flows.size(); ++i) {
    const TrafficFlow& flow = flows[i];
    for (size_t hop = 0; hop < flow.path.size(); ++hop) {
      used[i].push_back(add(index_of, flow.path[hop], flow.capacities[hop]));
    }
    // Behind the path, so that a place in it is one in `used` too.
    used[i].push_back(add(index_of_limit, flow.limit, flow.limit_gigabits));
  }
  const std::vector<FairFlow> fair = MaxMinFair(capacities, used);

  TrafficLoads loads;
  for (size_t i = 0; i < flows.size(); ++i) {
    loads.gigabits.push_back(fair[i].rate);
    for (size_t hop = 0; hop < flows[i].path.size(); ++hop) {
      loads.ports[flows[i].path[hop]].xmit_gigabits += fair[i].rate;
      loads.ports[flows[i].peers[hop]].rcv_gigabits += fair[i].rate;
    }
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    const TrafficFlow& flow = flows[i];
    const size_t bottleneck = fair[i].bottleneck;
    if (bottleneck == 0 || bottleneck >= flow.path.size()) continue;
    PortLoad& feeding = loads.ports[flow.path[bottleneck - 1]];
    const double capacity = flow.capacities[bottleneck - 1];
    const double wait = capacity > 0 ? 1 - feeding.xmit_gigabits / capacity : 0;
    if (wait > kRounding) feeding.wait = wait;
  }
  return loads;
}

}  // namespace fabricd::sim
