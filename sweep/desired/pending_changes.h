// SPDX-License-Identifier: Apache-2.0
// PendingChanges: the devices that may differ from the desired state. A device becomes pending when
// it is observed to differ, when its desired values change, or when a write was not confirmed. It
// stays pending until a run has checked it and every write was confirmed. So a superseded run loses
// nothing: what it left is an ordinary difference for the next run.
//
// LFTs and MFTs need no such record. Every run compares all of them, which costs little where they
// share memory with the plan.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "sweep/desired/desired_state.h"

namespace fabricd::sweep {

// The nodes that a run checks.
struct WorkScopeInput {
  // Sorted. nullopt: all nodes.
  std::optional<std::vector<NodeIndex>> nodes;
  // P_Keys and GUIDs are checked at all nodes (all_keys), or at `nodes` and also at key_nodes.
  // Sorted.
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
  // Alias GUIDs have changed: marks the nodes of `snapshot` whose ports they concern. False: none.
  bool MarkAliases(const fabric::AliasGuids& before, const fabric::AliasGuids& now,
                   const fabric::FabricSnapshot& snapshot);

  // The scope of a run for `desired` that begins now.
  WorkScopeInput ScopeFor(const DesiredState& desired) const;
  // P_Keys and GUIDs of a run over `scope` for `desired` are written, or have failed. `current`:
  // the alias GUIDs that are desired now.
  void OnKeysDone(const DesiredState& desired, const WorkScopeInput& scope,
                  const fabric::AliasGuids* current);
  // A run over the pending nodes has ended; `undone` stay pending. Not called for a superseded run.
  void OnRunEnded(const absl::flat_hash_set<NodeIndex>& undone);
  // A heavy sweep reads everything again. Call MarkAll() when it has succeeded and this SM may
  // write. After a failed sweep nothing is pending: a run would use observations from before it.
  void OnSweepStart();

  bool is_all() const { return all_; }
  // Sorted. Does not list the nodes that is_all() implies.
  const std::set<NodeIndex>& nodes() const { return nodes_; }

 private:
  bool all_ = true;
  std::set<NodeIndex> nodes_;
  std::set<NodeIndex> aliases_;  // Nodes whose alias GUIDs changed since their ports were checked.
  std::optional<DesiredKeys> keys_;  // The P_Keys for which all nodes were last checked.
};

}  // namespace fabricd::sweep
