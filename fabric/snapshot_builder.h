// SPDX-License-Identifier: Apache-2.0
// SnapshotBuilder: the only way to make a FabricSnapshot. Starts from an older generation (or
// nothing), takes edits, and Build()s the next one, sharing untouched nodes. Used by one thread.
// Edits come from what devices claim, so one that names a dead node, a port that the node does not
// have, or a link at port 0 is ignored; so is one that changes nothing.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "fabric/snapshot.h"

namespace fabricd::fabric {

class SnapshotBuilder {
 public:
  SnapshotBuilder();
  explicit SnapshotBuilder(const FabricSnapshot& base);
  ~SnapshotBuilder();
  SnapshotBuilder(SnapshotBuilder&&) noexcept;
  SnapshotBuilder& operator=(SnapshotBuilder&&) noexcept;

  // The node with info.node_guid: made (all ports unknown, unlinked) when it is not alive, else its
  // NodeInfo is replaced. A change of type or port count remakes it, dropping its links. Sets the
  // GUID of the port that info.port_guid names (a switch: port 0; else info.local_port).
  NodeIndex PutNode(const wire::NodeInfo& info);
  // Tombstone; the links of its neighbours are cut.
  void RemoveNode(NodeIndex node);
  void SetDescription(NodeIndex node, std::string description);
  void SetUnresponsive(NodeIndex node, bool unresponsive);
  void SetSwitchInfo(NodeIndex node, const wire::SwitchInfo& info);
  void SetPortInfo(PortRef port, const wire::PortInfo& info);
  void SetPortUnknown(PortRef port);
  void SetPortGuid(PortRef port, Guid guid);
  void SetPortFdr10(PortRef port, bool fdr10);
  // Links both ends to each other; what either was linked to before is cut. A link of a port to
  // itself is refused (ignored): the specification has no such link.
  void Link(PortRef a, PortRef b);
  void Unlink(PortRef port);

  // The state as edited so far.
  const Node* node(NodeIndex index) const;
  NodeIndex FindIndex(Guid node_guid) const;
  uint32_t node_index_end() const;

  // The next generation: base + 1. An unchanged builder gives a snapshot equal to its base (same
  // generation). The builder goes on from the result.
  std::shared_ptr<const FabricSnapshot> Build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What differs between two generations, in NodeIndex order.
struct SnapshotDiff {
  std::vector<NodeIndex> added, removed, changed;  // changed: anything of a node living in both.
  struct LinkChange {
    PortRef a, b;  // a < b
    bool up;       // Linked in `after`, and both ends IsUp().
  };
  std::vector<LinkChange> links;  // Peers gained or lost, or a linked port whose IsUp() changed.
  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};
SnapshotDiff Diff(const FabricSnapshot& before, const FabricSnapshot& after);

}  // namespace fabricd::fabric
