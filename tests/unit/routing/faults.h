// SPDX-License-Identifier: Apache-2.0
// A fabric to which things happen: cables, switches and host links die and come back, one random
// step at a time. Each step makes the next generation of the snapshot as the sweep would.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "fabric/snapshot_builder.h"
#include "tests/support/fabrics.h"

namespace fabricd::testing {

class FaultyFabric {
 public:
  FaultyFabric(TestFabric intact, uint64_t seed)
      : intact_(std::move(intact)), rng_(seed), now_(intact_), builder_(*intact_.snapshot) {
    intact_.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.IsSwitch()) switches_.push_back(node.index);
      for (size_t port = 0; port < node.ports.size(); ++port) {
        const PortRef self{node.index, PortNum(static_cast<uint8_t>(port))};
        const PortRef peer = node.ports[port].peer;
        if (peer.IsNone() || peer < self) continue;
        const bool inner = node.IsSwitch() && intact_.snapshot->node(peer.node)->IsSwitch();
        (inner ? cables_ : host_cables_).push_back({self, peer});
      }
    });
  }

  using Cable = std::pair<PortRef, PortRef>;
  const TestFabric& now() const { return now_; }
  const std::vector<Cable>& cables() const { return cables_; }  // Between switches, when intact.
  const std::vector<NodeIndex>& switches() const { return switches_; }

  void Cut(const Cable& cable) {
    // Devices tell of it in different ways.
    switch (rng_.Below(3)) {
      case 0: builder_.Unlink(cable.first); break;
      case 1: SetState(cable.second, wire::PortState::kDown); break;
      default:
        SetState(cable.first, wire::PortState::kDown);
        SetState(cable.second, wire::PortState::kDown);
    }
  }
  void Mend(const Cable& cable) {
    if (!builder_.node(cable.first.node) || !builder_.node(cable.second.node)) return;
    builder_.Link(cable.first, cable.second);
    SetState(cable.first, wire::PortState::kActive);
    SetState(cable.second, wire::PortState::kActive);
  }
  void Kill(NodeIndex node) { builder_.RemoveNode(node); }
  void Revive(NodeIndex index) {
    if (builder_.node(index)) return;
    const fabric::Node& node = *intact_.snapshot->node(index);
    builder_.PutNode(node.info);
    builder_.SetDescription(index, node.description);
    if (node.switch_info) builder_.SetSwitchInfo(index, *node.switch_info);
    for (const auto* list : {&cables_, &host_cables_})
      for (const Cable& cable : *list)
        if (cable.first.node == index || cable.second.node == index) Mend(cable);
  }
  void Apply() { now_.snapshot = builder_.Build(); }

  // One to three things at once.
  void RandomStep() {
    for (uint64_t left = 1 + rng_.Below(3); left > 0; --left) {
      const bool heals = rng_.Chance(0.35);
      const uint64_t what = rng_.Below(10);
      if (what < 6 && !cables_.empty())
        heals ? Mend(Any(cables_)) : Cut(Any(cables_));
      else if (what < 8 && !host_cables_.empty())
        heals ? Mend(Any(host_cables_)) : Cut(Any(host_cables_));
      else if (!switches_.empty())
        heals ? Revive(Any(switches_)) : Kill(Any(switches_));
    }
    Apply();
  }
  void MendAll() {
    for (NodeIndex node : switches_) Revive(node);
    for (const Cable& cable : cables_) Mend(cable);
    for (const Cable& cable : host_cables_) Mend(cable);
    Apply();
  }

 private:
  template <typename T>
  const T& Any(const std::vector<T>& list) {
    return list[rng_.Below(list.size())];
  }
  void SetState(PortRef ref, wire::PortState state) {
    wire::PortInfo info;
    info.port_state = state;
    info.mtu_cap = 5;
    builder_.SetPortInfo(ref, info);
  }

  TestFabric intact_;
  Rng rng_;
  TestFabric now_;
  fabric::SnapshotBuilder builder_;
  std::vector<NodeIndex> switches_;
  std::vector<Cable> cables_, host_cables_;
};

}  // namespace fabricd::testing
