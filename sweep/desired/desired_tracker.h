// SPDX-License-Identifier: Apache-2.0
// DesiredTracker: the desired state that was derived last, the changes pending since then, and the
// goal of the next plan.
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
  // Null: no alias GUIDs.
  explicit DesiredTracker(std::shared_ptr<const fabric::AliasGuids> aliases)
      : aliases_(aliases != nullptr ? std::move(aliases)
                                    : std::make_shared<const fabric::AliasGuids>()) {}

  // Returns false if the alias GUIDs of no port in the snapshot change.
  bool SetAliases(std::shared_ptr<const fabric::AliasGuids> aliases,
                  const fabric::FabricSnapshot& snapshot) {
    const bool pending = pending_.MarkAliases(*aliases_, *aliases, snapshot);
    aliases_ = std::move(aliases);
    return pending;
  }
  void SetFirstRun(FirstRun first) { first_run_ = first; }
  // A run has ended. Returns whether it was the first one.
  bool TakeFirstRun() { return std::exchange(first_run_, {}).is_first; }
  void SetGoal(routing::ReplanGoal goal) { goal_ = goal; }
  routing::ReplanGoal goal() const { return goal_; }
  // `inputs` without aliases and first_run, which this class fills in.
  const DesiredState& Update(DesiredInputs inputs) {
    inputs.aliases = aliases_;
    inputs.first_run = first_run_;
    last_ = Derive(inputs, last_ ? &*last_ : nullptr);
    return *last_;
  }
  // The desired state of a first sweep as master. Nothing is recorded.
  DesiredState Preview(DesiredInputs inputs) const {
    inputs.aliases = aliases_;
    inputs.first_run = {.is_first = true};
    return Derive(inputs, nullptr);
  }
  // P_Keys and GUIDs within `scope` now match `desired`, or their writes have failed.
  void OnKeysProgrammed(const DesiredState& desired, const WorkScopeInput& scope) {
    pending_.OnKeysDone(desired, scope, aliases_.get());
  }

  PendingChanges& pending() { return pending_; }
  const PendingChanges& pending() const { return pending_; }

 private:
  std::shared_ptr<const fabric::AliasGuids> aliases_;
  FirstRun first_run_{.is_first = true};  // Until one sweep as master has been completed.
  routing::ReplanGoal goal_ = routing::ReplanGoal::kIdeal;
  std::optional<DesiredState> last_;
  PendingChanges pending_;
};

}  // namespace fabricd::sweep
