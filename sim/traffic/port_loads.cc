// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/port_loads.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "sim/traffic/max_min.h"

namespace fabricd::sim {
namespace {

constexpr double kRounding = 1e-9;

// What the flows use of what is limited. A place in a flow's list is one in its path, then come its
// limit, its receiver where that takes less than the link, and its share of a blocked port.
class Channels {
 public:
  explicit Channels(const std::vector<TrafficFlow>& flows) : used_(flows.size()) {
    for (size_t i = 0; i < flows.size(); ++i) {
      const TrafficFlow& flow = flows[i];
      for (size_t hop = 0; hop < flow.path.size(); ++hop) {
        Use(i, of_port_, flow.path[hop], flow.capacities[hop]);
      }
      Use(i, of_limit_, flow.limit, flow.limit_gigabits);
      if (!flow.receiver_gigabits) continue;
      const double drained = std::max(*flow.receiver_gigabits, kHoqShare * flow.capacities.back());
      Use(i, of_receiver_, flow.peers.back(), drained);
    }
  }
  void Cap(size_t flow, double gigabits) {
    used_[flow].push_back(static_cast<uint32_t>(capacities_.size()));
    capacities_.push_back(gigabits);
  }
  std::vector<FairFlow> Share() const { return MaxMinFair(capacities_, used_); }

 private:
  template <typename Key>
  void Use(size_t flow, absl::flat_hash_map<Key, uint32_t>& indices, const Key& key,
           double capacity) {
    const auto next = static_cast<uint32_t>(capacities_.size());
    const auto [at, inserted] = indices.try_emplace(key, next);
    if (inserted) capacities_.push_back(capacity);
    used_[flow].push_back(at->second);
  }

  absl::flat_hash_map<PortRef, uint32_t> of_port_, of_receiver_;
  absl::flat_hash_map<uint32_t, uint32_t> of_limit_;
  std::vector<double> capacities_;
  std::vector<std::vector<uint32_t>> used_;
};

bool IsHeldByReceiver(const TrafficFlow& flow, const FairFlow& fair) {
  return flow.receiver_gigabits && fair.bottleneck == flow.path.size() + 1;
}

using Receivers = absl::flat_hash_set<PortRef>;

// Those that hold back a flow. Of `among`, where that is given.
Receivers HoldingBack(const std::vector<TrafficFlow>& flows, const std::vector<FairFlow>& fair,
                      const Receivers* among) {
  Receivers holding;
  for (size_t i = 0; i < flows.size(); ++i) {
    const PortRef receiver = flows[i].peers.back();
    if (IsHeldByReceiver(flows[i], fair[i]) && (among == nullptr || among->contains(receiver)))
      holding.insert(receiver);
  }
  return holding;
}

// How many ports of each flow's path wait for the credits of these receivers. Slows the flows that
// share a port with one that they hold back. `fair`: as without that.
std::vector<size_t> SlowDown(const std::vector<TrafficFlow>& flows, const Receivers& receivers,
                             Channels channels, std::vector<FairFlow>& fair) {
  std::vector<size_t> waiting(flows.size(), 0);
  absl::flat_hash_map<PortRef, double> least;  // Of the flows that are held back there.
  for (size_t i = 0; i < flows.size(); ++i) {
    if (!IsHeldByReceiver(flows[i], fair[i]) || !receivers.contains(flows[i].peers.back()))
      continue;
    for (PortRef port : flows[i].path) {
      double& rate = least.try_emplace(port, fair[i].rate).first->second;
      rate = std::min(rate, fair[i].rate);
    }
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    double cap = std::numeric_limits<double>::infinity();
    size_t shared = 0;
    for (size_t hop = 0; hop < flows[i].path.size(); ++hop) {
      const auto found = least.find(flows[i].path[hop]);
      if (found == least.end()) continue;
      cap = std::min(cap, found->second);
      shared = hop + 1;
    }
    if (!(cap < fair[i].rate * (1 - kRounding))) continue;
    channels.Cap(i, cap);
    waiting[i] = shared;
  }
  fair = channels.Share();
  for (size_t i = 0; i < flows.size(); ++i)
    if (IsHeldByReceiver(flows[i], fair[i])) waiting[i] = flows[i].path.size();
  return waiting;
}

// A receiver whose flows are slowed upstream by another one, so that it could take more, holds
// nobody back.
std::vector<size_t> Block(const std::vector<TrafficFlow>& flows, const Channels& channels,
                          std::vector<FairFlow>& fair) {
  const std::vector<FairFlow> before = fair;
  Receivers receivers = HoldingBack(flows, before, nullptr);
  std::vector<size_t> waiting(flows.size(), 0);
  while (!receivers.empty()) {
    fair = before;
    waiting = SlowDown(flows, receivers, channels, fair);
    Receivers still = HoldingBack(flows, fair, &receivers);
    if (still.size() == receivers.size()) break;
    receivers = std::move(still);
  }
  return waiting;
}

// What ports transmit and receive, and what is discarded before a receiver.
TrafficLoads Carry(const std::vector<TrafficFlow>& flows, const std::vector<FairFlow>& fair) {
  TrafficLoads loads;
  absl::flat_hash_map<PortRef, double> wanted;  // Of receivers.
  for (size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].receiver_gigabits) wanted[flows[i].peers.back()] += fair[i].rate;
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    const TrafficFlow& flow = flows[i];
    double delivered = fair[i].rate;
    if (flow.receiver_gigabits) {
      const double all = wanted[flow.peers.back()];
      if (all > *flow.receiver_gigabits) delivered *= *flow.receiver_gigabits / all;
    }
    loads.gigabits.push_back(delivered);
    const size_t last = flow.path.size() - 1;
    for (size_t hop = 0; hop <= last; ++hop) {
      const double rate = hop == last ? delivered : fair[i].rate;
      loads.ports[flow.path[hop]].xmit_gigabits += rate;
      loads.ports[flow.peers[hop]].rcv_gigabits += rate;
    }
    const double discarded = fair[i].rate - delivered;
    if (discarded > kRounding) loads.ports[flow.path[last]].discarded_gigabits += discarded;
  }
  return loads;
}

}  // namespace

TrafficLoads LoadsOf(const std::vector<TrafficFlow>& flows) {
  Channels channels(flows);
  std::vector<FairFlow> fair = channels.Share();
  const std::vector<size_t> waiting = Block(flows, channels, fair);
  TrafficLoads loads = Carry(flows, fair);
  const auto wait = [&](const TrafficFlow& flow, size_t hop) {
    PortLoad& load = loads.ports[flow.path[hop]];
    const double capacity = flow.capacities[hop];
    const double share = capacity > 0 ? 1 - load.xmit_gigabits / capacity : 0;
    if (share > kRounding) load.wait = share;
  };
  for (size_t i = 0; i < flows.size(); ++i) {
    const TrafficFlow& flow = flows[i];
    for (size_t hop = 0; hop < waiting[i]; ++hop) wait(flow, hop);
    const size_t last = flow.path.size() - 1;
    if (loads.ports[flow.path[last]].discarded_gigabits > 0) wait(flow, last);
    const size_t bottleneck = fair[i].bottleneck;
    if (bottleneck > 0 && bottleneck <= last) wait(flow, bottleneck - 1);
  }
  return loads;
}

}  // namespace fabricd::sim
