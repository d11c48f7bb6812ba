// SPDX-License-Identifier: Apache-2.0
// The goal of a programming run: values only.
#pragma once

#include <cstdint>

#include "sweep/desired/desired_state.h"
#include "sweep/desired/pending_changes.h"

namespace fabricd::sweep {

struct ProgrammerInput {
  DesiredState desired;  // Plan and trees are set later: SetPlan(), SetTrees().
  WorkScopeInput scope;
  uint8_t run = 0;          // Distinguishes its completions from those of earlier runs.
  bool trees_only = false;  // Only kReadTables and kTrees; the plan is unchanged.
  bool reads_only = false;  // Only kReadTables: nothing is written.
};

}  // namespace fabricd::sweep
