// SPDX-License-Identifier: Apache-2.0
// SimNodes: the nodes of a simulated fabric. It owns their devices, registers and counters
// included, whether each has power, and the names by which they are found. What follows from the
// registers is decided elsewhere: LinkModel, PacketWalk and TrapSender read and change them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "fabric/snapshot.h"
#include "sim/device/sim_device.h"
#include "sim/fabric/control.h"
#include "sim/performance/performance_agent.h"

namespace fabricd::sim {

class SimNodes {
 public:
  struct Power {
    bool on = true;
    bool booting = false;  // Off, but not for long.
    uint32_t cycles = 0;   // How often it went off.
  };

  // NodeIndex and PortRef mean the same as in `topology`.
  SimNodes(const fabric::FabricSnapshot& topology, const DeviceOptions& options);

  uint32_t index_end() const { return static_cast<uint32_t>(nodes_.size()); }
  // nullptr: a tombstone of the topology, or beyond its end.
  const SimDevice* Find(NodeIndex node) const {
    return node.value() < nodes_.size() ? nodes_[node.value()].device.get() : nullptr;
  }
  bool HasPort(PortRef ref) const {
    const SimDevice* found = Find(ref.node);
    return found != nullptr && found->HasPort(ref.port);
  }

  // REQUIRES of all these: the node exists, and has the port.
  SimDevice& Device(NodeIndex node) { return *nodes_[node.value()].device; }
  const SimDevice& Device(NodeIndex node) const { return *nodes_[node.value()].device; }
  SimPort& Port(PortRef ref) { return Device(ref.node).mutable_port(ref.port); }
  const SimPort& Port(PortRef ref) const { return Device(ref.node).port(ref.port); }
  PerformanceAgent& Performance(NodeIndex node) { return nodes_[node.value()].performance; }
  const PerformanceAgent& Performance(NodeIndex node) const {
    return nodes_[node.value()].performance;
  }
  // Grows when tables or the state of links have changed.
  uint64_t revision() const { return revision_; }
  void NoteChange() { ++revision_; }
  // By the name of the host in the adapters' descriptions, else the whole description: its adapters
  // in natural order of those, then by index.
  std::map<std::string, std::vector<NodeIndex>> Hosts() const;
  Power& power(NodeIndex node) { return nodes_[node.value()].power; }
  const Power& power(NodeIndex node) const { return nodes_[node.value()].power; }

  // kNotFound: there is no such node, or it has no such socket (port 0 has none).
  absl::Status CheckSocket(PortRef port) const;
  // As SimFabric has them.
  PortRef DefaultHostPort() const;
  absl::StatusOr<PortRef> FindHostPort(const std::string& name) const;
  absl::StatusOr<NodeIndex> FindNode(const std::string& name) const;
  std::vector<SimCable> ListCables() const;
  std::vector<SimNode> ListNodes() const;

 private:
  struct Node {
    std::unique_ptr<SimDevice> device;
    PerformanceAgent performance;
    Power power;
  };
  SimEndpoint Endpoint(PortRef port) const;

  std::vector<Node> nodes_;
  uint64_t revision_ = 0;
  absl::flat_hash_map<Guid, NodeIndex> by_guid_;
  absl::flat_hash_map<std::string, std::vector<NodeIndex>> by_description_;
};

}  // namespace fabricd::sim
