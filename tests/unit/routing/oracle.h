// SPDX-License-Identifier: Apache-2.0
// Dumb oracles: they follow the tables one packet at a time and search for cycles by plain
// recursion, with nothing in common with routing/.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "routing/plan/plan.h"
#include "tests/support/fabrics.h"

namespace fabricd::testing {

inline bool LinkIsUp(const fabric::FabricSnapshot& snapshot, PortRef end) {
  const fabric::Port* port = snapshot.port(end);
  const fabric::Port* peer = port ? snapshot.port(port->peer) : nullptr;
  return peer && port->IsUp() && peer->IsUp();
}

// Every node reached from `start` through switches, itself included.
inline std::set<NodeIndex> Connected(const fabric::FabricSnapshot& snapshot, NodeIndex start) {
  std::set<NodeIndex> seen{start};
  std::vector<NodeIndex> open{start};
  while (!open.empty()) {
    const fabric::Node& node = *snapshot.node(open.back());
    open.pop_back();
    if (!node.IsSwitch()) continue;
    for (const fabric::Port& port : node.ports)
      if (!port.peer.IsNone() && port.IsUp() && snapshot.port(port.peer)->IsUp() &&
          seen.insert(port.peer.node).second)
        open.push_back(port.peer.node);
  }
  return seen;
}

// Hops between all switches, by one search each.
inline std::map<std::pair<NodeIndex, NodeIndex>, size_t> SwitchDistances(const TestFabric& fabric) {
  std::map<std::pair<NodeIndex, NodeIndex>, size_t> hops;
  fabric.snapshot->ForEachNode([&](const fabric::Node& start) {
    if (!start.IsSwitch()) return;
    std::vector<NodeIndex> queue{start.index};
    hops[{start.index, start.index}] = 0;
    for (size_t next = 0; next < queue.size(); ++next)
      for (const fabric::Port& port : fabric.snapshot->node(queue[next])->ports) {
        if (port.peer.IsNone() || !fabric.snapshot->node(port.peer.node)->IsSwitch()) continue;
        if (hops.count({start.index, port.peer.node})) continue;
        hops[{start.index, port.peer.node}] = hops[{start.index, queue[next]}] + 1;
        queue.push_back(port.peer.node);
      }
  });
  return hops;
}

// A link in one direction, by its sending end.
using Channel = PortRef;

struct Walk {
  std::vector<Channel> channels;  // Also the one to the end port.
  PortRef end;                    // Where it arrived; none: nowhere.
};
inline Walk Follow(const fabric::FabricSnapshot& snapshot, const routing::RoutingPlan& plan,
                   NodeIndex from, Lid lid) {
  Walk walk;
  NodeIndex at = from;
  for (size_t hops = 0; hops <= snapshot.node_count(); ++hops) {
    if (!plan.HasRow(at)) return walk;
    const uint8_t out = plan.EgressPort(at, lid);
    if (out == 0) {
      walk.end = {at, PortNum(0)};
      return walk;
    }
    const PortRef channel{at, PortNum(out)};
    if (out == routing::kNoRoute || !LinkIsUp(snapshot, channel)) return walk;
    walk.channels.push_back(channel);
    const PortRef peer = snapshot.port(channel)->peer;
    if (!snapshot.node(peer.node)->IsSwitch()) {
      walk.end = peer;
      return walk;
    }
    at = peer.node;
  }
  return walk;  // Longer than the fabric is large: a loop.
}

// (Switch, LID) pairs that are connected but do not arrive at the owner.
inline uint64_t UnreachablePairs(const TestFabric& fabric, const routing::RoutingPlan& plan) {
  uint64_t pairs = 0;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    const std::set<NodeIndex> reached = Connected(*fabric.snapshot, node.index);
    for (uint32_t value = 1; value <= fabric.lids.top().value(); ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      const PortRef owner = fabric.lids.Owner(lid);
      if (owner.IsNone() || !reached.count(owner.node)) continue;
      // A CA may hang on two components of the fabric: this port must be on ours.
      const fabric::Port* port = fabric.snapshot->port(owner);
      const bool here = owner.port == PortNum(0) ? true
                                                 : port->IsUp() && !port->peer.IsNone() &&
                                                       reached.count(port->peer.node);
      if (here && Follow(*fabric.snapshot, plan, node.index, lid).end != owner) ++pairs;
    }
  });
  return pairs;
}

// Whether packets of all (switch, LID) pairs together can wait for each other in a circle on one
// lane.
class CycleSearch {
 public:
  CycleSearch(const TestFabric& fabric, const routing::RoutingPlan& plan) {
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return;
      for (uint32_t value = 1; value <= fabric.lids.top().value(); ++value) {
        const Lid lid(static_cast<uint16_t>(value));
        const Walk walk = Follow(*fabric.snapshot, plan, node.index, lid);
        const int lane = plan.ServiceLevel(node.index, lid) % plan.lanes;
        for (size_t i = 1; i < walk.channels.size(); ++i)
          waits_[{lane, walk.channels[i - 1]}].insert({lane, walk.channels[i]});
      }
    });
  }
  bool HasCycle() {
    for (const auto& [place, next] : waits_)
      if (Visit(place)) return true;
    return false;
  }

 private:
  using LaneOfChannel = std::pair<int, Channel>;
  bool Visit(LaneOfChannel place) {
    int& state = state_[place];
    if (state != 0) return state == 1;
    state = 1;
    for (const LaneOfChannel& next : waits_[place])
      if (Visit(next)) return true;
    state_[place] = 2;
    return false;
  }
  std::map<LaneOfChannel, std::set<LaneOfChannel>> waits_;
  std::map<LaneOfChannel, int> state_;
};

inline bool HasCreditLoop(const TestFabric& fabric, const routing::RoutingPlan& plan) {
  return CycleSearch(fabric, plan).HasCycle();
}

}  // namespace fabricd::testing
