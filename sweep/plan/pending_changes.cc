// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/pending_changes.h"

#include <algorithm>

#include "common/sort_unique.h"

namespace fabricd::sweep {

PendingChanges::PendingChanges(SharedAliases aliases)
    : aliases_(aliases != nullptr ? std::move(aliases)
                                  : std::make_shared<const fabric::AliasGuids>()) {}

void PendingChanges::WantAll(routing::ReplanGoal goal) {
  scope_.reset();
  goal_ = goal;
}

bool PendingChanges::WantNodes(std::vector<NodeIndex> touched, bool is_under_way) {
  goal_ = routing::ReplanGoal::kUrgent;
  if (is_under_way && !scope_) return false;
  if (is_under_way) touched.insert(touched.end(), scope_->begin(), scope_->end());
  touched.insert(touched.end(), undone_.begin(), undone_.end());
  SortUnique(touched);
  scope_ = std::move(touched);
  return true;
}

void PendingChanges::WantWholePlan() {
  goal_ = routing::ReplanGoal::kWhole;
  scope_.emplace(undone_.begin(), undone_.end());
}

void PendingChanges::BeginKeys(uint64_t generation, std::vector<PortRef> isolated) {
  keys_wanted_ = {generation, std::move(isolated)};
}

KeyInput PendingChanges::WithKeyScope(KeyInput input, const fabric::FabricSnapshot& snapshot) {
  input.all = keys_wanted_ != keys_done_;
  // A node that comes later is in the scope, and looked at if any GUID was unknown before.
  if (input.all || !scope_) names_unknown_guids_ = NamesStrangers(*input.index, snapshot);
  return input;
}

GuidInput PendingChanges::MakeGuidInput() const {
  return {aliases_, names_unknown_guids_, {aliases_changed_.begin(), aliases_changed_.end()}};
}

bool PendingChanges::SetAliases(SharedAliases aliases, const fabric::FabricSnapshot& snapshot) {
  const std::vector<Guid> ports = fabric::ChangedPorts(*aliases_, *aliases);
  aliases_ = std::move(aliases);
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports)
      if (port.guid && std::binary_search(ports.begin(), ports.end(), port.guid))
        aliases_changed_.insert(node.index);
  });
  return !aliases_changed_.empty();
}

void PendingChanges::NoteKeysDone(const SharedAliases& aliases, const std::vector<NodeIndex>& nodes,
                                  bool everywhere) {
  keys_done_ = keys_wanted_;
  if (aliases != aliases_) return;
  if (everywhere) aliases_changed_.clear();
  for (const NodeIndex node : nodes) aliases_changed_.erase(node);
}

}  // namespace fabricd::sweep
