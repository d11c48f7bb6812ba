// SPDX-License-Identifier: Apache-2.0
// Two leaves under two spines, with hosts of two HCAs: names as operators know them.
//   leaf1/1, leaf1/2 = node1/mlx5_0, node1/mlx5_1     leaf2/1, leaf2/2 = node2/...
//   leaf1/3 = spine1/1   leaf1/4 = spine2/1   leaf2/3 = spine1/2   leaf2/4 = spine2/2
//   edge/1 = spine2/3: a switch with one link. leaf2/5 = node3/mlx5_0, where the SM runs.
#pragma once

#include <map>
#include <string>

#include "fabric/hosts.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot_builder.h"
#include "policy/target.h"

namespace fabricd::policy {

struct NamedFabric {
  fabric::SnapshotBuilder builder;
  std::map<std::string, NodeIndex> nodes;
  fabric::LidTable lids;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::HostTable hosts;
  std::optional<fabric::NodeNames> names;

  NamedFabric() {
    for (const char* name : {"leaf1", "leaf2", "spine1", "spine2", "edge"})
      Add(name, wire::NodeType::kSwitch, 8);
    for (const char* name :
         {"node1 mlx5_0", "node1 mlx5_1", "node2 mlx5_0", "node2 mlx5_1", "node3 mlx5_0"})
      Add(name, wire::NodeType::kChannelAdapter, 1);
    Cable("leaf1", 1, "node1 mlx5_0", 1);
    Cable("leaf1", 2, "node1 mlx5_1", 1);
    Cable("leaf2", 1, "node2 mlx5_0", 1);
    Cable("leaf2", 2, "node2 mlx5_1", 1);
    Cable("leaf1", 3, "spine1", 1);
    Cable("leaf1", 4, "spine2", 1);
    Cable("leaf2", 3, "spine1", 2);
    Cable("leaf2", 4, "spine2", 2);
    Cable("edge", 1, "spine2", 3);
    Cable("leaf2", 5, "node3 mlx5_0", 1);
    Build();
  }
  // Switches have the node GUIDs 1, 2, …, hosts go on; LIDs are the same numbers.
  void Add(const std::string& name, wire::NodeType type, uint8_t ports) {
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = ports;
    info.local_port = PortNum(1);
    info.node_guid = Guid(nodes.size() + 1);
    info.port_guid = type == wire::NodeType::kSwitch ? info.node_guid : Guid(0x100 + nodes.size());
    info.system_image_guid = info.node_guid;
    const NodeIndex node = builder.PutNode(info);
    builder.SetDescription(node, name);
    const PortNum end(type == wire::NodeType::kSwitch ? 0 : 1);
    builder.SetPortGuid({node, end}, info.port_guid);
    lids.Assign({node, end}, {Lid(static_cast<uint16_t>(nodes.size() + 1)), 0});
    nodes[name] = node;
  }
  PortRef At(const std::string& name, uint8_t port) const {
    return {nodes.at(name), PortNum(port)};
  }
  Guid GuidOf(const std::string& name) const { return snapshot->node(nodes.at(name))->guid(); }
  HeldPort Held(const std::string& name, uint8_t port) const {
    return {GuidOf(name), PortNum(port)};
  }
  void Cable(const std::string& a, uint8_t port_a, const std::string& b, uint8_t port_b) {
    wire::PortInfo up;
    up.port_state = wire::PortState::kActive;
    builder.SetPortInfo(At(a, port_a), up);
    builder.SetPortInfo(At(b, port_b), up);
    builder.Link(At(a, port_a), At(b, port_b));
  }
  void Build() {
    snapshot = builder.Build();
    hosts = fabric::FindHosts(*snapshot, fabric::HostPatterns());
    names.emplace(*snapshot);
  }
  TargetPlaces Places() const { return {*snapshot, hosts, *names, &lids, At("node3 mlx5_0", 1)}; }
  HoldTarget Target(std::optional<TargetKind> kind, std::string_view text) const {
    return ResolveTarget(kind, text, Places()).value();
  }
  Hold Wanted(HoldKind kind, TargetKind target_kind, std::string_view text) const {
    Hold hold;
    hold.kind = kind;
    hold.target = Target(target_kind, text);
    hold.owner = "slurm";
    hold.reason = "BER";
    return hold;
  }
};

}  // namespace fabricd::policy
