// SPDX-License-Identifier: Apache-2.0
// Guards: what keeps a hold from doing more harm than it was made for. Pure.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>

#include "fabric/snapshot.h"
#include "policy/hold.h"
#include "policy/options.h"

namespace fabricd::policy {

// What the hold would do, as far as guards ask.
struct GuardFacts {
  bool plan_found = true;  // There are routes for what is left.
  std::string why_not;
  // End ports that would lose all routes, beyond those that the hold is about.
  std::vector<PortRef> cut_off;
  bool sm_cut_off = false;  // The SM's own port would lose its routes or its link.
  size_t standing = 0;      // Holds of the kind.
  size_t budget = 0;        // How many of them may stand.
};

// kFailedPrecondition names the guard and its numbers. A forced hold passes all of them but one:
// the SM's own link is never disabled, for nobody could enable it again.
absl::Status CheckGuards(const Hold& hold, const GuardFacts& facts,
                         const fabric::FabricSnapshot& snapshot, PortRef sm_port);

// Larger of a number and a share of the end ports; without limit for cordons, which take nothing
// away.
size_t BudgetOf(HoldKind kind, size_t end_ports, const HoldOptions& options);

}  // namespace fabricd::policy
