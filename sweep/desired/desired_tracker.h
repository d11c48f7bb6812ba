// SPDX-License-Identifier: Apache-2.0
// DesiredTracker: the desired state that was derived last, and what has been pending since.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "sweep/desired/desired_state.h"
#include "sweep/desired/pending_changes.h"

namespace fabricd::sweep {

class DesiredTracker {
 public:
  // Not null.
  explicit DesiredTracker(std::shared_ptr<const fabric::AliasGuids> aliases)
      : aliases_(std::move(aliases)) {}

  // False: no port of the snapshot is to have other alias GUIDs.
  bool SetAliases(std::shared_ptr<const fabric::AliasGuids> aliases,
                  const fabric::FabricSnapshot& snapshot) {
    const bool pending = pending_.MarkAliases(*aliases_, *aliases, snapshot);
    aliases_ = std::move(aliases);
    return pending;
  }
  // `inputs` without the aliases, which are known here.
  const DesiredState& Update(DesiredInputs inputs) {
    inputs.aliases = aliases_;
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
  std::optional<DesiredState> last_;
  PendingChanges pending_;
};

}  // namespace fabricd::sweep
