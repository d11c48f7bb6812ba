// SPDX-License-Identifier: Apache-2.0
// DesiredTracker: the desired state that was derived last, what has been pending since, and how far
// the next plan has to go.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "routing/repair/replan.h"
#include "sweep/desired/desired_state.h"
#include "sweep/desired/pending_changes.h"

namespace fabricd::sweep {

class DesiredTracker {
 public:
  // Null: none.
  explicit DesiredTracker(std::shared_ptr<const fabric::AliasGuids> aliases)
      : aliases_(aliases != nullptr ? std::move(aliases)
                                    : std::make_shared<const fabric::AliasGuids>()) {}

  // False: no port of the snapshot is to have other alias GUIDs.
  bool SetAliases(std::shared_ptr<const fabric::AliasGuids> aliases,
                  const fabric::FabricSnapshot& snapshot) {
    const bool pending = pending_.MarkAliases(*aliases_, *aliases, snapshot);
    aliases_ = std::move(aliases);
    return pending;
  }
  // From now on all clients are to register again, or not.
  void SetReregistration(bool wanted) { reregisters_ = wanted; }
  void SetGoal(routing::ReplanGoal goal) { goal_ = goal; }
  routing::ReplanGoal goal() const { return goal_; }
  // `inputs` without the aliases and reregister_all, which are known here.
  const DesiredState& Update(DesiredInputs inputs) {
    inputs.aliases = aliases_;
    inputs.reregister_all = reregisters_;
    last_ = Derive(inputs, last_ ? &*last_ : nullptr);
    return *last_;
  }
  // P_Keys and GUIDs of a run over `scope` are as `desired`, or have failed.
  void OnKeysProgrammed(const DesiredState& desired, const WorkScopeInput& scope) {
    pending_.OnKeysDone(desired, scope, aliases_.get());
  }

  PendingChanges& pending() { return pending_; }
  const PendingChanges& pending() const { return pending_; }

 private:
  std::shared_ptr<const fabric::AliasGuids> aliases_;
  bool reregisters_ = true;  // Until one sweep as master has been completed.
  routing::ReplanGoal goal_ = routing::ReplanGoal::kIdeal;
  std::optional<DesiredState> last_;
  PendingChanges pending_;
};

}  // namespace fabricd::sweep
