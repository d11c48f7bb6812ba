// SPDX-License-Identifier: Apache-2.0
// What a programming run is to achieve: values only.
#pragma once

#include <cstdint>

#include "sweep/desired/desired_state.h"
#include "sweep/desired/pending_changes.h"

namespace fabricd::sweep {

struct ProgrammerInput {
  DesiredState desired;  // Its plan and trees come later: Programmer::SetPlan(), SetTrees().
  WorkScopeInput scope;
  uint8_t run = 0;          // Tells completions of this run from those of the one before.
  bool trees_only = false;  // kReadTables and kTrees alone: the plan stands.
};

}  // namespace fabricd::sweep
