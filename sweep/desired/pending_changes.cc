// SPDX-License-Identifier: Apache-2.0
#include "sweep/desired/pending_changes.h"

#include <algorithm>

namespace fabricd::sweep {

bool PendingChanges::MarkAliases(const fabric::AliasGuids& before, const fabric::AliasGuids& now,
                                 const fabric::FabricSnapshot& snapshot) {
  const std::vector<Guid> ports = fabric::ChangedPorts(before, now);
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports)
      if (port.guid && std::binary_search(ports.begin(), ports.end(), port.guid))
        aliases_.insert(node.index);
  });
  return !aliases_.empty();
}

WorkScopeInput PendingChanges::ScopeFor(const DesiredState& desired) const {
  WorkScopeInput scope;
  if (!all_) scope.nodes.emplace(nodes_.begin(), nodes_.end());
  scope.all_keys = !keys_ || !desired.keys.IsSameAs(*keys_);
  scope.key_nodes.assign(aliases_.begin(), aliases_.end());
  return scope;
}

void PendingChanges::OnKeysDone(const DesiredState& desired, const WorkScopeInput& scope,
                                const fabric::AliasGuids* current) {
  keys_ = desired.keys;
  if (desired.guids.aliases.get() != current) return;
  if (!scope.nodes) aliases_.clear();
  for (NodeIndex node : scope.key_nodes) aliases_.erase(node);
}

void PendingChanges::OnRunEnded(const absl::flat_hash_set<NodeIndex>& undone) {
  all_ = false;
  nodes_.clear();
  Mark(undone);
}

void PendingChanges::OnSweepStart() {
  all_ = false;
  nodes_.clear();
}

}  // namespace fabricd::sweep
