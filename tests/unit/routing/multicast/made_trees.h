// SPDX-License-Identifier: Apache-2.0
// Multicast groups of the hosts of a TestFabric; trees for them, walked and verified.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "common/rng.h"
#include "routing/multicast/multicast_trees.h"
#include "routing/plan/engine.h"
#include "routing/proof/multicast_proof.h"
#include "tests/support/fabrics.h"

namespace fabricd::routing {

using fabric::MulticastGroup;
using fabric::MulticastGroups;
using fabricd::testing::TestFabric;

inline std::vector<Guid> HostPorts(const fabric::FabricSnapshot& snapshot) {
  std::vector<Guid> guids;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 1; port < node.ports.size() && !node.IsSwitch(); ++port)
      guids.push_back(node.ports[port].guid);
  });
  return guids;
}

inline MulticastGroup Group(uint16_t number, const std::vector<Guid>& members) {
  MulticastGroup group;
  group.mlid = Lid(static_cast<uint16_t>(0xC000 + number));
  for (Guid guid : members) group.members.push_back({guid, true});
  std::sort(group.members.begin(), group.members.end());
  return group;
}

// Joins and leaves of one group.
inline void Shuffle(MulticastGroup& group, const std::vector<Guid>& ports, Rng& rng) {
  std::map<Guid, bool> members;
  for (const auto& member : group.members) members[member.port_guid] = member.receives;
  for (uint64_t left = 1 + rng.Below(3); left > 0; --left) {
    const Guid guid = ports[rng.Below(ports.size())];
    if (rng.Chance(0.4))
      members.erase(guid);
    else
      members[guid] = rng.Chance(0.8);
  }
  group.members.clear();
  for (const auto& [guid, receives] : members) group.members.push_back({guid, receives});
}

struct Walk {
  std::set<PortRef> delivered;  // Switch ports by which it left the switches.
  bool loops = false;
};
// A packet that enters a switch by a port.
inline Walk Follow(const fabric::FabricSnapshot& snapshot, const MulticastPlan& plan, Lid mlid,
                   PortRef entered) {
  Walk walk;
  std::vector<PortRef> open{entered};
  size_t steps = 0;
  while (!open.empty()) {
    const PortRef in = open.back();
    open.pop_back();
    if (++steps > 10'000) return walk.loops = true, walk;
    const MulticastRow* row = plan.Row(in.node);
    if (row == nullptr) continue;
    for (PortNum out : row->PortsOf(mlid)) {
      if (out == in.port) continue;
      const fabric::Port& port = snapshot.node(in.node)->port(out);
      const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
      if (out != PortNum(0) && peer != nullptr && peer->IsSwitch())
        open.push_back(port.peer);
      else if (!walk.delivered.insert({in.node, out}).second)
        walk.loops = true;
    }
  }
  return walk;
}

inline const UnservedMember* FindUnserved(const MulticastTree& tree, Guid guid) {
  for (const auto& member : tree.unserved)
    if (member.port_guid == guid) return &member;
  return nullptr;
}

// From each member that is served to all others that are and receive, and nobody else.
inline void ExpectServed(const fabric::FabricSnapshot& snapshot, const MulticastGroups& groups,
                         const MulticastPlan& plan) {
  ASSERT_EQ(plan.trees.size(), groups.groups.size());
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    const MulticastTree& tree = *plan.trees[i];
    std::set<PortRef> receivers, all;
    for (const auto& member : groups.groups[i].members) {
      if (FindUnserved(tree, member.port_guid) != nullptr) continue;
      const PortRef at = snapshot.port(snapshot.FindPort(member.port_guid))->peer;
      all.insert(at);
      if (member.receives) receivers.insert(at);
    }
    for (PortRef from : all) {
      const Walk walk = Follow(snapshot, plan, tree.mlid, from);
      std::set<PortRef> wanted = receivers;
      wanted.erase(from);
      EXPECT_FALSE(walk.loops);
      EXPECT_EQ(walk.delivered, wanted);
    }
  }
}

// Makes the trees and judges them.
inline MulticastPlan Make(const TestFabric& fabric, const RoutingPlan& plan,
                          const MulticastGroups& groups, const MulticastPlan* before = nullptr) {
  MulticastPlan trees = MakeTrees({*fabric.snapshot, fabric.lids, plan, groups, before});
  const VerifyReport report = VerifyMulticast(*fabric.snapshot, fabric.lids, plan, groups, trees);
  EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
  EXPECT_TRUE(report.deadlock_free);
  ExpectServed(*fabric.snapshot, groups, trees);
  return trees;
}

inline size_t CountUnserved(const MulticastPlan& plan, Unserved reason) {
  size_t count = 0;
  for (const auto& tree : plan.trees)
    for (const auto& member : tree->unserved) count += member.reason == reason;
  return count;
}

inline std::shared_ptr<const RoutingPlan> ChainPlan(const TestFabric& fabric, uint8_t lanes) {
  RoutingOptions options;
  options.lanes_max = lanes;
  return RunChain({*fabric.snapshot, fabric.lids, options, nullptr}).plan;
}

struct Tree8 {
  TestFabric fabric = testing::MakeFatTree(8, 3).Build();
  std::vector<Guid> ports = HostPorts(*fabric.snapshot);
  std::shared_ptr<const RoutingPlan> plan = ChainPlan(fabric, 1);
  MulticastGroups groups;

  explicit Tree8(int count) {
    Rng rng(3);
    for (uint16_t g = 0; g < count; ++g) {
      groups.groups.push_back(Group(g, {}));
      for (int i = 0; i < 8; ++i) Shuffle(groups.groups.back(), ports, rng);
    }
  }
};

}  // namespace fabricd::routing
