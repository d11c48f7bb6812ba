// SPDX-License-Identifier: Apache-2.0
// FabricSnapshot: what IS there, as last read from the devices. Immutable and shared between
// threads; a change makes a new generation through SnapshotBuilder (snapshot_builder.h) that shares
// every untouched node with the old one.
//
// A node keeps its NodeIndex in all later generations. A removed node leaves a tombstone (node() is
// nullptr), and only the same GUID takes the place again, so rows and slots indexed by NodeIndex
// can be shared between plans. There are no pointers between nodes: a link is a PortRef at both
// ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "mad/wire/node_info.h"
#include "mad/wire/port_info.h"
#include "mad/wire/switch_info.h"

namespace fabricd::fabric {

struct Port {
  Guid guid;  // CA, router: of this port. Switch: of port 0 at index 0, none at external ports.
  bool known =
      false;  // False: `info` was never read (an unread port of a CA, or it did not answer).
  wire::PortInfo info;
  bool fdr10 = false;  // At FDR10, which only a vendor's attribute tells: PortInfo says QDR.
  PortRef peer;        // IsNone(): nothing known beyond.

  wire::LinkSpeed Speed() const {
    const wire::LinkSpeed speed = wire::ActiveSpeed(info);
    return fdr10 && speed == wire::LinkSpeed::kQdr ? wire::LinkSpeed::kFdr10 : speed;
  }
  bool IsUp() const { return known && info.port_state >= wire::PortState::kInit; }
  // What is attached to this port of a switch is not known: it does not respond.
  bool LeadsToUnknown() const {
    return IsUp() && info.port_state == wire::PortState::kActive && peer.IsNone();
  }
  // Zeros unless the link is up: LinkWidthActive and LinkSpeedActive are valid only then (IBA vol 1
  // §14.2.5.6).
  wire::BitRate Rate() const {
    return IsUp() ? wire::RateOf(Speed(), wire::ActiveWidth(info)) : wire::BitRate();
  }
  friend bool operator==(const Port&, const Port&) = default;
};

// Ports of one node, for range-for: each with what it is called by.
class NodePorts {
 public:
  struct Entry {
    PortRef ref;
    const Port& port;
  };
  class Iterator {
   public:
    Iterator(NodeIndex node, const Port* ports, size_t number)
        : node_(node), ports_(ports), number_(number) {}
    Entry operator*() const {
      return {{node_, PortNum(static_cast<uint8_t>(number_))}, ports_[number_]};
    }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.number_ == b.number_; }

   private:
    NodeIndex node_;
    const Port* ports_;
    size_t number_;
  };

  // Numbers from `first` to before `end`.
  NodePorts(NodeIndex node, const std::vector<Port>& ports, size_t first, size_t end)
      : node_(node), ports_(ports), first_(std::min(first, end)), end_(end) {}
  Iterator begin() const { return {node_, ports_.data(), first_}; }
  Iterator end() const { return {node_, ports_.data(), end_}; }

 private:
  NodeIndex node_;
  const std::vector<Port>& ports_;
  size_t first_, end_;
};

struct Node {
  NodeIndex index;
  wire::NodeInfo info;      // port_guid and local_port are those of the port it was first seen by.
  std::string description;  // As sent by the device, control characters replaced by '.'.
  std::optional<wire::SwitchInfo> switch_info;  // Switches.
  std::vector<Port> ports;  // [port number]; size num_ports + 1. A CA's [0] is never known.
  // It does not respond, although a link to it is ACTIVE: all the rest is as last read. It may
  // forward as ever.
  bool unresponsive = false;

  bool IsSwitch() const { return info.node_type == wire::NodeType::kSwitch; }
  Guid guid() const { return info.node_guid; }
  // REQUIRES: port.value() < ports.size().
  const Port& port(PortNum port) const { return ports[port.value()]; }
  // The numbers of ports that carry a LID: 0 of a switch, 1..n of the others.
  PortNum first_end_port() const { return PortNum(IsSwitch() ? 0 : 1); }
  PortNum last_end_port() const { return PortNum(IsSwitch() ? 0 : info.num_ports); }
  // for (const auto& [ref, port] : node.LinkPorts()). All that exist: 0..n of a switch, 1..n of the
  // others; all but a switch's port 0; those that carry a LID.
  NodePorts AllPorts() const { return {index, ports, IsSwitch() ? 0u : 1u, ports.size()}; }
  NodePorts LinkPorts() const { return {index, ports, 1, ports.size()}; }
  NodePorts EndPorts() const {
    return {index, ports, first_end_port().value(),
            std::min<size_t>(last_end_port().value() + 1u, ports.size())};
  }
  friend bool operator==(const Node&, const Node&) = default;
};

class FabricSnapshot {
 public:
  static constexpr size_t kChunkNodes = 64;
  struct Chunk {
    std::array<std::shared_ptr<const Node>, kChunkNodes> nodes;
  };

  Generation generation() const { return generation_; }
  // Indices are 0 .. node_index_end()-1, tombstones included.
  uint32_t node_index_end() const { return node_index_end_; }
  // nullptr: a tombstone, or an index of a later generation.
  const Node* node(NodeIndex index) const {
    const size_t chunk = index.value() / kChunkNodes;
    return chunk < chunks_.size() ? chunks_[chunk]->nodes[index.value() % kChunkNodes].get()
                                  : nullptr;
  }
  // nullptr: no such node or port.
  const Port* port(PortRef ref) const {
    const Node* found = node(ref.node);
    return found && ref.port.value() < found->ports.size() ? &found->ports[ref.port.value()]
                                                           : nullptr;
  }
  const Node* FindNode(Guid node_guid) const;
  // The node's current or former index; none when this GUID was never seen.
  NodeIndex FindIndex(Guid node_guid) const;
  // Any port of a CA or router, or port 0 of a switch, by port GUID.
  PortRef FindPort(Guid port_guid) const;

  size_t node_count() const { return node_count_; }
  size_t switch_count() const { return switch_count_; }

  // Calls visit(const Node&) for each living node in index order.
  template <typename Visit>
  void ForEachNode(Visit&& visit) const {
    for (const auto& chunk : chunks_)
      for (const auto& node : chunk->nodes)
        if (node) visit(*node);
  }
  // Calls visit(NodeIndex) in index order for each place whose node is not one and the same object
  // in both. Costs a comparison per 64 nodes and what differs, so it is the way to find a change.
  template <typename Visit>
  void ForEachNotShared(const FabricSnapshot& other, Visit&& visit) const {
    for (size_t c = 0; c < chunks_.size() || c < other.chunks_.size(); ++c) {
      const Chunk* mine = c < chunks_.size() ? chunks_[c].get() : nullptr;
      const Chunk* theirs = c < other.chunks_.size() ? other.chunks_[c].get() : nullptr;
      if (mine == theirs) continue;
      for (size_t i = 0; i < kChunkNodes; ++i)
        if ((mine ? mine->nodes[i].get() : nullptr) != (theirs ? theirs->nodes[i].get() : nullptr))
          visit(NodeIndex(static_cast<uint32_t>(c * kChunkNodes + i)));
    }
  }

 private:
  friend class SnapshotBuilder;
  Generation generation_;
  uint32_t node_index_end_ = 0;
  size_t node_count_ = 0, switch_count_ = 0;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  // Grown only; shared with the previous generation while no new GUID came.
  std::shared_ptr<const absl::flat_hash_map<Guid, NodeIndex>> index_by_guid_;
  std::shared_ptr<const absl::flat_hash_map<Guid, PortRef>> port_by_guid_;
};

// The same nodes at the same indices: GUIDs, types, numbers of ports, descriptions. Their state,
// links and LIDs may differ. Costs what differs.
bool SameNodes(const FabricSnapshot& a, const FabricSnapshot& b);

// Whether a port of some switch is ACTIVE and leads to nothing known.
bool HasUnknownNeighbours(const FabricSnapshot& snapshot);

}  // namespace fabricd::fabric
