// SPDX-License-Identifier: Apache-2.0
// Guards: what keeps a hold from doing more harm than it was made for. Pure.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>

#include "fabric/snapshot.h"
#include "policy/holds.h"
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

// Whether it would take down the link of the SM's own port.
bool DisablesLinkOf(const Hold& hold, const fabric::FabricSnapshot& snapshot, PortRef sm_port);

// Which holds keep the link of the SM's own port down, or may, where the SM has come to a port that
// was disabled before, and what to do: it cannot enable it from there. Empty: no hold does.
std::string HoldsOnLinkOf(const HoldBook& holds, const HeldPort& own);

// Larger of a number and a share of the end ports; without limit for cordons, which take nothing
// away.
size_t BudgetOf(HoldKind kind, size_t end_ports, const HoldOptions& options);

}  // namespace fabricd::policy
