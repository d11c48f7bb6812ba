// SPDX-License-Identifier: Apache-2.0
// PendingChanges: the devices that may not hold what is wanted. A device is pending from the time
// that something about it changes (it was found to be other, what is wanted of it has changed, a
// write was not confirmed) until a run has looked at it and every write was confirmed. So a run
// that is superseded loses nothing, and what it left is a difference like any other.
//
// Forwarding and multicast tables need no such record: all of them are compared in every run, which
// costs little where they share memory with the plan.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "sweep/desired/desired_state.h"

namespace fabricd::sweep {

// What a run looks at.
struct WorkScopeInput {
  // Sorted. nullopt: all nodes.
  std::optional<std::vector<NodeIndex>> nodes;
  // P_Keys and GUIDs: of all nodes, whatever `nodes` says; and of these beside. Sorted.
  bool all_keys = false;
  std::vector<NodeIndex> key_nodes;
};

class PendingChanges {
 public:
  void Mark(NodeIndex node) { nodes_.insert(node); }
  template <typename Nodes>
  void Mark(const Nodes& nodes) {
    nodes_.insert(nodes.begin(), nodes.end());
  }
  void MarkAll() { all_ = true; }
  // Alias GUIDs have changed: nodes of `snapshot` whose ports are to have others. False: none.
  bool MarkAliases(const fabric::AliasGuids& before, const fabric::AliasGuids& now,
                   const fabric::FabricSnapshot& snapshot);

  // A run for `desired` begins with this.
  WorkScopeInput ScopeFor(const DesiredState& desired) const;
  // P_Keys and GUIDs of a run over `scope` for `desired` are written, or have failed. `current` are
  // the aliases that are wanted by now.
  void OnKeysDone(const DesiredState& desired, const WorkScopeInput& scope,
                  const fabric::AliasGuids* current);
  // A run over the pending nodes has ended; these are left. One that is superseded does not end.
  void OnRunEnded(const absl::flat_hash_set<NodeIndex>& undone);
  // A heavy sweep reads everything again. Call MarkAll() when it has succeeded and this SM may
  // write. After a failed sweep nothing is pending: a run would use observations from before it.
  void OnSweepStart();

  bool is_all() const { return all_; }
  // Sorted. Without those of is_all().
  const std::set<NodeIndex>& nodes() const { return nodes_; }

 private:
  bool all_ = true;
  std::set<NodeIndex> nodes_;
  std::set<NodeIndex> aliases_;  // Nodes with other aliases than when their ports were looked at.
  std::optional<DesiredKeys> keys_;  // For which P_Keys were last looked at everywhere.
};

}  // namespace fabricd::sweep
