// SPDX-License-Identifier: Apache-2.0
// PendingChanges: what may be other than the devices hold it since it was last programmed: how far
// the next run has to look (its scope), how far its plan has to go, and which P_Keys and GUIDs it
// has to look at beside its scope.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fabric/alias_guids.h"
#include "fabric/snapshot.h"
#include "routing/repair/replan.h"
#include "sweep/write/port_guids.h"
#include "sweep/write/port_keys.h"

namespace fabricd::sweep {

class PendingChanges {
 public:
  // Sorted. nullopt: all nodes.
  using Scope = std::optional<std::vector<NodeIndex>>;
  using SharedAliases = std::shared_ptr<const fabric::AliasGuids>;

  explicit PendingChanges(SharedAliases aliases);  // Null: none.

  // ---- the scope of the next run, and the goal of its plan

  const Scope& scope() const { return scope_; }
  routing::ReplanGoal goal() const { return goal_; }
  // It is about a reported change, and its plan is to be there soon.
  bool IsUrgent() const { return scope_ && goal_ == routing::ReplanGoal::kUrgent; }

  // All was read.
  void WantAll(routing::ReplanGoal goal);
  // As before, and of all nodes.
  void IncludeAll() { scope_.reset(); }
  // These, and what was left undone. `is_under_way`: the last scope was not programmed to its end,
  // so it is part of this one. Returns false if that was all nodes.
  bool WantNodes(std::vector<NodeIndex> touched, bool is_under_way);
  // What was left undone, with the whole plan.
  void WantWholePlan();
  // No node: the plan stands and so does the rest.
  void WantTreesOnly() { scope_.emplace(); }
  // As long as it is wanted, all clients are to register again.
  void WantReregistration(bool wanted) { reregisters_ = wanted; }
  bool reregisters() const { return reregisters_; }

  // ---- nodes that a run left undone, or that differ from what was written

  const std::set<NodeIndex>& undone() const { return undone_; }
  template <typename Nodes>
  void AddUndone(const Nodes& nodes) {
    undone_.insert(nodes.begin(), nodes.end());
  }
  void ClearUndone() { undone_.clear(); }

  // ---- cables

  void NoteLinksRose() { cables_changed_ = true; }
  // Whether cables are to be checked with the plan that is asked for now.
  bool TakeCableCheck() { return std::exchange(cables_changed_, false) || !scope_; }

  // ---- P_Keys and GUIDs

  // A run makes P_Key tables of partitions `generation`, without these ports.
  void BeginKeys(uint64_t generation, std::vector<PortRef> isolated);
  uint64_t partitions_generation() const { return keys_wanted_.generation; }
  // Adds to `input` whether all ports are to be looked at. REQUIRES: BeginKeys() was called.
  KeyInput WithKeyScope(KeyInput input, const fabric::FabricSnapshot& snapshot);
  // After WithKeyScope().
  GuidInput MakeGuidInput() const;
  // Returns whether ports are there that have to be looked at.
  bool SetAliases(SharedAliases aliases, const fabric::FabricSnapshot& snapshot);
  // A run has looked at P_Keys and GUIDs by BeginKeys() and these aliases: at these nodes beside
  // its scope, or `everywhere`. What it left undone is in undone().
  void NoteKeysDone(const SharedAliases& aliases, const std::vector<NodeIndex>& nodes,
                    bool everywhere);

 private:
  // By what P_Key tables are made.
  struct KeyBasis {
    uint64_t generation = 0;
    std::vector<PortRef> isolated;
    friend bool operator==(const KeyBasis&, const KeyBasis&) = default;
  };

  Scope scope_;
  routing::ReplanGoal goal_ = routing::ReplanGoal::kIdeal;
  bool reregisters_ = true;
  std::set<NodeIndex> undone_;
  bool cables_changed_ = false;  // Since they were last checked.
  KeyBasis keys_wanted_, keys_done_;
  bool names_unknown_guids_ = false;  // Partitions name GUIDs that are no port's own.
  SharedAliases aliases_;             // Never null.
  // Nodes with other aliases than when their ports were last looked at.
  std::set<NodeIndex> aliases_changed_;
};

}  // namespace fabricd::sweep
