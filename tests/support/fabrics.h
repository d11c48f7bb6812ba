// SPDX-License-Identifier: Apache-2.0
// Small and large fabrics for tests: a list of nodes and cables that becomes a FabricSnapshot and a
// LidTable. A node is known by its handle (the order in which it was added); GUIDs and LIDs follow
// the handles, whatever the order in which the snapshot is told of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/check.h"
#include "common/rng.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "fabric/snapshot_builder.h"

namespace fabricd::testing {

struct TestFabric {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::LidTable lids;
  std::vector<NodeIndex> node;  // [handle]

  // Of port 0 of a switch or of a CA's port.
  Lid LidOf(size_t handle, int port) const {
    return lids.Of({node[handle], PortNum(static_cast<uint8_t>(port))}).base;
  }
};

class FabricMaker {
 public:
  size_t AddSwitch(int ports, std::string name = "") {
    return Add(wire::NodeType::kSwitch, ports, name.empty() ? fmt::format("sw{}", size()) : name);
  }
  size_t AddHost(int ports = 1, std::string name = "") {
    return Add(wire::NodeType::kChannelAdapter, ports,
               name.empty() ? fmt::format("host{}", size()) : name);
  }
  size_t AddRouter(int ports) {
    return Add(wire::NodeType::kRouter, ports, fmt::format("router{}", size()));
  }
  size_t size() const { return nodes_.size(); }
  bool IsSwitch(size_t handle) const { return nodes_[handle].type == wire::NodeType::kSwitch; }
  void SetGuid(size_t handle, Guid guid) { nodes_[handle].guid = guid; }
  void SetLinearFdbCap(size_t handle, uint16_t cap) { nodes_[handle].linear_fdb_cap = cap; }

  void Cable(size_t a, int port_a, size_t b, int port_b) {
    cables_.push_back({a, b, port_a, port_b});
    nodes_[a].next_port = std::max(nodes_[a].next_port, port_a + 1);
    nodes_[b].next_port = std::max(nodes_[b].next_port, port_b + 1);
  }
  // By the next port of each that is higher than all used so far.
  void Cable(size_t a, size_t b) {
    const int port_a = nodes_[a].next_port++;
    const int port_b = nodes_[b].next_port++;
    cables_.push_back({a, b, port_a, port_b});
  }
  // A new one-port host on the switch.
  size_t Host(size_t on) {
    const size_t host = AddHost();
    Cable(on, host);
    return host;
  }
  size_t cable_count() const { return cables_.size(); }
  bool IsSwitchCable(size_t cable) const {
    return IsSwitch(cables_[cable].a) && IsSwitch(cables_[cable].b);
  }
  bool HasEnd(size_t cable, size_t handle) const {
    return cables_[cable].a == handle || cables_[cable].b == handle;
  }
  void RemoveCable(size_t cable) { cables_.erase(cables_.begin() + static_cast<long>(cable)); }

  // `shuffle` 0: nodes are told in the order of their handles.
  TestFabric Build(uint8_t lmc = 0, uint64_t shuffle = 0) const {
    std::vector<size_t> sequence(size());
    std::iota(sequence.begin(), sequence.end(), size_t{0});
    Rng rng(shuffle);
    for (size_t i = size(); shuffle && i > 1; --i)
      std::swap(sequence[i - 1], sequence[rng.Below(i)]);
    TestFabric fabric;
    fabric.node.resize(size());
    fabric::SnapshotBuilder builder;
    for (size_t handle : sequence) fabric.node[handle] = Put(builder, nodes_[handle]);
    wire::PortInfo up;
    up.port_state = wire::PortState::kActive;
    up.mtu_cap = 5;
    for (const Wire& cable : cables_) {
      const PortRef a = Ref(fabric, cable.a, cable.port_a), b = Ref(fabric, cable.b, cable.port_b);
      builder.Link(a, b);
      builder.SetPortInfo(a, up);
      builder.SetPortInfo(b, up);
    }
    fabric.snapshot = builder.Build();
    AssignLids(fabric, lmc);
    return fabric;
  }

 private:
  struct Spec {
    wire::NodeType type;
    int ports;
    Guid guid;
    std::string name;
    uint16_t linear_fdb_cap = 0xC000;
    int next_port = 1;
  };
  struct Wire {
    size_t a, b;
    int port_a, port_b;
  };

  size_t Add(wire::NodeType type, int ports, std::string name) {
    nodes_.push_back(
        {type, ports, Guid(0x0002c90000100000 + nodes_.size() * 0x100), std::move(name)});
    return nodes_.size() - 1;
  }
  PortRef Ref(const TestFabric& fabric, size_t handle, int port) const {
    FABRICD_CHECK(port >= 0 && port <= nodes_[handle].ports, "{} has no port {}",
                  nodes_[handle].name, port);
    return {fabric.node[handle], PortNum(static_cast<uint8_t>(port))};
  }
  static NodeIndex Put(fabric::SnapshotBuilder& builder, const Spec& spec) {
    wire::NodeInfo info;
    info.node_type = spec.type;
    info.num_ports = static_cast<uint8_t>(spec.ports);
    info.node_guid = info.system_image_guid = info.port_guid = spec.guid;
    const NodeIndex index = builder.PutNode(info);
    builder.SetDescription(index, spec.name);
    for (int port = 1; port <= spec.ports && spec.type != wire::NodeType::kSwitch; ++port)
      builder.SetPortGuid({index, PortNum(static_cast<uint8_t>(port))},
                          Guid(spec.guid.value() + static_cast<uint64_t>(port)));
    if (spec.type != wire::NodeType::kSwitch) return index;
    wire::SwitchInfo switch_info;
    switch_info.linear_fdb_cap = spec.linear_fdb_cap;
    switch_info.multicast_fdb_cap = 1024;
    builder.SetSwitchInfo(index, switch_info);
    return index;
  }
  // Switches with one LID each, ports of CAs with 2^lmc, all with a cable or not.
  void AssignLids(TestFabric& fabric, uint8_t lmc) const {
    uint32_t next = 1;
    for (size_t handle = 0; handle < size(); ++handle) {
      const bool is_switch = IsSwitch(handle);
      const uint8_t mask = is_switch ? 0 : lmc;
      for (int port = is_switch ? 0 : 1; port <= (is_switch ? 0 : nodes_[handle].ports); ++port) {
        next = (next + (1u << mask) - 1) >> mask << mask;
        fabric.lids.Assign(Ref(fabric, handle, port), {Lid(static_cast<uint16_t>(next)), mask});
        next += 1u << mask;
      }
    }
  }

  std::vector<Spec> nodes_;
  std::vector<Wire> cables_;
};

// An extended generalised fat-tree. level[i] (i = 0: above the hosts): children of each switch,
// parents of each child and parallel cables between them.
struct TreeLevel {
  int children, parents, cables = 1;
};
inline FabricMaker MakeTree(const std::vector<TreeLevel>& levels) {
  FabricMaker maker;
  size_t below_count = 1, parents = 1;
  for (const TreeLevel& level : levels) below_count *= static_cast<size_t>(level.children);
  const size_t hosts = below_count;
  std::vector<std::vector<size_t>> made(levels.size() + 1);  // [level][subtree * spread + copy]
  std::vector<size_t> spread{1};
  size_t subtrees = hosts;
  for (size_t l = 0; l < levels.size(); ++l) {
    subtrees /= static_cast<size_t>(levels[l].children);
    parents *= static_cast<size_t>(levels[l].parents);
    spread.push_back(parents);
    const int up = l + 1 < levels.size() ? levels[l + 1].parents * levels[l + 1].cables : 0;
    for (size_t i = 0; i < subtrees * parents; ++i)
      made[l + 1].push_back(
          maker.AddSwitch(levels[l].children * levels[l].cables + up, fmt::format("L{}-{}", l, i)));
  }
  for (size_t i = 0; i < hosts; ++i) made[0].push_back(maker.AddHost(levels[0].parents));
  for (size_t l = 0; l < levels.size(); ++l)
    for (size_t i = 0; i < made[l].size(); ++i) {
      const size_t subtree = i / spread[l], copy = i % spread[l];
      for (size_t j = 0; j < static_cast<size_t>(levels[l].parents); ++j) {
        const size_t parent = subtree / static_cast<size_t>(levels[l].children) * spread[l + 1] +
                              copy + spread[l] * j;
        for (int c = 0; c < levels[l].cables; ++c) maker.Cable(made[l + 1][parent], made[l][i]);
      }
    }
  return maker;
}
// Full tree of switches of one radix: 2 levels radix²/2 hosts, 3 levels radix³/4.
inline FabricMaker MakeFatTree(int radix, int levels) {
  std::vector<TreeLevel> shape{{radix / 2, 1}};
  for (int l = 1; l < levels; ++l) shape.push_back({l + 1 < levels ? radix / 2 : radix, radix / 2});
  return MakeTree(shape);
}

// Switches in a grid whose every dimension is closed to a ring (two switches: one cable).
inline FabricMaker MakeTorus(const std::vector<int>& dimensions, int hosts) {
  FabricMaker maker;
  size_t count = 1;
  for (int d : dimensions) count *= static_cast<size_t>(d);
  const int ports = 2 * static_cast<int>(dimensions.size()) + hosts;
  for (size_t s = 0; s < count; ++s) maker.AddSwitch(ports);
  size_t step = 1;
  for (int d : dimensions) {
    const auto length = static_cast<size_t>(d);
    for (size_t s = 0; s < count; ++s) {
      const size_t at = s / step % length;
      if (length == 1 || (length == 2 && at == 1)) continue;
      maker.Cable(s, at + 1 < length ? s + step : s - at * step);
    }
    step *= length;
  }
  for (size_t s = 0; s < count; ++s)
    for (int h = 0; h < hosts; ++h) maker.Host(s);
  return maker;
}
inline FabricMaker MakeRing(int switches, int hosts) { return MakeTorus({switches}, hosts); }

// Any graph: may have parallel cables, cables from a switch to itself, CAs with several ports, CAs
// back to back, several components.
inline FabricMaker MakeRandom(int switches, int cables, int hosts, uint64_t seed) {
  FabricMaker maker;
  Rng rng(seed);
  for (int s = 0; s < switches; ++s) maker.AddSwitch(2 * cables + 2 * hosts + 1);
  const auto any = [&] { return rng.Below(static_cast<uint64_t>(switches)); };
  for (int c = 0; c < cables; ++c) {
    const uint64_t a = any(), b = any();
    maker.Cable(a, b);
  }
  for (int h = 0; h < hosts; ++h) {
    const int ports = 1 + static_cast<int>(rng.Below(2));
    const size_t host = maker.AddHost(ports);
    for (int port = 1; port <= ports; ++port)
      if (!rng.Chance(0.1)) maker.Cable(any(), host);
  }
  if (rng.Chance(0.3)) maker.Cable(maker.AddHost(), maker.AddHost());
  return maker;
}

}  // namespace fabricd::testing
