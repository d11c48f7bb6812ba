// SPDX-License-Identifier: Apache-2.0
// WorkScope: the nodes that a run checks, without those that a survey has removed since. P_Keys and
// alias GUIDs have a wider scope if partitions or aliases have changed.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabric/snapshot.h"
#include "fabric/snapshot_builder.h"
#include "sweep/write/program_input.h"

namespace fabricd::sweep {

class WorkScope {
 public:
  // Both must outlive this.
  WorkScope(const ProgrammerInput& input, const fabric::SnapshotBuilder& builder)
      : input_(input), builder_(builder) {}

  // Whether all nodes are checked; and whether P_Keys and GUIDs of all nodes are.
  bool is_all() const { return !input_.scope.nodes; }
  bool has_all_keys() const { return input_.scope.all_keys; }

  // All nodes of the snapshot, whatever the scope.
  template <typename Visit>
  void ForEachNode(Visit&& visit) const {
    input_.desired.snapshot->ForEachNode(
        [&](const fabric::Node& node) { VisitLiving(node, visit); });
  }
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    if (is_all()) return ForEachNode(visit);
    for (NodeIndex index : *input_.scope.nodes) VisitIndex(index, visit);
  }
  // The same for P_Keys and GUIDs.
  template <typename Visit>
  void ForEachKeyed(Visit&& visit) const {
    if (input_.scope.all_keys) return ForEachNode(visit);
    ForEach(visit);
    if (is_all()) return;
    for (NodeIndex index : input_.scope.key_nodes)
      if (!std::binary_search(input_.scope.nodes->begin(), input_.scope.nodes->end(), index))
        VisitIndex(index, visit);
  }

 private:
  template <typename Visit>
  void VisitLiving(const fabric::Node& node, Visit& visit) const {
    if (builder_.node(node.index) != nullptr) visit(node);
  }
  template <typename Visit>
  void VisitIndex(NodeIndex index, Visit& visit) const {
    if (const fabric::Node* node = input_.desired.snapshot->node(index)) VisitLiving(*node, visit);
  }

  const ProgrammerInput& input_;
  const fabric::SnapshotBuilder& builder_;
};

}  // namespace fabricd::sweep
